"""Annotated data on the workers of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mpu_cli.bundle import provenance
from mpu_cli.cluster.on_cluster import OnCluster
from mpu_cli.cluster.reading import absolute
from mpu_cli.core.features import Columns
from mpu_cli.core.options import Options
from mpu_cli.errors import InputError
from mpu_cli.inputs.training_data import AnnotatedData, Fitted, Sources, refuse_filled
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import files_of
from mpu_cli.text.sidecars import Sidecars

if TYPE_CHECKING:
    from mpu_cli.cluster.training import Collection


@contextmanager
def cluster_data(sources: Sources, on: OnCluster, run: Run) -> Iterator["ClusterData"]:
    """Let the workers of a cluster read files, for the duration of the context.

    Raises InputError (a file cannot be read, no instance has a label, or what is beside the data is not for a cluster),
    DataError (there are too many labels), ClusterError (the cluster cannot be reached or used, or has failed).
    """
    files = [absolute(file) for file in files_of(sources.file)]  # what no worker can read is refused at once
    refuse_filled(sources.file, "workers of a cluster take all labels for annotated: learn from it on one machine")
    if sources.rules is not None:
        raise InputError(
            str(sources.rules),
            None,
            "says which labels imply others, and a cluster does not learn from that: train on one machine, or move it "
            "away",
        )
    with on.connected() as executor:
        from mpu_cli.cluster.training import read_files

        collection = read_files(executor, files, sources.reading, run)
        sidecars = Sidecars(sources.file)
        yield ClusterData(
            collection=collection,
            ids=collection.ids,
            names=sidecars.names_of(sources.naming, collection.ids),
            sidecars=sidecars,
            stored_vectorizer=sidecars.stored_vectorizer(len(collection)),
            source=provenance.Source.by_name(sources.file),
        )


@dataclass(frozen=True, kw_only=True)
class ClusterData(AnnotatedData):
    """Annotated data on the workers of a cluster."""

    collection: "Collection"

    def __len__(self) -> int:
        return len(self.collection)

    @property
    def occurring(self) -> Columns:
        """The features that occur."""
        return self.collection.columns

    @property
    def annotations(self) -> np.ndarray:
        """How many instances are annotated with each label."""
        return self.collection.counts().by_chance

    def _fit(self, options: Options, run: Run, hold_out_all: bool) -> Fitted:
        from mpu_cli.cluster.training import learn

        model, report = learn(self.collection, options, run)
        return Fitted.of(options, model, report, has_label_features=False)

    def counts(self, fitted: Fitted) -> provenance.Counts:
        """Count annotated labels, and true ones by the label frequency."""
        return provenance.Counts(len(self), self.annotations, self.collection.counts().true_labels(fitted.c))

    def work(self) -> dict[str, int]:
        """Return how the training was carried out, as long as the cluster is there."""
        return {"parts": len(self.collection.parts), "workers": self.collection.executor.workers}
