"""Cells counted by their probability: in bins so narrow that what is found from the counts is found from the cells."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.label_frequency import LabelFrequency

# Bins are float32 numbers with eleven bits of mantissa: 0.05 % apart.
BITS_DROPPED = 12
BINS = (int(np.float32(1).view(np.int32)) >> BITS_DROPPED) + 1
_ROWS = 1 << 14


@dataclass(frozen=True)
class BinnedCells:
    """How many cells there are in each bin, and how many true ones.

    Attributes
    ----------
    cells : ndarray of int, shape (BINS,)
        All that are not ignored.
    true : ndarray of float64, shape (BINS,)
        True labels, estimated: an annotation stands for 1 / c of them (`LabelFrequency.counted`).
    """

    cells: np.ndarray
    true: np.ndarray

    @classmethod
    def of(cls, probabilities: np.ndarray, labels: csr_array, frequency: LabelFrequency) -> "BinnedCells":
        """Count the cells of n instances and q labels.

        Parameters
        ----------
        probabilities : ndarray of float32, shape (n, q)
        labels : csr_array of bool, shape (n, q)
            Annotated labels.
        frequency : LabelFrequency
            Of these instances and labels.
        """
        cells = -np.bincount(bin_numbers(probabilities[frequency.ignored()]), minlength=BINS)
        for start in range(0, len(probabilities), _ROWS):  # the bins of all would take three times their memory
            cells += np.bincount(bin_numbers(probabilities[start : start + _ROWS]).ravel(), minlength=BINS)
        by_chance, certain = frequency.counted(labels)
        rows, columns = by_chance.nonzero()
        weight = 1 / frequency.rates[columns]
        true = np.bincount(bin_numbers(probabilities[rows, columns]), weights=weight, minlength=BINS)
        true += np.bincount(bin_numbers(probabilities[certain.nonzero()]), minlength=BINS)
        return cls(cells, true)


def bin_numbers(probabilities: np.ndarray) -> np.ndarray:
    """Return the number of each probability's bin; non-negative floats sort as their bits do."""
    return probabilities.view(np.int32) >> BITS_DROPPED


def lower_edges(numbers: np.ndarray | int) -> np.ndarray:
    """Return the smallest float32 number in each of some bins."""
    return (np.asarray(numbers, np.int32) << BITS_DROPPED).view(np.float32)
