"""The design of an experiment: samples of instances, their folds, and the labels that are removed."""

from dataclasses import dataclass
from itertools import product
from types import EllipsisType
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import only_entries
from mpu_cli.core.validation import deal
from mpu_cli.errors import MpuError
from mpu_cli.svmlight.dataset import Dataset

OWN, TUNED = "own", "tuned"


@dataclass(frozen=True)
class Method:
    """A method with its options."""

    label: str  # its name in results: the method, and the options that were set
    name: str  # one of `mpu_cli.methods.METHODS`
    options: Any = None  # an instance of its options; default: all defaults


@dataclass(frozen=True)
class Cell:
    """One training and its test."""

    method: str  # label of the method
    missing_rate: float  # share of the training labels that is removed
    fold: int  # number of the test fold, from 0
    instances: int  # size of the sample: instances for training and for the test together


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What is compared, before the data are read."""

    # `methods`, `missing_rates`, `folds`, `tuned`: as of `Design`
    methods: tuple[Method, ...]
    missing_rates: tuple[float, ...]
    folds: int = 10
    run_folds: int | None = None  # as of `Design`; None: all folds
    instances: tuple[int | EllipsisType, ...] | None = None  # as for `sizes_within`
    tuned: bool = False

    def design(self, available: int, seed: int) -> "Design":
        """Return the experiment on a number of instances; errors as of `sizes_within`."""
        sizes, folds = sizes_within(self.instances, available, self.folds), self.folds
        return Design(self.methods, self.missing_rates, sizes, folds, self.run_folds or folds, self.tuned, seed)


@dataclass(frozen=True)
class Design:
    """An experiment."""

    methods: tuple[Method, ...]
    missing_rates: tuple[float, ...]  # from 0 to below 1
    sizes: tuple[int, ...]  # sizes of the samples
    folds: int = 10  # number of folds of a sample
    run_folds: int = 10  # number of them that are test folds, each with the other `folds` - 1 for training
    tuned: bool = False  # whether each method is also measured with the threshold of `mpu_cli.experiment.cell`
    seed: int = 0

    @property
    def rules(self) -> tuple[str, ...]:
        """The decision rules: each method's own, and the tuned threshold."""
        return (OWN, TUNED) if self.tuned else (OWN,)

    def cells(self) -> list[Cell]:
        """All cells, fold by fold, so that the finished ones are a fair comparison at any time."""
        keys = product(self.sizes, range(self.run_folds), self.missing_rates, self.methods)
        return [Cell(method.label, rate, fold, size) for size, fold, rate, method in keys]

    def split(self, data: Dataset, cell: Cell) -> tuple[Dataset, Dataset]:
        """Return the training and the test instances of a cell; only the former have lost labels.

        They depend on the seed, the number of instances and the fold; the removed labels depend on the missing rate
        too. Nothing depends on the method. A larger sample contains a smaller one.
        """
        of_training, of_test = self.rows(len(data), cell)
        training, test = data[of_training], data[of_test]
        left = remove_labels(training.labels, cell.missing_rate, (self.seed, cell.fold))
        return Dataset(left, training.features), test

    def rows(self, n: int, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
        """Return which of n instances are for training, and which for the test."""
        drawn = np.sort(np.random.default_rng(self.seed).permutation(n)[: cell.instances])
        held_out = deal(len(drawn), self.folds, self.seed)[cell.fold]
        return np.delete(drawn, held_out), drawn[held_out]


def sizes_within(asked: tuple[int | EllipsisType, ...] | None, available: int, folds: int) -> tuple[int, ...]:
    """Return the sizes of the samples to draw from the available instances.

    Those asked for ascend, and ``(1000, 2000, ...)`` continues by the last factor while there are instances; None: all.
    MpuError where a size exceeds the number of instances, or is less than the number of folds.
    """
    if asked is None:
        sizes = [available]
    else:
        sizes = [size for size in asked if not isinstance(size, EllipsisType)]
        if len(sizes) < len(asked):
            while (larger := sizes[-1] * sizes[-1] // sizes[-2]) <= available:
                sizes.append(larger)
            sizes = [size for size in sizes if size <= available] or sizes
    if sizes[-1] > available:
        raise MpuError(f"the files have {available:,} instances, not {sizes[-1]:,}; give fewer --instances")
    if sizes[0] < folds:
        raise MpuError(f"{sizes[0]} instances are too few for {folds} folds")
    return tuple(sizes)


def remove_labels(labels: csr_array, missing_rate: float, seed: tuple[int, ...]) -> csr_array:
    """Remove ``round(missing_rate * labels)`` of all labels (halves to even), every such subset equally likely.

    With the same seed, labels removed at one rate are also removed at a higher one. So a curve over rates does not vary
    by the draw. (`mpu corrupt`, which never has all labels in memory, cannot do this.) Labels are csr_array of bool,
    shape (n, q), before and after.
    """
    order = np.random.default_rng(seed).permutation(labels.nnz)
    keep = np.ones(labels.nnz, bool)
    keep[order[: round(missing_rate * labels.nnz)]] = False
    return only_entries(labels, keep)
