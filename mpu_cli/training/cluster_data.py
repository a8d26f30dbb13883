"""A training set on the workers of a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.cluster.reading import absolute, placed_labels
from mpu_cli.cluster.training import Collection, learn, read_files, shards_of_training
from mpu_cli.core.data.features import Columns
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.select.sample import draw
from mpu_cli.core.select.warm_start import WarmStart
from mpu_cli.core.train.mixing import rounds_of
from mpu_cli.methods import Fitted, mpu
from mpu_cli.review.numbering import checksum_of_parts
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.sources import files_of
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.training import provenance
from mpu_cli.training.training_data import Sources, TrainingData, TrainingSet

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor

_NO_NAMES = (
    "on a cluster, weights are not drawn towards the words of the names of labels, and labels that are never annotated "
    "do not belong to the model; --prior none says that this is meant"
)


@dataclass(frozen=True, kw_only=True)
class ClusterData(TrainingSet):
    """A training set on the workers of a cluster.

    Attributes
    ----------
    collection : Collection
    shards : int
        Models that are learned side by side, to take their mean.
    """

    collection: Collection
    shards: int

    @classmethod
    def read(
        cls, executor: "DaskExecutor", sources: Sources, shards: int, run: Run, with_texts: bool = True
    ) -> "ClusterData":
        """Have the workers read files, by names that all of them know.

        Parameters
        ----------
        executor : DaskExecutor
        sources : Sources
            Files and names of labels only.
        shards : int
        run : Run
        with_texts : bool
            Whether to look for the vectoriser that made the data of texts.

        Raises
        ------
        InputError
            A file cannot be read, no instance has a label, or the names beside the data do not fit them.
        ClusterError
            The cluster fails.
        """
        files, sidecars = list(map(absolute, files_of(sources.file))), Sidecars(sources.file)
        collection = read_files(executor, files, sources.reading, run, shards)
        return cls(
            collection=collection,
            shards=shards,
            ids=collection.ids,
            names=sidecars.names_of(sources.naming, collection.ids),
            vectorizer=sidecars.vectorizer(len(collection)) if with_texts else None,
            source=provenance.Source.by_name(sources.file),
        )

    def __len__(self) -> int:
        return len(self.collection)

    @property
    def annotations(self) -> np.ndarray:
        """How many instances are annotated with each label."""
        return self.collection.annotations

    @property
    def content(self) -> Any:
        """Checksums of the parts, and the number of shards, on which the model depends too."""
        return self.collection.content, self.shards

    def problem_and_checksum(self, run: Run, with_checksum: bool) -> tuple[Problem, str]:
        """Fetch the annotated labels. Of the features, a part at a time passes through this process."""
        executor, parts = self.collection.executor, self.collection.data
        with run.step("fetch labels"):
            placed = [executor.submit(placed_labels, part, self.ids) for part in parts]
            labels = csr_array(vstack(executor.gather(placed), format="csr"))

            def each(what: str) -> Iterator[np.ndarray]:
                for part in parts:
                    yield executor.gather([executor.submit(_of_features, part, what)])[0]

            digits = checksum_of_parts(each("sizes"), each("indices"), each("data")) if with_checksum else ""
        return Problem(csr_array((len(self), 0), dtype=np.float32), labels), digits

    def drawn(self, size: int, run: Run) -> TrainingData:
        """Fetch a sample."""
        with run.step("fetch the sample"):
            rows = self.collection.instances().fetch(draw(len(self), size, run.seed))
        features = csr_array(rows.features.as_sparse())
        return TrainingData(features=features, labels=rows.labels, ids=self.ids, names=self.names)

    def fit(
        self, method: str, options: Any, run: Run, start: WarmStart | None = None, hold_out_all: bool = False
    ) -> Fitted:
        """Learn a model by the workers, of the method mpu and without a warm start; say where names are not used."""
        assert method == "mpu" and start is None
        model, report = learn(self.collection, options, run, self.shards, hold_out_all)
        fitted = mpu.fitted(options, model, report)
        names_are_idle = self.vectorizer is not None and self.names is not None and options.prior is None
        return replace(
            fitted,
            warnings=(*([_NO_NAMES] if names_are_idle else []), *fitted.warnings),
            seconds=report.seconds,
            out_of_fold=report.held_out.probabilities if hold_out_all else None,
        )

    def features_of(self, fitted: Fitted) -> Columns:
        """Return the features that occur in the data."""
        return self.collection.columns

    def counts(self, fitted: Fitted) -> provenance.Counts:
        """Count annotated labels, and true ones by the label frequency."""
        return provenance.Counts(len(self), self.annotations, self.annotations / fitted.c)

    def work(self, options: Any, fitted: Fitted) -> dict[str, int | None]:
        """Return how a training was carried out, as long as the cluster is there."""
        executor: Any = self.collection.executor
        shards = shards_of_training(self.collection, options, self.shards)
        return {
            "parts": len(self.collection.parts),
            "shards": shards,
            "rounds": rounds_of(shards, fitted.findings["epochs"], fitted.findings["loss"]),
            "workers": executor.workers,
            "moved_bytes": executor.moved_bytes,
        }


def _of_features(data: Dataset, what: str) -> np.ndarray:
    return np.diff(data.features.indptr) if what == "sizes" else getattr(data.features, what)
