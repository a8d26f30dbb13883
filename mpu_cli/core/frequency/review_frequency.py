"""The label frequency of every label from complete label sets, and posteriors of shares on a grid.

They come from instances drawn at random and reviewed, or from a second file from the same population. The grids of mu
and tau are also used with answers (`questions`): docs/method.md, "Frequencies from complete label sets".
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betainc, betaincinv, expit, logit, softmax, xlog1py, xlogy

from mpu_cli.core.frequency.estimators import FrequencyEstimate
from mpu_cli.core.problem import Problem, Verdict, VerifiedLabels, least_frequencies
from mpu_cli.errors import DataError, counted

# The prior of one share in observations, and at least for each of annotated and missing.
_PRIOR_OBSERVATIONS = 2.0
_PRIOR_AT_LEAST = 0.05


@dataclass(frozen=True)
class Grid:
    """Cells of [0, 1], equal steps on the arcsine scale, on which shares are about equally uncertain."""

    edges: np.ndarray  # float64, shape (J + 1,)
    c: np.ndarray  # float64, shape (J,): the middle of each cell

    @classmethod
    def of(cls, cells: int) -> "Grid":
        """Make a grid of this many cells."""
        half_steps = np.sin(np.linspace(0, np.pi / 2, 2 * cells + 1)) ** 2
        return cls(half_steps[::2], half_steps[1::2])


# Cells of at most 0.006, and of 0.0002 for one share.
FOR_LABELS = Grid.of(256)
FOR_ONE = Grid.of(8192)
# The grids of the log odds of c, of mu and of tau, and the standard deviation of mu; each tau is equally likely.
_STEP = 0.075
ETAS = np.arange(-4.5, 7.1, _STEP)
CELLS = Grid(expit(np.append(ETAS - _STEP / 2, ETAS[-1] + _STEP / 2)), expit(ETAS))
MUS = np.arange(-4.0, 6.1, 0.2)
TAUS = np.geomspace(0.06, 2, 6)
MU_DEVIATION = 1.5


@dataclass(frozen=True)
class Posterior:
    """The posterior of each of several shares."""

    grid: Grid
    probability: np.ndarray  # float64, shape (p, J): for each grid cell, for p different posteriors; rows sum to 1
    place: np.ndarray  # int, shape (r,): the row of each share
    none_missing: bool = False  # whether people found no missing label: then intervals end at 1

    def mean(self) -> np.ndarray:
        """Return the mean of each share: float64, shape (r,), in (0, 1)."""
        return (self.probability @ self.grid.c)[self.place]

    def interval(self, outside: float) -> np.ndarray:
        """Return intervals with this probability outside, half of it on each side: float64, shape (r, 2)."""
        below = np.hstack([np.zeros((len(self.probability), 1)), np.cumsum(self.probability, axis=1)])
        ends = [np.interp([outside / 2, 1 - outside / 2], row, self.grid.edges) for row in below]
        intervals = np.reshape(ends, (-1, 2))[self.place]
        if self.none_missing:
            intervals[:, 1] = 1.0
        return intervals


def of_one(log_likelihood: np.ndarray, automatic: float | None = None) -> Posterior:
    """Return the posterior of one share.

    `log_likelihood`: ndarray, shape (1, J): from one of the functions below, on the grid `FOR_ONE`.
    `automatic`: mean of the prior; default 1/2.
    """
    annotated = _PRIOR_OBSERVATIONS * (0.5 if automatic is None else automatic)
    a, b = max(annotated, _PRIOR_AT_LEAST), max(_PRIOR_OBSERVATIONS - annotated, _PRIOR_AT_LEAST)
    prior = np.log(np.maximum(np.diff(betainc(a, b, FOR_ONE.edges)), np.finfo(float).tiny))
    return Posterior(FOR_ONE, softmax(log_likelihood + prior, axis=1), np.zeros(1, int))


def normal(values: np.ndarray, mean: np.ndarray | float, deviation: np.ndarray | float) -> np.ndarray:
    """Return the probability of each value, in the last dimension, under a normal distribution."""
    density = np.exp(-(((values - mean) / deviation) ** 2) / 2)
    return density / density.sum(axis=-1, keepdims=True)


# A normal of each tau and mu: shape (H, J)
SHAPES = normal(ETAS, MUS[:, None], TAUS[:, None, None]).reshape(-1, len(ETAS))


def centre_of(automatic: float | None) -> float:
    """Return the centre of the prior of mu by an estimate of c from annotations alone; None: by c = 1/2."""
    return float(logit(np.clip(0.5 if automatic is None else automatic, 0.02, 0.997)))


def marginal(likelihood: np.ndarray) -> np.ndarray:
    """Return the probability of what was seen of each label under each normal: from (..., J) to (..., H)."""
    return np.maximum(likelihood @ SHAPES.T, np.finfo(float).tiny)


def of_labels(
    counts: np.ndarray,
    annotations: np.ndarray,
    log_likelihood: Callable[[np.ndarray, Grid], np.ndarray],
    automatic: float | None = None,
) -> Posterior:
    """Return the posteriors of labels that inform each other.

    `counts`: ndarray, shape (q, 2): two counts of each label. Work is done once for equal labels.
    `log_likelihood`: `binomial` or `two_shares`.
    `automatic`: the centre of the prior; default 1/2.
    """
    of_each = np.column_stack([counts, annotations])
    patterns, place, count = np.unique(of_each, axis=0, return_inverse=True, return_counts=True)
    likelihood = softmax(log_likelihood(patterns[:, :2], CELLS), axis=1)
    of_labels, prior = marginal(likelihood), np.tile(normal(MUS, centre_of(automatic), MU_DEVIATION), len(TAUS))
    weight = softmax(np.log(prior) + count @ np.log(of_labels))
    rows = with_chance(likelihood * ((weight / of_labels) @ SHAPES), patterns[:, 2])
    return Posterior(CELLS, rows, place.ravel())


def with_chance(rows: np.ndarray, annotations: np.ndarray, misfit: float = 0.0) -> np.ndarray:
    """Turn posteriors of the chance c into those of the share that is annotated: labels x log odds of c.

    With A annotations, the log odds of the share have the variance 1 / (A (1 - c)) by chance (delta method, for a
    negative binomial number of missing labels), plus that of `misfit`.
    """
    spread = np.empty_like(rows)
    distances = (ETAS - ETAS[:, None]) ** 2 / 2
    for count in np.unique(annotations):
        variance = 1 / (max(count, 0.5) * expit(-ETAS)) + misfit**2
        of_share = np.exp(-distances / variance[:, None])
        same = annotations == count
        spread[same] = rows[same] @ (of_share / of_share.sum(axis=1, keepdims=True))
    return spread


def binomial(counts: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the log likelihood (r x J) of every c for a of n annotated, up to a constant; `counts` (r x 2): a, n."""
    a, n = counts[:, :1], counts[:, 1:]
    return xlogy(a, grid.c) + xlog1py(n - a, -grid.c)


