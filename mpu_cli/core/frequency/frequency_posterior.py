"""The posterior of the label frequency c on a grid, of one share or of many labels together.

Labels inform each other by a beta-binomial model whose mean mu and concentration alpha are integrated over a grid:
docs/method.md, "Frequencies from complete label sets".
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betainc, xlog1py, xlogy

# The prior of mu in observations, and at least for each of annotated and missing.
_PRIOR_OBSERVATIONS = 2.0
_PRIOR_AT_LEAST = 0.05
_ALPHAS = np.geomspace(1, 1000, 16)


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


# Cells of at most 0.006 for labels, which are many, and of 0.0002 for one share.
FOR_LABELS = Grid.of(256)
FOR_ONE = Grid.of(8192)
_FOR_MU = Grid.of(128)


@dataclass(frozen=True)
class Posterior:
    """The posterior of some shares."""

    grid: Grid
    probability: np.ndarray  # float64, shape (p, J): of each cell, for p different posteriors; rows sum to 1
    place: np.ndarray  # int, shape (r,): the row of each share
    none_missing: bool = False  # whether people found no missing label: then intervals end at 1

    def mean(self) -> np.ndarray:
        """Return the mean of each share: float64, shape (r,), in (0, 1)."""
        return (self.probability @ self.grid.c)[self.place]

    def interval(self, outside: float) -> np.ndarray:
        """Return intervals with this probability outside, half on either side: float64, shape (r, 2)."""
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
    return Posterior(
        FOR_ONE, _normalised(_beta_cells(*_prior(automatic), FOR_ONE) * _exp(log_likelihood)), np.zeros(1, int)
    )


def of_labels(
    counts: np.ndarray, log_likelihood: Callable[[np.ndarray, Grid], np.ndarray], automatic: float | None = None
) -> Posterior:
    """Return the posteriors of labels that inform each other.

    `counts`: ndarray, shape (q, 2): two counts of each label. Work is done once for labels with equal counts.
    `log_likelihood`: `binomial` or `two_shares`.
    `automatic`: mean of the prior of mu; default 1/2.
    """
    patterns, place, count = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    likelihood = _exp(log_likelihood(patterns, FOR_LABELS))
    cells = _label_cells()
    tiny = np.finfo(float).tiny
    marginal = np.maximum(likelihood @ cells.T, tiny)
    prior = np.tile(_beta_cells(*_prior(automatic), _FOR_MU), len(_ALPHAS))
    weight = _normalised(_exp((count @ np.log(marginal) + np.log(np.maximum(prior, tiny)))[None]))
    return Posterior(FOR_LABELS, _normalised(likelihood * ((weight / marginal) @ cells)), place.ravel())


def binomial(counts: np.ndarray, grid: Grid) -> np.ndarray:
    """Log likelihood (r x J) of every c if a of n are annotated, up to a constant; `counts` (r x 2) has a and n."""
    a, n = counts[:, :1], counts[:, 1:]
    return xlogy(a, grid.c) + xlog1py(n - a, -grid.c)


def two_shares(counts: np.ndarray, grid: Grid, n: int, m: int) -> np.ndarray:
    """Log likelihood (r x J) of every c given s of n, with share c lambda, and y of m, with share lambda.

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
    """Log likelihood of every c as the ratio of the means of two samples: shape (1, J).

    The logarithm of the ratio is about normal.
    """
    log_ratio, variance = 0.0, 0.0
    for sign, values in ((1, numerators), (-1, denominators)):
        total = values.sum() + 0.5  # the share may be positive although nothing was found
        log_ratio += sign * np.log(total / len(values))
        variance += (((values - values.mean()) ** 2).sum() + 0.5) / total**2
    return -((np.log(grid.c) - log_ratio) ** 2)[None] / (2 * variance)


def _prior(automatic: float | None) -> tuple[float, float]:
    """Parameters of the Beta prior of mu."""
    annotated = _PRIOR_OBSERVATIONS * (0.5 if automatic is None else automatic)
    return max(annotated, _PRIOR_AT_LEAST), max(_PRIOR_OBSERVATIONS - annotated, _PRIOR_AT_LEAST)


@cache
def _label_cells() -> np.ndarray:
    """Probability of each cell for a label, one row for each (alpha, mu)."""
    alpha, mu = (values.reshape(-1, 1) for values in np.meshgrid(_ALPHAS, _FOR_MU.c, indexing="ij"))
    return _beta_cells(alpha * mu, alpha * (1 - mu), FOR_LABELS)


def _beta_cells(a: np.ndarray | float, b: np.ndarray | float, grid: Grid) -> np.ndarray:
    """Probability of each cell under Beta(a, b)."""
    return np.diff(betainc(a, b, grid.edges), axis=-1)


def _exp(log_values: np.ndarray) -> np.ndarray:
    """Exponentiate rows, each divided by its largest value."""
    return np.exp(log_values - log_values.max(axis=1, keepdims=True))


def _normalised(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=1, keepdims=True)
