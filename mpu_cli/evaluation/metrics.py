"""Metrics of predicted label sets, counted chunk by chunk.

The definitions are those of scikit-learn with ``zero_division=0``. Macro averages and the Hamming loss are over the
labels that occur in a true or a predicted set. Memory grows with the number of distinct labels, not with the number of
instances or with the largest label.
"""

from dataclasses import dataclass, field
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array


class Sums:
    """Sums that are rounded only once, at the end, so the sums of parts add up exactly to those of the whole.

    `*shape`: shape of the array of sums.

    Examples
    --------
    >>> sums = Sums(2)
    >>> for term in (1.0, 1e-16, 1e-16):
    ...     sums.add([term, 2.0])
    >>> sums.total.tolist()
    [1.0000000000000002, 6.0]
    """

    def __init__(self, *shape: int) -> None:
        self._shape = shape
        self._terms: list[np.ndarray] = []

    def add(self, terms: ArrayLike) -> None:
        """Add a term to each sum: numbers of the shape of the sums."""
        self._terms.append(np.array(terms, float).reshape(self._shape))

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of the terms of both."""
        both = Sums(*self._shape)
        both._terms = self._terms + other._terms
        return both

    @property
    def total(self) -> np.ndarray:
        """The sums: float64."""
        terms = np.reshape(self._terms, (len(self._terms), int(np.prod(self._shape)))).T
        return np.array([fsum(of_one) for of_one in terms.tolist()]).reshape(self._shape)


LABEL_BITS = 31  # labels are below 2**31


def divide(numerator: ArrayLike, denominator: ArrayLike) -> np.ndarray:
    """Divide elementwise in float64. The result is 0 where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator != 0)


class Quality(NamedTuple):
    """Values from 0 to 1, float64, one per element of the counts; 0 where the denominator is 0."""

    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


def precision_recall_f1(true_positives: np.ndarray, predicted: np.ndarray, support: np.ndarray) -> Quality:
    """Return precision, recall and F1 from counts.

    Parameters
    ----------
    true_positives, predicted, support : array_like, broadcastable
        Number of labels that are both predicted and true; predicted; true.

    Returns
    -------
    Quality
    """
    precision = divide(true_positives, predicted)
    recall = divide(true_positives, support)
    f1 = divide(2 * np.asarray(true_positives), np.asarray(predicted) + support)
    return Quality(precision, recall, f1)


def entry_rows(matrix: csr_array) -> np.ndarray:
    """Row of each stored entry, shape (nnz,), int64."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def entries_in(matrix: csr_array, other: csr_array) -> np.ndarray:
    """Return a mask of the stored entries of `matrix` that are stored in `other` too.

    `matrix`, `other`: csr_array, shapes (n, Q) and (n, R): only where entries are stored matters. Q and R may differ
    and be up to 2**31.
    Returns: ndarray, shape (matrix.nnz,), bool.
    """
    keys, other_keys = (entry_rows(m) << LABEL_BITS | m.indices for m in (matrix, other))
    return np.isin(keys, other_keys, assume_unique=True)


def merge_labels(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Distinct labels of arrays of labels, ascending; fast if the first is long and ascending."""
    labels = np.sort(np.concatenate([first, *others]), kind="stable")  # which merges ascending runs; np.unique does not
    return labels[np.diff(labels, prepend=-1) > 0]


@dataclass
class LabelSetMetrics:
    """Counts of true and predicted labels, for the metrics of label sets.

    Attributes
    ----------
    instances : int
        Number of instances so far.
    labels : ndarray, shape (q,), int64
        The labels that have occurred in a true or a predicted set, ascending.
    true_positives, predicted, support : ndarray, shape (q,), int64
        Per label: the number of instances where it is both predicted and true; predicted; true.
    """

    instances: int = 0
    labels: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    true_positives: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    predicted: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    support: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    _of_instances: Sums = field(default_factory=lambda: Sums(3))  # precision, recall, F1
    _exact: int = 0

    def add(self, truth: csr_array, predicted: csr_array) -> None:
        """Add the counts of a chunk.

        Parameters
        ----------
        truth, predicted : csr_array, shapes (n, Q) and (n, R), bool
            Label sets: row i has an entry in column k if label k is in the set of instance i.
        """
        hit = entries_in(predicted, truth)
        self._count_labels(predicted.indices[hit], predicted.indices, truth.indices)

        n = truth.shape[0]
        true_positives = np.bincount(entry_rows(predicted)[hit], minlength=n)
        sizes, true_sizes = np.diff(predicted.indptr), np.diff(truth.indptr)
        self._of_instances.add([x.sum() for x in precision_recall_f1(true_positives, sizes, true_sizes)])
        self._exact += int(np.count_nonzero((true_positives == sizes) & (true_positives == true_sizes)))
        self.instances += n

    def __add__(self, other: "LabelSetMetrics") -> "LabelSetMetrics":
        """Return the counts of the instances of both."""
        labels = merge_labels(self.labels, other.labels)
        counts = np.zeros((3, len(labels)), np.int64)
        for one in (self, other):
            counts[:, np.searchsorted(labels, one.labels)] += [one.true_positives, one.predicted, one.support]
        instances, exact = self.instances + other.instances, self._exact + other._exact
        sums = self._of_instances + other._of_instances
        return LabelSetMetrics(instances, labels, counts[0], counts[1], counts[2], sums, exact)

    def _count_labels(self, *occurrences: np.ndarray) -> None:
        labels = merge_labels(self.labels, *occurrences)
        places = np.searchsorted(labels, self.labels)
        for name, occurring in zip(("true_positives", "predicted", "support"), occurrences, strict=True):
            counts = np.bincount(np.searchsorted(labels, occurring), minlength=len(labels))
            counts[places] += getattr(self, name)
            setattr(self, name, counts)
        self.labels = labels

    def results(self) -> dict[str, float]:
        """Return the metrics of all instances so far.

        Returns
        -------
        dict
            ``{micro,macro,samples}_{precision,recall,f1}``, ``hamming_loss`` and ``subset_accuracy``. ``samples`` is
            the average over instances.
        """
        counts = self.true_positives, self.predicted, self.support
        averages = {
            "micro": precision_recall_f1(*(count.sum() for count in counts)),
            "macro": [divide(x.sum(), len(x)) for x in precision_recall_f1(*counts)],
            "samples": divide(self._of_instances.total, self.instances),
        }
        results = {
            f"{average}_{name}": float(value)
            for average, values in averages.items()
            for name, value in zip(("precision", "recall", "f1"), values, strict=True)
        }
        wrong = self.predicted.sum() + self.support.sum() - 2 * self.true_positives.sum()
        results["hamming_loss"] = float(divide(wrong, self.instances * len(self.labels)))
        results["subset_accuracy"] = float(divide(self._exact, self.instances))
        return results