def two_shares(counts: np.ndarray, grid: Grid, n: int, m: int) -> np.ndarray:
    """Return the log likelihood (r x J) of every c given s of n, with share c lambda, and y of m, with share lambda.

    lambda maximises the likelihood at each c (Miettinen and Nurminen, "Comparative analysis of two rates", Statistics
    in Medicine 1985). `counts` (r x 2) has s and y.
    """
    s, y, c = counts[:, :1], counts[:, 1:], grid.c
    # The derivative in lambda is zero where (n + m) c lambda^2 - b lambda + s + y is; the smaller root is a share.
    b = (s + y) * (1 + c) + c * (n - s) + (m - y)
    root = np.sqrt(np.maximum(b * b - 4 * (n + m) * c * (s + y), 0))
    share = np.minimum(2 * (s + y) / (b + root), 1 - np.finfo(float).eps)  # rounding may lift it to 1
    return xlogy(s, share * c) + xlog1py(n - s, -share * c) + xlogy(y, share) + xlog1py(m - y, -share)


def ratio_of_means(numerators: np.ndarray, denominators: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the log likelihood of every c as the ratio of the means of two samples: shape (1, J).

    The logarithm of the ratio is approximately normal.
    """
    log_ratio, variance = 0.0, 0.0
    for sign, values in ((1, numerators), (-1, denominators)):
        total = values.sum() + 0.5  # the share may be positive although nothing was found
        log_ratio += sign * np.log(total / len(values))
        variance += (((values - values.mean()) ** 2).sum() + 0.5) / total**2
    return -((np.log(grid.c) - log_ratio) ** 2)[None] / (2 * variance)


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
        if by_annotations is None or not by_annotations.predictable or by_annotations.label_cap:
            return None
        least, most = by_annotations.interval
        if low <= most and least <= high:
            return None
        where = " of the other instances" * bool(self.instances)
        return (
            f"annotations{where} alone give c = {by_annotations.c:.3f}, and {self.basis} give {self.c:.3f} "
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
    true = known.without_implied(known.certain(annotated).astype(bool))
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
    annotated = verified.rows(first).left_to_chance().by_chance(labels[first])
    true = verified.rows(rows).certain(labels[rows])
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
            f"c is estimated from complete label sets, and that of instance {unfinished[0]} is not complete: "
            "mark all its other labels as false, or the instance as not drawn at random"
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
