"""Cells counted by their probability: in bins so narrow that what is found from the counts is found from the cells."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.predictions import Predictions, values_at
from mpu_cli.core.frequency.label_frequency import LabelFrequency

# Bins are float32 numbers with eleven bits of mantissa: 0.05 % apart.
BITS_DROPPED = 12
BINS = (int(np.float32(1).view(np.int32)) >> BITS_DROPPED) + 1
_ROWS = 1 << 14


@dataclass(frozen=True)
class BinnedCells:
    """How many cells there are in each bin, and how many true ones.

    Attributes
    ----------
    cells : ndarray of float64, shape (BINS,)
        All that are not ignored.
    true : ndarray of float64, shape (BINS,)
        True labels, estimated: an annotation stands for 1 / c of them (`LabelFrequency.counted`).
    """

    cells: np.ndarray
    true: np.ndarray

    def __add__(self, other: "BinnedCells") -> "BinnedCells":
        """Return the counts of both."""
        return BinnedCells(self.cells + other.cells, self.true + other.true)

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        labels: csr_array,
        frequency: LabelFrequency,
        weights: np.ndarray | None = None,
    ) -> "BinnedCells":
        """Count the cells of n instances and q labels.

        Parameters
        ----------
        predictions : ndarray or csr_array of float32, shape (n, q)
            Probabilities.
        labels : csr_array of bool, shape (n, q)
            Annotated labels.
        frequency : LabelFrequency
            Of these instances and labels.
        weights : ndarray of float64, shape (q,), optional
            How many labels each of these stands for. Default: each for itself.
        """
        of_labels = np.ones(labels.shape[1]) if weights is None else weights

        def count(where: tuple[np.ndarray, np.ndarray], weight: np.ndarray) -> np.ndarray:
            numbers = bin_numbers(values_at(predictions, *where))
            return np.bincount(numbers, weights=weight[where[1]], minlength=BINS)

        cells = _counted(predictions, weights) - count(frequency.ignored(), of_labels)
        by_chance, certain = frequency.counted(labels)
        true = count(by_chance.nonzero(), of_labels / frequency.rates) + count(certain.nonzero(), of_labels)
        return cls(cells, true)


def _counted(predictions: Predictions, weights: np.ndarray | None) -> np.ndarray:
    """Count all cells, each as often as the weight of its label."""
    n, q = predictions.shape
    if not isinstance(predictions, np.ndarray):
        of_cells = None if weights is None else weights[predictions.indices]
        cells = np.bincount(bin_numbers(predictions.data), of_cells, BINS).astype(float)
        cells[0] += n * (q if weights is None else weights.sum()) - cells.sum()
        return cells
    cells = np.zeros(BINS)
    for start in range(0, n, _ROWS):  # the bins of all would take three times their memory
        numbers = bin_numbers(predictions[start : start + _ROWS])
        of_cells = None if weights is None else np.broadcast_to(weights, numbers.shape).ravel()
        cells += np.bincount(numbers.ravel(), of_cells, BINS)
    return cells


def bin_numbers(probabilities: np.ndarray) -> np.ndarray:
    """Return the number of each probability's bin; non-negative floats sort as their bits do."""
    return probabilities.view(np.int32) >> BITS_DROPPED


def lower_edges(numbers: np.ndarray | int) -> np.ndarray:
    """Return the smallest float32 number in each of some bins."""
    return (np.asarray(numbers, np.int32) << BITS_DROPPED).view(np.float32)
