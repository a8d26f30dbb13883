"""Training on a cluster: from files to a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.cluster.reading import Facts, facts_of, label_counts, placed, placed_labels, read_unchanged, state_of
from mpu_cli.core.data.features import Columns, with_width
from mpu_cli.core.data.predictions import FEW_LABELS, HeldOut
from mpu_cli.core.data.problem import LabelInformation, Problem
from mpu_cli.core.data.verified_labels import VerifiedLabels
from mpu_cli.core.frequency.label_frequency import LabelCounts
from mpu_cli.core.instances import Instances
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.negative_sampling import is_worthwhile
from mpu_cli.core.options import FEW_SHARDS, RBF, Options
from mpu_cli.core.train.algorithm import TrainingResult, train, train_on_parts
from mpu_cli.core.train.mixing import shards_of
from mpu_cli.core.validation import default_folds
from mpu_cli.errors import DataError, InputError
from mpu_cli.runtime.parallel import Executor, Handle
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.steps import Step
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import Part, check_counts, plan_parts
from mpu_cli.svmlight.streams import as_one

# A larger plain file is cut into parts.
PART_BYTES = 64_000_000
# Above this number of instances, all workers learn a problem of many labels.
FEW_INSTANCES_OF_MANY = 50_000


@dataclass(frozen=True)
class Collection:
    """Instances on the workers of a cluster, from files."""

    executor: Executor
    parts: list[Part]  # source of each part, for messages
    data: list[Handle]  # handles of the `Dataset` of each part
    facts: list[Facts]  # statistics of each part
    columns: Columns  # the features that occur
    n_second: int = 0  # how many of the parts, the last ones, are of a second file, whose label sets are complete

    def __len__(self) -> int:
        return sum(fact.size for fact in self.facts)

    @property
    def first(self) -> "Collection":
        """Return the instances that are not of the second file."""
        n = len(self.parts) - self.n_second
        return Collection(self.executor, self.parts[:n], self.data[:n], self.facts[:n], self.columns)

    @property
    def ids(self) -> np.ndarray:
        """Return the labels that occur, ascending."""
        return reduce(np.union1d, [fact.ids for fact in self.facts])

    def annotations(self, ids: np.ndarray) -> np.ndarray:
        """Count how many instances are annotated with each of some labels, which include those that occur."""
        counts = np.zeros(len(ids), int)
        for fact in self.facts:
            counts[np.searchsorted(ids, fact.ids)] += fact.annotations
        return counts

    @classmethod
    def of(
        cls, executor: Executor, parts: list[Part], data: list[Handle], tick: Callable[[], None] = lambda: None
    ) -> "Collection":
        """Collect the statistics of each part where it is, with a tick for each."""
        of_parts = [executor.submit(facts_of, one) for one in data]
        executor.wait(of_parts, tick)
        facts: list[Facts] = executor.gather(of_parts)
        return cls(executor, parts, data, facts, reduce(Columns.joined, [fact.features for fact in facts]))


@dataclass(frozen=True)
class DistributedProblem(LabelInformation):
    """What is learned from on a cluster, as `Problem` is on one machine."""

    collection: Collection
    ids: np.ndarray  # int, shape (q,): the labels, ascending: those that occur, and perhaps others

    def instances(self) -> Instances:
        """Return the instances for training."""
        collection, columns, of_labels = self.collection, self.collection.columns, self.label_features
        if of_labels is not None:
            columns = columns.joined(Columns.occurring(of_labels))
        of_parts = zip(collection.data, collection.parts, collection.facts, self._verified_of_parts(), strict=True)
        parts = [
            collection.executor.submit(placed, data, part, number, fact, self.ids, columns, verified)
            for number, (data, part, fact, verified) in enumerate(of_parts)
        ]
        return Instances(
            collection.executor,
            parts,
            [fact.size for fact in collection.facts],
            collection.annotations(self.ids),
            len(columns.indices) if columns.are_few else columns.width,
            occurring=columns,
            label_features=None if of_labels is None else columns.narrowed(of_labels),
            sampled=self.sampled,
            second=self.second,
            answers=self.answers,
        )

    def label_counts(self) -> LabelCounts:
        """Count the annotations of each label by how many true labels they stand for."""
        collection = self.collection
        if self.verified is None:
            annotations = collection.annotations(self.ids)
            return LabelCounts(np.full(len(self.ids), len(collection)), annotations, np.zeros(len(self.ids)))
        of_parts = zip(collection.data, self._verified_of_parts(), strict=True)
        counts = [collection.executor.submit(label_counts, data, self.ids, verified) for data, verified in of_parts]
        return reduce(add, collection.executor.gather(counts))

    def _verified_of_parts(self) -> list[VerifiedLabels | None]:
        ends = np.cumsum([0, *(fact.size for fact in self.collection.facts)]).tolist()
        return [self.verified and self.verified.rows(slice(*ends_of_part)) for ends_of_part in pairwise(ends)]


def read_files(
    executor: Executor,
    files: Sequence[str],
    reading: Reading,
    run: Run,
    n_shards: int = FEW_SHARDS,
    part_bytes: int = PART_BYTES,
    second: str | None = None,
) -> Collection:
    """Have the workers of a cluster read files. Every worker must be able to read every file.

    Plain files above `part_bytes` are cut into parts. One worker reads the parts of a shard, if possible. `second` is a
    file whose label sets are complete.

    Raises InputError (a file cannot be read, or no instance has a label), ClusterError (the cluster failed).
    """
    of_files, of_second = plan_parts(files, part_bytes), plan_parts([] if second is None else [second], part_bytes)
    parts = [*of_files, *of_second]
    states = {path: state_of(path) for path in {part.path for part in parts}}
    with run.step(Step.READ, len(parts)) as tick:
        unit_run = run.on_a_worker()
        order = [number for shard in shards_of(len(parts), n_shards) for number in shard]
        arguments = [(parts[number], states[parts[number].path], reading, unit_run) for number in order]
        read = dict(zip(order, executor.spread(read_unchanged, arguments), strict=True))
        data = [read.pop(number) for number in range(len(parts))]
        collection = Collection.of(executor, parts, data, tick)
        sizes = [fact.size for fact in collection.facts]
        check_counts(of_files, sizes[: len(of_files)], reading)
        check_counts(of_second, sizes[len(of_files) :], reading)
    if not len(collection.ids):
        raise InputError(str(as_one(files)), None, "no instance has a label, so there is nothing to learn")
    return replace(collection, n_second=len(of_second))


def learn(
    problem: DistributedProblem,
    options: Options,
    run: Run,
    n_shards: int = FEW_SHARDS,
    hold_out_all: bool = False,
) -> tuple[StackedModel, TrainingResult]:
    """Learn a model of all labels; errors as for `train_on_parts`, and ClusterError if the cluster fails.

    Up to 200,000 instances (50,000 if there are more than 500 labels), or up to the size of the sample, one worker
    learns from all of them, as a single machine does. Above, or if `folds` is set, all workers do, and the average of
    `n_shards` models that are learned in parallel is the model. Other parameters as for `core.train.algorithm.train`.
    """
    if not options.uses_label_features:
        problem = replace(problem, label_features=None)
    collection = problem.collection
    if _by_one_worker(problem, options):
        arguments = (
            collection.data,
            problem.ids,
            problem.label_information,
            options,
            replace(run.on_a_worker(), jobs=collection.executor.threads_of_one),
            hold_out_all,
        )
        with run.step(Step.LEARN_ON_ONE_WORKER):
            return collection.executor.gather([collection.executor.submit(_together, *arguments)])[0]
    if options.features == RBF:
        raise DataError(
            "an RBF kernel is learned by one worker, which takes --sample instances at most: choose linear features"
        )
    instances = problem.instances()
    collection.data.clear()  # so that the workers can release them
    return train_on_parts(instances, options, run, n_shards, hold_out_all=hold_out_all)


def shards_of_training(problem: DistributedProblem, options: Options, n_shards: int) -> int:
    """Return how many models `learn` learns side by side, from the number that was asked for."""
    return 1 if _by_one_worker(problem, options) else min(n_shards, len(problem.collection.parts))


def _by_one_worker(problem: DistributedProblem, options: Options) -> bool:
    """Whether one worker learns from all data: they are small, and `folds` is not set."""
    n, q = len(problem.collection), len(problem.ids)
    if n <= options.sample:
        return True
    if q > FEW_LABELS:  # which take longer
        return not is_worthwhile(n, q) or (options.folds is None and n <= FEW_INSTANCES_OF_MANY)
    return options.folds is None and default_folds(n) > 2


def _together(
    data: list[Dataset],
    ids: np.ndarray,
    information: LabelInformation,
    options: Options,
    run: Run,
    hold_out_all: bool,
) -> tuple[StackedModel, TrainingResult]:
    """Learn from all parts."""
    width = max(one.features.shape[1] for one in data)
    features = csr_array(vstack([with_width(one.features, width) for one in data], format="csr"))
    labels = csr_array(vstack([placed_labels(one, ids) for one in data], format="csr"))
    problem = Problem(features, labels, **vars(information))
    model, report = train(problem, options, run, hold_out_all=hold_out_all)
    if hold_out_all:
        return model, report
    none = HeldOut(np.empty(0, int), np.empty((0, len(model.thresholds)), np.float32))
    return model, replace(report, held_out=none)  # out-of-fold predictions need not be sent
