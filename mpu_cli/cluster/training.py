"""Training on a cluster: from files to a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.cluster.reading import Facts, facts_of, placed, read_unchanged, state_of
from mpu_cli.core.distributed import Instances, train_on_parts
from mpu_cli.core.features import Columns, with_width
from mpu_cli.core.levels import HeldOut
from mpu_cli.core.mixing import FEW_SHARDS
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import StackedModel
from mpu_cli.core.training import Report, train
from mpu_cli.core.validation import default_folds
from mpu_cli.errors import InputError
from mpu_cli.runtime.executor import Executor, Handle
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.parts import check_counts, plan_parts

# A larger plain file is cut into parts.
PART_BYTES = 64_000_000


@dataclass(frozen=True)
class Trained:
    """A model that a cluster has learned, and of what.

    Attributes
    ----------
    model : StackedModel
    report : Report
    ids : ndarray of int, shape (q,)
        The labels, ascending.
    known : Columns
        The features that occur.
    size : int
        Number of instances.
    annotations : ndarray of int, shape (q,)
        How many instances are annotated with each label.
    parts : int
    shards : int
        That learned side by side; 1 where one worker learned all.
    """

    model: StackedModel
    report: Report
    ids: np.ndarray
    known: Columns
    size: int
    annotations: np.ndarray
    parts: int
    shards: int


def train_files(
    executor: Executor,
    files: Sequence[str],
    options: Options,
    reading: Reading,
    run: Run,
    n_shards: int = FEW_SHARDS,
    part_bytes: int = PART_BYTES,
) -> Trained:
    """Learn a model of all labels of files, each of which all workers can read.

    Up to 200,000 instances, one worker learns all of them, as a single machine would.

    Parameters
    ----------
    executor : Executor
    files : sequence of str
    options : Options
        As for `core.distributed.train_on_parts`.
    reading : Reading
    run : Run
    n_shards : int
        How many models are learned side by side, to take their mean.
    part_bytes : int
        Larger plain files are cut into parts of at most this size.

    Raises
    ------
    InputError
        A file cannot be read, is changed meanwhile, or no instance has a label.
    MpuError
        As for `train_on_parts`; ClusterError where the cluster fails.
    """
    planned = plan_parts(files, part_bytes)
    states = {path: state_of(path) for path in files}
    unit_run = Run(jobs=1, kernel="numba" if run.compiled else "numpy")
    with run.step("read", len(planned)) as tick:
        data = [executor.submit(read_unchanged, part, states[part.path], reading, unit_run) for part in planned]
        told = [executor.submit(facts_of, one) for one in data]
        executor.wait(told, tick)
        facts: list[Facts] = executor.gather(told)
        check_counts(planned, [fact.size for fact in facts], reading)
        ids = reduce(np.union1d, [fact.ids for fact in facts])
        if not len(ids):
            raise InputError(files[0], None, "no instance has a label, so there is nothing to learn")
    every = reduce(np.union1d, [fact.features for fact in facts]).astype(np.int32)
    columns = Columns(every, max(fact.width for fact in facts))
    annotations = np.zeros(len(ids), int)
    for fact in facts:
        annotations[np.searchsorted(ids, fact.ids)] += fact.annotations
    size = sum(fact.size for fact in facts)

    if default_folds(size) > 2:  # less than large
        model, report = _learn_together(executor, data, options, run)
        return Trained(model, report, ids, columns, size, annotations, len(planned), 1)
    compact = 2 * len(columns.indices) < columns.width
    parts = [
        executor.submit(placed, one, part, number, fact, ids, columns, compact)
        for number, (one, part, fact) in enumerate(zip(data, planned, facts, strict=True))
    ]
    del data, told
    width = len(columns.indices) if compact else columns.width
    instances = Instances(executor, parts, [fact.size for fact in facts], annotations, width)
    model, report = train_on_parts(instances, options, run, n_shards)
    model = replace(model, columns=columns if compact else None)
    return Trained(model, report, ids, columns, size, annotations, len(planned), min(n_shards, len(planned)))


def _learn_together(executor: Executor, data: list[Handle], options: Options, run: Run) -> tuple[StackedModel, Report]:
    with run.step("learn on one worker"):
        unit_run = Run(seed=run.seed, kernel="numba" if run.compiled else "numpy")
        return executor.gather([executor.submit(_together, data, options, unit_run)])[0]


def _together(data: list[Dataset], options: Options, run: Run) -> tuple[StackedModel, Report]:
    """Learn from all parts."""
    width, n_labels = (max(getattr(one, what).shape[1] for one in data) for what in ("features", "labels"))
    features = csr_array(vstack([with_width(one.features, width) for one in data], format="csr"))
    labels = csr_array(vstack([with_width(one.labels, n_labels) for one in data], format="csr"))
    model, report = train(features, Dataset(labels, features).occurring_labels()[0], options, run)
    none = HeldOut(np.empty(0, int), np.empty((0, len(model.thresholds)), np.float32))
    return model, replace(report, held_out=none)  # all of them need not travel
