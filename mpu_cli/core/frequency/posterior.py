"""Posteriors of one share, and of the label frequencies of many labels, on a grid.

Labels inform each other: logit c_k ~ N(mu, tau^2), integrated over a grid of mu and tau:
docs/method.md, "Frequencies from complete label sets", docs/method.md, "Frequencies from questions", and
docs/choices/reviews.md, "Questions and c".
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, expit, logit, softmax, xlog1py, xlogy

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
    `annotations`: of each label, shape (q,).
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
