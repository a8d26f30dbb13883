"""The design of an experiment: samples of instances, their folds, and the labels that are removed."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import only_entries
from mpu_cli.core.labels.problem import kin_of
from mpu_cli.core.validation import deal
from mpu_cli.errors import MpuError
from mpu_cli.svmlight.dataset import Dataset


@dataclass(frozen=True)
class Cell:
    """One training and its test."""

    method: str  # with its options, as the user wrote it: `mpu_cli.experiment.methods.make`
    missing_rate: float  # share of the training labels that is removed
    fold: int  # number of the test fold, from 0
    instances: int  # size of the sample: instances for training and for the test together


@dataclass(frozen=True, kw_only=True)
class Design:
    """An experiment."""

    methods: tuple[str, ...]
    missing_rates: tuple[float, ...]  # from 0 to below 1
    instances: tuple[int, ...] | None = None  # sizes of the samples, which ascend; None: all instances
    folds: int = 10  # number of folds of a sample
    run_folds: int | None = None  # how many of them are test folds, each with the others for training; None: all
    seed: int = 0

    def on(self, available: int) -> "Design":
        """Return the experiment on a number of instances.

        MpuError where a size exceeds the number of instances, or is less than the number of folds.
        """
        sizes = self.instances or (available,)
        if sizes[-1] > available:
            raise MpuError(f"the files have {available:,} instances, not {sizes[-1]:,}; give fewer --instances")
        if sizes[0] < self.folds:
            raise MpuError(f"{sizes[0]} instances are too few for {self.folds} folds")
        return replace(self, instances=sizes, run_folds=self.run_folds or self.folds)

    def cells(self) -> list[Cell]:
        """All cells, fold by fold, so that the finished ones are a fair comparison at any time."""
        assert self.instances is not None and self.run_folds is not None  # of a design `on` instances
        keys = product(self.instances, range(self.run_folds), self.missing_rates, self.methods)
        return [Cell(method, rate, fold, size) for size, fold, rate, method in keys]

    def split(self, data: Dataset, cell: Cell) -> tuple[Dataset, Dataset, np.ndarray]:
        """Return the training and the test instances of a cell, and which are the former; these have lost labels.

        They depend on the seed, the number of instances and the fold; the removed labels depend on the missing rate
        too. Nothing depends on the method. A larger sample contains a smaller one.
        """
        drawn = np.sort(np.random.default_rng(self.seed).permutation(len(data))[: cell.instances])
        held_out = deal(len(drawn), self.folds, self.seed, kin_of(data.features[drawn]))[cell.fold]
        rows = np.delete(drawn, held_out)
        left = remove_labels(data.labels[rows], cell.missing_rate, (self.seed, cell.fold))
        return Dataset(left, data.features[rows]), data[drawn[held_out]], rows


def remove_labels(labels: csr_array, missing_rate: float, seed: tuple[int, ...]) -> csr_array:
    """Remove a share of all labels uniformly: csr_array of bool, shape (n, q), before and after.

    With the same seed, labels removed at one rate are also removed at a higher one. So a curve over rates does not vary
    by the draw. (`mpu corrupt`, which never has all labels in memory, cannot do this.)
    """
    order = np.random.default_rng(seed).permutation(labels.nnz)
    keep = np.ones(labels.nnz, bool)
    keep[order[: round(missing_rate * labels.nnz)]] = False
    return only_entries(labels, keep)
