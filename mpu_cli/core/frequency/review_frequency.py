"""The label frequency of every label from complete label sets.

They come from instances drawn at random and reviewed, or from a second file from the same population: docs/method.md,
"Frequencies from complete label sets".
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaincinv

from mpu_cli.core.frequency.estimators import FrequencyEstimate
from mpu_cli.core.frequency.posterior import (
    FOR_ONE,
    Posterior,
    binomial,
    of_labels,
    of_one,
    ratio_of_means,
    two_shares,
)
from mpu_cli.core.labels.problem import Problem, Verdict, VerifiedLabels, least_frequencies
from mpu_cli.errors import DataError, counted

# Probability outside reported intervals, and outside those used to compare annotations with human decisions.
OUTSIDE, _SURELY_OUTSIDE = 0.1, 0.01


@dataclass(frozen=True)
class ReviewedFrequency:
    """The label frequency estimated from human decisions.

    Attributes
    ----------
    c : float
        The annotated share of all true labels, in (0, 1].
    interval : tuple of two floats
        90 % credible interval of c.
    rates : ndarray of float64, shape (q,)
        Label frequency of each label, in (0, 1]: posterior means.
    intervals : ndarray of float64, shape (q, 2)
        90 % credible interval of each. None of these is below the share of the cells that is annotated.
    instances : int
        Number of instances with complete label sets.
    true : ndarray of int, shape (q,)
        True labels of these instances.
    limits : tuple of two floats
        99 % credible interval of c.
    answers, yes : int
        Number of answers to questions, and of yes answers (the label is true).
    """

    c: float
    interval: tuple[float, float]
    rates: np.ndarray
    intervals: np.ndarray
    instances: int
    true: np.ndarray
    limits: tuple[float, float]
    answers: int = 0
    yes: int = 0

    @property
    def basis(self) -> str:
        """Describe the data of the estimate."""
        sets = f"{self.instances:,} complete label sets"
        if not self.answers:
            return sets
        return counted(self.answers, "answer") + f" and {sets}" * bool(self.instances)

    def contradiction(self, by_annotations: FrequencyEstimate | None) -> str | None:
        """Return a warning if a predictable estimate from annotations alone differs; else None."""
        low, high = self.limits
        if by_annotations is None or not by_annotations.predictable or by_annotations.one_label_each:
            return None
        least, most = by_annotations.interval or (by_annotations.c, by_annotations.c)
        if low <= most and least <= high:
            return None
        return (
            f"annotations alone give c = {by_annotations.c:.3f}, and {self.basis} give {self.c:.3f} "
            f"({low:.3f} to {high:.3f}, 99 % interval), which is used; labels are not missing by chance alone"
        )


def from_review(
    labels: csr_array, verified: VerifiedLabels, sampled: np.ndarray, automatic: float | None = None
) -> ReviewedFrequency:
    """Estimate c from instances that were drawn at random and completely reviewed.

    `labels`: bool, shape (n, q): labels annotated before the review.
    `verified`: the result of the review. Ignored cells, and annotations found false, do not count.
    `sampled`: int, shape (m,): the instances drawn. Their label sets are complete in `verified`.
    `automatic`: an estimate of c from annotations alone, which counts as much as two true labels.
    Raises DataError (the label set of a sampled instance is not complete).

    Both labels are true in each of 40 instances. Label 0 was annotated in all of them, label 1 in ten.

    >>> S = np.array([[1, 1]] * 10 + [[1, 0]] * 40, bool)
    >>> rows = np.arange(40)
    >>> verified = VerifiedLabels.of(S.shape, true=(rows, np.ones(40, int)), complete=rows)
    >>> estimate = from_review(csr_array(S), verified, rows)
    >>> round(estimate.c, 2), estimate.rates.round(2).tolist()
    (0.62, [1.0, 0.27])
    """
    true, kept = of_review(labels, verified, sampled)
    (n_of_instance, n), (a_of_instance, a) = ([_sums(part, axis) for axis in (1, 0)] for part in (true, kept))
    effect = _design_effect(a_of_instance, n_of_instance)
    overall = binomial(np.array([[a.sum(), n.sum()]]) / effect, FOR_ONE)
    by_label = of_labels(np.column_stack([a, n]), _sums(labels, 0), binomial, automatic)
    of_all, of_each = (
        replace(found, none_missing=bool((a == n).all())) for found in (of_one(overall, automatic), by_label)
    )
    return summarised(of_all, of_each, true.shape[0], n, least_frequencies(labels, verified))


def reviewed_counts(problem: Problem) -> np.ndarray | None:
    """Count the true labels of the reviewed random instances that were annotated, and all: float64, shape (q, 2)."""
    if problem.verified is None or problem.sampled is None:
        return None
    true, kept = of_review(problem.labels, problem.verified, problem.sampled)
    return np.column_stack([_sums(kept, 0), _sums(true, 0)])


def of_review(labels: csr_array, verified: VerifiedLabels, sampled: np.ndarray) -> tuple[csr_array, csr_array]:
    """Return the true labels of the sampled instances, without implied ones, and those that were annotated."""
    rows = _complete_rows(verified, sampled)
    annotated, known = labels[rows].astype(bool), verified.rows(rows)
    true = known.without_implied(known.part(annotated)[1].astype(bool))
    return true, true.multiply(annotated)


def from_second_file(
    labels: csr_array, verified: VerifiedLabels, second: np.ndarray, automatic: float | None = None
) -> ReviewedFrequency:
    """Estimate c as the ratio of label shares in this file and in a complete second one from the same population.

    The instances of both files are in one matrix. The label sets of `second`, the instances of the second file, are
    complete in `verified`. Other complete instances do not count.
    Raises DataError (a label set of the second file is not complete).

    The only label has a share of 0.3 in the first file and of 0.6 in the second.

    >>> second = np.arange(1000, 2000)
    >>> both = csr_array((np.arange(2000) % 1000 < np.repeat([300, 600], 1000))[:, None])
    >>> estimate = from_second_file(both, VerifiedLabels.of(both.shape, complete=second), second)
    >>> round(estimate.c, 2), [round(end, 2) for end in estimate.interval]
    (0.5, [0.46, 0.55])
    """
    rows = _complete_rows(verified, second)
    first = np.setdiff1d(np.flatnonzero(verified.instances == Verdict.UNKNOWN), rows)
    annotated = verified.rows(first).left_to_chance().part(labels[first])[0]
    true = verified.rows(rows).part(labels[rows])[1]
    n, m = len(first), len(rows)
    s, y = (_sums(part, 0) for part in (annotated, true))
    overall = ratio_of_means(_sums(annotated, 1), _sums(true, 1), FOR_ONE)
    by_label = of_labels(np.column_stack([s, y]), s, partial(two_shares, n=n, m=m), automatic)
    return summarised(
        of_one(overall, automatic), by_label, m, y, least_frequencies(labels[first], verified.rows(first))
    )


def instances_to_review(width: float, c: float, labels_per_instance: float) -> int:
    """Return how many instances to review for a 90 % interval of c with the given width.

    `width`: upper minus lower end of the interval, above 0.
    `c`: the expected c, in (0, 1]; 0.5 needs the most instances.
    `labels_per_instance`: true labels per instance, above 0; for a single label, to plan for the interval of its c.
    Returns: at least 1. More are needed if the labels of an instance tend to go missing together.

    >>> [instances_to_review(width, c=0.5, labels_per_instance=2.5) for width in (0.2, 0.1, 0.05)]
    [26, 108, 432]
    """

    def is_enough(m: int) -> bool:
        true = m * labels_per_instance
        low, high = betaincinv(c * true + 1, (1 - c) * true + 1, [OUTSIDE / 2, 1 - OUTSIDE / 2])
        return not high - low > width  # SciPy 1.13 returns NaN for huge numbers

    numbers = range(1, 1 << 40)
    return numbers[bisect_left(numbers, True, key=is_enough)]


def _complete_rows(verified: VerifiedLabels, rows: np.ndarray) -> np.ndarray:
    """Return the instances, ascending, without duplicates; DataError if a label set is not complete."""
    rows = np.unique(rows)
    if len(unfinished := rows[verified.instances[rows] != Verdict.FALSE]):
        raise DataError(
            f"c is estimated from complete label sets, and instance {unfinished[0]} has none: say that none of "
            "its other labels is true, or that it was not drawn at random"
        )
    return rows


def _design_effect(kept: np.ndarray, true: np.ndarray) -> float:
    """Return the variance of the share of kept labels relative to a binomial one; at least 1.

    It is larger if the labels of an instance go missing together: the variance of a ratio of sums over m instances
    (Cochran, Sampling Techniques, 1977, Section 6.4), divided by that of a binomial share.
    """
    m, n = np.count_nonzero(true), true.sum()
    share = kept.sum() / max(n, 1)
    if m < 2 or share in (0, 1):
        return 1.0
    of_ratio = ((kept - share * true) ** 2).sum() * m / (m - 1) / n**2
    return float(max(of_ratio / (share * (1 - share) / n), 1))


def summarised(
    overall: Posterior, by_label: Posterior, instances: int, true: np.ndarray, least: tuple[np.ndarray, float]
) -> ReviewedFrequency:
    """Summarise the posteriors of c for all labels and for each.

    `true`: true labels of the instances, shape (q,).
    `least`: from `least_frequencies`.
    """
    of_each, of_all = least
    [(low, high)], [(surely_low, surely_high)] = (
        np.maximum(overall.interval(p), of_all).tolist() for p in (OUTSIDE, _SURELY_OUTSIDE)
    )
    return ReviewedFrequency(
        max(float(overall.mean()[0]), of_all),
        (low, high),
        np.maximum(by_label.mean(), of_each),
        np.maximum(by_label.interval(OUTSIDE), of_each[:, None]),
        instances,
        true.astype(np.int64),
        (surely_low, surely_high),
    )


def _sums(labels: csr_array, axis: int) -> np.ndarray:
    return np.asarray(labels.sum(axis=axis, dtype=float))
