"""Decisions of exactly k labels for an instance that serve rare labels too.

The k most probable labels have the largest precision at k, and hardly ever a rare label among them. The decisions that
maximise macro-F1 or coverage of calibrated probabilities p are the k labels with the largest weight * p + offset, found
step by step by the method of Frank and Wolfe (docs/method.md, "Thresholds"; Schultheis, Wydmuch, Kotlowski, Babbar and
Dembczynski, "Consistent algorithms for multi-label classification with macro-at-k metrics", ICLR 2024).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.predictions import Predictions, Top
from mpu_cli.core.options import MACRO_F1

_STEPS = 40
# The shares of the new decisions in the mixture that are tried in each step.
_SHARES = np.linspace(0, 1, 101)[1:]
# Instances that are decided at a time.
_ROWS = 1 << 13


class _Rates(NamedTuple):
    """True positives and predictions of each label, per instance: shape (q,)."""

    true_positives: np.ndarray
    predicted: np.ndarray

    def towards(self, other: "_Rates", share: float) -> "_Rates":
        return _Rates(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class TopK:
    """The score that the k labels of an instance are chosen by."""

    k: int
    aim: str  # {"macro-f1", "coverage"}
    # `weights`, `offsets`: float32, shape (q,): of the calibrated probability of each label
    weights: np.ndarray = field(repr=False)
    offsets: np.ndarray = field(repr=False)

    def chosen(self, probabilities: Predictions, allowed: np.ndarray | None = None) -> csr_array:
        """Return the probabilities of the k labels with the largest scores, of equals the first.

        `probabilities`: ndarray or csr_array of float32, shape (n, q): of many labels only those that are stored are
        chosen from.
        `allowed`: bool, shape (q,): the labels to choose from. Default: all.
        Returns: float32, shape (n, q): k entries in each row, or as many as there are to choose from; columns ascend.

        Examples
        --------
        >>> half_as_much = TopK(1, "coverage", np.array([1, 0.5], np.float32), np.zeros(2, np.float32))
        >>> half_as_much.chosen(np.array([[0.5, 0.9], [0.1, 0.9]], np.float32)).indices.tolist()
        [0, 1]
        """
        n, q = probabilities.shape
        if isinstance(probabilities, np.ndarray) and allowed is None and self.k < q:
            kept = Top(self.k, -np.inf).of_dense(probabilities * self.weights + self.offsets)
            rows = np.repeat(np.arange(n), self.k)
            return csr_array((probabilities[rows, kept.indices], kept.indices, kept.indptr), shape=(n, q))
        if isinstance(probabilities, np.ndarray):
            rows, columns = (index.ravel() for index in np.indices((n, q)))
            p = probabilities.ravel()
        else:
            rows = np.repeat(np.arange(n), np.diff(probabilities.indptr))
            columns, p = probabilities.indices, probabilities.data
        if allowed is not None:
            among = allowed[columns]
            rows, columns, p = rows[among], columns[among], p[among]
        order = np.lexsort((columns, -(p * self.weights[columns] + self.offsets[columns]), rows))
        count = np.bincount(rows, minlength=n)
        place = np.arange(len(rows)) - (np.cumsum(count) - count)[rows]
        kept = np.sort(order[place < self.k])
        indptr = np.concatenate([[0], np.cumsum(np.minimum(count, self.k))])
        return csr_array((p[kept], columns[kept], indptr), shape=(n, q))

    def _rates(self, probabilities: Predictions) -> _Rates:
        n, q = probabilities.shape
        counts = np.zeros((2, q))
        for start in range(0, n, _ROWS):
            chosen = self.chosen(probabilities[start : start + _ROWS])
            counts += [np.bincount(chosen.indices, chosen.data, minlength=q), np.bincount(chosen.indices, minlength=q)]
        return _Rates(*(counts / n))


@dataclass(frozen=True)
class ExpectedAtK:
    """What decisions of k labels are expected to reach on complete labels."""

    # `precision`, `aim`: precision at k, and macro-F1 or coverage
    precision: float
    aim: float
    # `precision_by_probability`, `aim_by_probability`: the same of the k most probable labels
    precision_by_probability: float
    aim_by_probability: float


def best_top_k(probabilities: Predictions, k: int, aim: str) -> tuple[TopK, ExpectedAtK]:
    """Find the decisions of k labels with the largest expected sum of precision at k and macro-F1, or coverage.

    So precision at k is expected to fall by no more than the other rises. Macro-F1 is over the labels of which an
    instance is expected; coverage is the share of the labels that are expected to be predicted rightly at least once
    in n instances.

    `probabilities`: ndarray or csr_array of float32, shape (n, q): out of fold, calibrated.
    `k`: at most q labels are decided.
    `aim`: {"macro-f1", "coverage"}.

    The method of Frank and Wolfe finds a mixture of decisions. Of its steps, the one with the largest sum is returned;
    the first is the rule of the k most probable labels.

    Examples
    --------
    The second label is nowhere the most probable one.

    >>> p = np.array([[0.9, 0.1], [0.9, 0.8], [0.7, 0.1], [0.8, 0.2]], np.float32)
    >>> rule, expected = best_top_k(p, 1, "macro-f1")
    >>> rule.chosen(p).indices.tolist()
    [0, 1, 0, 0]
    >>> [round(x, 2) for x in (expected.precision, expected.precision_by_probability)]
    [0.8, 0.82]
    >>> [round(x, 2) for x in (expected.aim, expected.aim_by_probability)]
    [0.74, 0.45]
    """
    n, q = probabilities.shape
    k = min(k, q)
    value, slopes = _macro_f1(probabilities) if aim == MACRO_F1 else _coverage(n, q)

    def precision(rates: _Rates) -> float:
        return float(rates.true_positives.sum()) / k

    best = first = TopK(k, aim, np.ones(q, np.float32), np.zeros(q, np.float32))
    best_rates = first_rates = mixed = first._rates(probabilities)
    for _ in range(_STEPS):
        weights, offsets = slopes(mixed)
        weights = weights + 1 / k
        largest = weights.max()
        step = TopK(k, aim, (weights / largest).astype(np.float32), (offsets / largest).astype(np.float32))
        rates = step._rates(probabilities)
        if precision(rates) + value(rates) > precision(best_rates) + value(best_rates):
            best, best_rates = step, rates
        mixtures = [mixed.towards(rates, share) for share in _SHARES.tolist()]
        sums = [precision(mixture) + value(mixture) for mixture in mixtures]
        if max(sums) <= precision(mixed) + value(mixed):
            break
        mixed = mixtures[int(np.argmax(sums))]
    numbers = (precision(best_rates), value(best_rates), precision(first_rates), value(first_rates))
    return best, ExpectedAtK(*numbers)


_Value = Callable[[_Rates], float]
# The derivatives of a value by true positives and by predictions of each label.
_Slopes = Callable[[_Rates], tuple[np.ndarray, np.ndarray]]


def _macro_f1(probabilities: Predictions) -> tuple[_Value, _Slopes]:
    true = np.asarray(probabilities.sum(axis=0, dtype=float)).ravel() / probabilities.shape[0]
    expected = true > 0
    n_expected = max(int(expected.sum()), 1)

    def value(rates: _Rates) -> float:
        return float((2 * rates.true_positives[expected] / (rates.predicted + true)[expected]).sum()) / n_expected

    def slopes(rates: _Rates) -> tuple[np.ndarray, np.ndarray]:
        both = np.where(expected, rates.predicted + true, np.inf) * n_expected
        offsets = -2 * rates.true_positives * n_expected / both**2
        return 2 / both, np.where(expected, offsets, offsets.min())  # of others there is nothing to gain

    return value, slopes


def _coverage(n: int, q: int) -> tuple[_Value, _Slopes]:
    def missed(rates: _Rates) -> np.ndarray:
        return np.exp(-n * rates.true_positives)

    return lambda rates: 1 - float(missed(rates).mean()), lambda rates: (n * missed(rates) / q, np.zeros(q))
