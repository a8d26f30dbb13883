"""Cells counted by their probability: in bins so narrow that the counts serve in place of the cells."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.judges import FEWEST, Judges
from mpu_cli.core.data.predictions import Predictions, values_at
from mpu_cli.core.frequency.label_frequency import LabelFrequency

# Bins are float32 numbers with eleven bits of mantissa: 0.05 % apart.
BITS_DROPPED = 12
BINS = (int(np.float32(1).view(np.int32)) >> BITS_DROPPED) + 1
_ROWS = 1 << 14


@dataclass(frozen=True)
class BinnedCells:
    """How many cells there are in each bin, and how many true ones, for each stratum of labels.

    Attributes
    ----------
    cells : ndarray of float64, shape (strata, BINS)
        All that are not ignored. There is one stratum, or one of each number of annotations (`core.data.judges`).
    true : ndarray of float64, shape (strata, BINS)
        True labels, estimated: an annotation stands for 1 / c of them (`LabelFrequency.counted`).
    annotations : ndarray of int, shape (strata,)
    """

    cells: np.ndarray
    true: np.ndarray
    annotations: np.ndarray

    def __add__(self, other: "BinnedCells") -> "BinnedCells":
        """Return the counts of both."""
        return BinnedCells(self.cells + other.cells, self.true + other.true, self.annotations + other.annotations)

    def __getitem__(self, strata: slice) -> "BinnedCells":
        """Return the counts of a subset of the strata."""
        return BinnedCells(self.cells[strata], self.true[strata], self.annotations[strata])

    def together(self) -> "BinnedCells":
        """Return the counts of all strata as those of one."""
        return BinnedCells(*(of_strata.sum(axis=0)[None] for of_strata in vars(self).values()))

    def kept(self) -> "BinnedCells":
        """Return the counts without predictions of 0, which those of many labels are that are not kept."""
        above = np.arange(BINS) > 0
        return replace(self, cells=self.cells * above, true=self.true * above)

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        labels: csr_array,
        frequency: LabelFrequency,
        weights: np.ndarray | None = None,
        judges: Judges | None = None,
    ) -> "BinnedCells":
        """Count the cells of n instances and q labels.

        Parameters
        ----------
        predictions : ndarray or csr_array of float32, shape (n, q)
            Probabilities.
        weights : ndarray of float64, shape (q,), optional
            How many labels each of these stands for. Default: each for itself.
        judges : Judges, optional
            Of these instances and labels. Default: all cells are of one stratum.
        """
        q = labels.shape[1]
        of_labels = np.ones(q) if weights is None else weights
        if judges is None:
            judges = Judges(np.zeros(labels.shape[0], np.int8), np.zeros((1, q), np.int8))
            n_strata = 1
        else:
            n_strata = len(FEWEST)

        def count(where: tuple[np.ndarray, np.ndarray], chance: np.ndarray | float = 1.0) -> np.ndarray:
            numbers = bin_numbers(values_at(predictions, *where)) + BINS * judges.at(*where).astype(np.int32)
            return np.bincount(numbers, of_labels[where[1]] / chance, n_strata * BINS).reshape(n_strata, BINS)

        cells = _counted(predictions, weights, judges, n_strata) - count(frequency.ignored())
        of_kinds = [part.nonzero() for part in frequency.counted(labels)]
        true = count(of_kinds[0], frequency.by_chance(*of_kinds[0])) + count(of_kinds[1])
        annotations = sum(np.bincount(judges.at(*where), minlength=n_strata) for where in of_kinds)
        return cls(cells, true, np.asarray(annotations))


def _counted(predictions: Predictions, weights: np.ndarray | None, judges: Judges, n_strata: int) -> np.ndarray:
    """Count all cells, each as often as the weight of its label."""
    n = predictions.shape[0]
    offsets = BINS * judges.strata.astype(np.int32)
    if not isinstance(predictions, np.ndarray):
        rows = np.repeat(np.arange(n), np.diff(predictions.indptr))
        numbers = bin_numbers(predictions.data) + offsets[judges.of_instances[rows], predictions.indices]
        of_cells = None if weights is None else weights[predictions.indices]
        cells = np.bincount(numbers, of_cells, n_strata * BINS).astype(float).reshape(n_strata, BINS)
        judged = np.bincount(judges.of_instances, minlength=len(offsets))
        for strata, size in zip(judges.strata, judged, strict=True):
            cells[:, 0] += size * np.bincount(strata, weights, n_strata)
        cells[:, 0] -= np.bincount(numbers // BINS, of_cells, n_strata)
        return cells
    flat = np.zeros(n_strata * BINS)
    for start in range(0, n, _ROWS):  # the bins of all would take three times their memory
        numbers = bin_numbers(predictions[start : start + _ROWS])
        if n_strata > 1:
            numbers = numbers + offsets[judges.of_instances[start : start + _ROWS]]
        of_cells = None if weights is None else np.broadcast_to(weights, numbers.shape).ravel()
        flat += np.bincount(numbers.ravel(), of_cells, n_strata * BINS)
    return flat.reshape(n_strata, BINS)


def bin_numbers(probabilities: np.ndarray) -> np.ndarray:
    """Return the number of each probability's bin; non-negative floats sort as their bits do."""
    return probabilities.view(np.int32) >> BITS_DROPPED


def lower_edges(numbers: np.ndarray | int) -> np.ndarray:
    """Return the smallest float32 number in each of some bins."""
    return (np.asarray(numbers, np.int32) << BITS_DROPPED).view(np.float32)
