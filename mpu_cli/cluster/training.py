"""Training on a cluster: from files to a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.cluster.reading import Facts, facts_of, placed, read_unchanged, state_of
from mpu_cli.core.data.features import Columns, with_width
from mpu_cli.core.data.predictions import FEW_LABELS, HeldOut
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.options import FEW_SHARDS, Options
from mpu_cli.core.side.negative_sampling import is_worthwhile
from mpu_cli.core.train.algorithm import Report, train, train_on_parts
from mpu_cli.core.train.instances import Instances
from mpu_cli.core.train.mixing import shards_of
from mpu_cli.core.validate.validation import default_folds
from mpu_cli.errors import InputError
from mpu_cli.runtime.executor import Executor, Handle
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.file_parts import Part, check_counts, plan_parts
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.sources import as_one

# A larger plain file is cut into parts.
PART_BYTES = 64_000_000
# Above this number of instances, all workers learn a problem of many labels.
FEW_INSTANCES_OF_MANY = 50_000


@dataclass(frozen=True)
class Collection:
    """Instances on the workers of a cluster, from files or from blocks of arrays.

    Attributes
    ----------
    executor : Executor
    parts : list of Part
        Source of each part, for messages.
    data : list of Handle
        Handles of the `Dataset` of each part.
    facts : list of Facts
        Statistics of each part.
    ids : ndarray of int, shape (q,)
        The labels that occur, ascending.
    annotations : ndarray of int, shape (q,)
        Number of annotations of each of them.
    columns : Columns
        The features that occur.
    """

    executor: Executor
    parts: list[Part]
    data: list[Handle]
    facts: list[Facts]
    ids: np.ndarray
    annotations: np.ndarray
    columns: Columns

    def __len__(self) -> int:
        return sum(fact.size for fact in self.facts)

    @property
    def content(self) -> list[tuple[str, int, str]]:
        """An identity of the instances and their parts."""
        return [(part.path, part.start, fact.checksum) for part, fact in zip(self.parts, self.facts, strict=True)]

    def instances(self) -> Instances:
        """Return the instances for training."""
        submit, facts, columns = self.executor.submit, self.facts, self.columns
        of_parts = zip(self.data, self.parts, facts, strict=True)
        parts = [
            submit(placed, data, part, number, fact, self.ids, columns)
            for number, (data, part, fact) in enumerate(of_parts)
        ]
        width = len(columns.indices) if columns.are_few else columns.width
        sizes = [fact.size for fact in facts]
        return Instances(self.executor, parts, sizes, self.annotations, width, occurring=columns)

    @classmethod
    def of(
        cls, executor: Executor, parts: list[Part], data: list[Handle], tick: Callable[[], None] = lambda: None
    ) -> "Collection":
        """Collect the statistics of each part where it is, with a tick for each."""
        of_parts = [executor.submit(facts_of, one) for one in data]
        executor.wait(of_parts, tick)
        facts: list[Facts] = executor.gather(of_parts)
        ids = reduce(np.union1d, [fact.ids for fact in facts])
        annotations = np.zeros(len(ids), int)
        for fact in facts:
            annotations[np.searchsorted(ids, fact.ids)] += fact.annotations
        features = reduce(np.union1d, [fact.features for fact in facts]).astype(np.int32)
        return cls(executor, parts, data, facts, ids, annotations, Columns(features, max(f.width for f in facts)))


def read_files(
    executor: Executor,
    files: Sequence[str],
    reading: Reading,
    run: Run,
    n_shards: int = FEW_SHARDS,
    part_bytes: int = PART_BYTES,
) -> Collection:
    """Have the workers of a cluster read files. Every worker must be able to read every file.

    Parameters
    ----------
    executor : Executor
    files : sequence of str
    reading : Reading
    run : Run
    n_shards : int
        Shards of the training; one worker reads the parts of a shard, if possible.
    part_bytes : int
        Larger plain files are cut into parts of at most this size.

    Raises
    ------
    InputError
        A file cannot be read, or no instance has a label.
    ClusterError
        The cluster failed.
    """
    parts = plan_parts(files, part_bytes)
    states = {path: state_of(path) for path in files}
    with run.step("read", len(parts)) as tick:
        unit_run = run.on_a_worker()
        order = [number for shard in shards_of(len(parts), n_shards) for number in shard]
        arguments = [(parts[number], states[parts[number].path], reading, unit_run) for number in order]
        read = dict(zip(order, executor.spread(read_unchanged, arguments), strict=True))
        data = [read.pop(number) for number in range(len(parts))]
        collection = Collection.of(executor, parts, data, tick)
        check_counts(parts, [fact.size for fact in collection.facts], reading)
    if not len(collection.ids):
        raise InputError(str(as_one(files)), None, "no instance has a label, so there is nothing to learn")
    return collection


def learn(
    collection: Collection, options: Options, run: Run, n_shards: int = FEW_SHARDS, hold_out_all: bool = False
) -> tuple[StackedModel, Report]:
    """Learn a model of all labels.

    Up to 200,000 instances (50,000 if there are more than 500 labels), or up to the size of the sample, one worker
    learns from all of them, as a single machine does. Above, or if `folds` is set, all workers do.

    Parameters
    ----------
    collection : Collection
    options : Options
        As for `core.train.algorithm.train_on_parts`.
    run : Run
    n_shards : int
        Models that are learned in parallel and averaged.
    hold_out_all : bool
        As for `core.train.algorithm.train`.

    Returns
    -------
    StackedModel, Report

    Raises
    ------
    InputError
        A file has changed meanwhile.
    MpuError
        As for `train_on_parts`; ClusterError if the cluster fails.
    """
    n = len(collection)
    if _by_one_worker(n, len(collection.ids), options):
        return _learn_together(collection.executor, collection.data, options, run, hold_out_all)
    instances = collection.instances()
    collection.data.clear()  # so that the workers can release them
    return train_on_parts(instances, options, run, n_shards, hold_out_all=hold_out_all)


def shards_of_training(collection: Collection, options: Options, n_shards: int) -> int:
    """Return how many models `learn` learns side by side where so many are asked for."""
    alone = _by_one_worker(len(collection), len(collection.ids), options)
    return 1 if alone else min(n_shards, len(collection.parts))


def _by_one_worker(n: int, q: int, options: Options) -> bool:
    """Whether one worker learns from all data: they are small, and `folds` is not set."""
    if n <= options.sample:
        return True
    if q > FEW_LABELS:  # which take longer
        return not is_worthwhile(n, q) or (options.folds is None and n <= FEW_INSTANCES_OF_MANY)
    return options.folds is None and default_folds(n) > 2


def _learn_together(
    executor: Executor, data: list[Handle], options: Options, run: Run, hold_out_all: bool
) -> tuple[StackedModel, Report]:
    with run.step("learn on one worker"):
        return executor.gather([executor.submit(_together, data, options, run.on_a_worker(), hold_out_all)])[0]


def _together(data: list[Dataset], options: Options, run: Run, hold_out_all: bool) -> tuple[StackedModel, Report]:
    """Learn from all parts."""
    width, n_labels = (max(getattr(one, what).shape[1] for one in data) for what in ("features", "labels"))
    features = csr_array(vstack([with_width(one.features, width) for one in data], format="csr"))
    labels = csr_array(vstack([with_width(one.labels, n_labels) for one in data], format="csr"))
    occurring = Dataset(labels, features).occurring_labels()[0]
    model, report = train(Problem(features, occurring), options, run, hold_out_all=hold_out_all)
    if hold_out_all:
        return model, report
    none = HeldOut(np.empty(0, int), np.empty((0, len(model.thresholds)), np.float32))
    return model, replace(report, held_out=none)  # out-of-fold predictions need not be sent
