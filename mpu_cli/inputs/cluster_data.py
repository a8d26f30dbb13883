"""Annotated data on the workers of a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.bundle import provenance
from mpu_cli.cluster.distributed_problem import Collection, DistributedProblem, learn, read_files, shards_of_training
from mpu_cli.cluster.reading import absolute, placed_labels
from mpu_cli.core.data.features import Columns
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.frequency.label_frequency import LabelCounts
from mpu_cli.core.frequency.review_frequency import Answered, ReviewedFrequency
from mpu_cli.core.select.sample import draw
from mpu_cli.core.train.mixing import rounds_of
from mpu_cli.inputs.training_data import (
    AnnotatedData,
    ClusterWork,
    Sources,
    TrainingData,
    with_implications,
    with_reviews,
)
from mpu_cli.methods import Fitted, mpu
from mpu_cli.names.naming import read_implications
from mpu_cli.review.tables import checksum_of_parts
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.steps import Step
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.streams import files_of
from mpu_cli.text.sidecars import Sidecars

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor


@dataclass(frozen=True, kw_only=True)
class ClusterData(AnnotatedData):
    """Annotated data on the workers of a cluster."""

    collection: Collection
    shards: int  # models that are trained in parallel and averaged (iterative parameter mixing)

    @classmethod
    def read(
        cls, executor: "DaskExecutor", sources: Sources, shards: int, run: Run, sidecars: Sidecars
    ) -> "ClusterData":
        """Have the workers read files, by absolute names; review files are read in this process.

        `sidecars`: of the file.
        Raises InputError (a file cannot be read, no instance has a label, or a review or the names beside the data do
        not fit them), ClusterError (the cluster fails).
        """
        files = [absolute(file) for file in files_of(sources.file)]
        second = None if sources.fully_labelled is None else absolute(str(sources.fully_labelled))
        collection = read_files(executor, files, sources.reading, run, shards, second=second)
        first = collection.first
        data = cls(
            collection=collection,
            shards=shards,
            ids=collection.ids,
            names=sidecars.names_of(sources.naming, first.ids),
            sidecars=sidecars,
            source=provenance.Source.by_name(sources.file),
        )
        if sources.reviewed:
            labels = data.fetch_labels(first, run)
            shape = labels.shape[0], int(data.ids[-1]) + 1
            by_number = csr_array((labels.data, data.ids[labels.indices], labels.indptr), shape=shape)
            file = Dataset(by_number, _no_features(labels))
            data = with_reviews(data, sources, file, lambda: checksum_of(first, run))
        if sources.rules is not None:
            data = with_implications(data, read_implications(sources.rules, data.names), data.fetch_labels(first, run))
        return data if second is None else data.with_second(len(first), len(data) - len(first), len(data.ids))

    def __len__(self) -> int:
        return len(self.collection)

    @property
    def occurring(self) -> Columns:
        """The features that occur."""
        return self.collection.columns

    @property
    def annotations(self) -> np.ndarray:
        """How many instances are annotated with each label."""
        return self.collection.annotations(self.ids)

    @property
    def annotations_of_file(self) -> np.ndarray:
        """The same for the instances of the first file alone."""
        return self.collection.first.annotations(self.ids)

    @property
    def problem(self) -> DistributedProblem:
        """The problem on the cluster."""
        return DistributedProblem(self.collection, self.ids, **vars(self.label_information))

    def widened(self, every: np.ndarray) -> Self:
        """Return the same data with more labels, which are never annotated: these are all, ascending."""
        return replace(self.placed(self.ids, every), ids=every)

    def fetch_labels(self, collection: Collection, run: Run) -> csr_array:
        """Fetch the annotated labels of instances, in the columns of all labels."""
        executor = collection.executor
        with run.step(Step.FETCH_LABELS):
            placed = [executor.submit(placed_labels, part, self.ids) for part in collection.data]
            return csr_array(vstack(executor.gather(placed), format="csr"))

    def problem_and_checksum(self, run: Run, with_checksum: bool) -> tuple[Problem, str]:
        """Fetch the annotated labels. Of the features, a part at a time passes through this process."""
        labels = self.fetch_labels(self.collection, run)
        problem = Problem(_no_features(labels), labels, **vars(self.label_information))
        return problem, checksum_of(self.collection.first, run) if with_checksum else ""

    def drawn(self, size: int, run: Run) -> TrainingData:
        """Fetch a sample."""
        with run.step(Step.FETCH_THE_SAMPLE):
            which = draw(len(self), size, run.seed)
            rows = self.problem.instances().fetch(which)
        return TrainingData(
            features=csr_array(rows.features.as_sparse()),
            labels=rows.labels,
            ids=self.ids,
            names=self.names,
            verified=rows.verified,
            answers=self.answers and self.answers.among(which),
        )

    def reviewed_frequency(self, automatic: float | None, answered: Answered | None = None) -> ReviewedFrequency | None:
        """Estimate c from verified labels, as `from_people` does."""
        if not self.has_complete_sets and answered is None:
            return None
        return self.problem.instances().reviewed_frequency(automatic, answered)

    def _fit(self, method: str, options: Any, run: Run, hold_out_all: bool) -> Fitted:
        assert method == "mpu"
        _ = self._label_counts  # while the workers have the data
        model, report = learn(self.problem, options, run, self.shards, hold_out_all)
        return replace(
            mpu.fitted(options, model, report, self.label_features is not None),
            seconds=report.seconds,
            out_of_fold=report.held_out.probabilities if hold_out_all else None,
        )

    @cached_property
    def _label_counts(self) -> LabelCounts:
        return self.problem.label_counts()

    def counts(self, fitted: Fitted) -> provenance.Counts:
        """Count annotated labels, and true ones by the label frequency and verified labels."""
        return provenance.Counts(len(self), self.annotations, self._label_counts.true_labels(fitted.c))

    def work(self, options: Any, fitted: Fitted) -> ClusterWork:
        """Return how a training was carried out, as long as the cluster is there."""
        executor: Any = self.collection.executor
        shards = shards_of_training(self.problem, options, self.shards)
        return {
            "parts": len(self.collection.parts),
            "shards": shards,
            "rounds": rounds_of(shards, fitted.findings["epochs"], fitted.findings["loss"]),
            "workers": executor.workers,
            "moved_bytes": executor.moved_bytes,
        }


def checksum_of(collection: Collection, run: Run) -> str:
    """Return the checksum of the features; one part at a time passes through this process."""
    executor = collection.executor

    def each(what: str) -> Iterator[np.ndarray]:
        for part in collection.data:
            yield executor.gather([executor.submit(_of_features, part, what)])[0]

    with run.step(Step.FETCH_FEATURES):
        return checksum_of_parts(each("sizes"), each("indices"), each("data"))


def _no_features(labels: csr_array) -> csr_array:
    return csr_array((labels.shape[0], 0), dtype=np.float32)


def _of_features(data: Dataset, what: str) -> np.ndarray:
    return np.diff(data.features.indptr) if what == "sizes" else getattr(data.features, what)
