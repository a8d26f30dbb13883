"""The ceiling of the share annotated, by score: docs/method.md, "Frequencies of single labels"."""

from collections.abc import Iterable

import numpy as np
from scipy.special import expit, log_expit, xlog1py

# The grid of ceilings.
CEILINGS = np.geomspace(0.02, 1, 40)
# Bins of instances with similar scores, narrow at the top, where the ceiling shows.
_BINS = 40
_TOP_BIN = 5
# Standard deviations of the normal priors of a and b, in units of the spread of z: without them, the slope of
# perfectly ordered annotations would be infinite.
_SLOPE, _OFFSET = 8.0, 20.0
_ITERATIONS = 40
_CONVERGED = 1e-3
Curve = tuple[np.ndarray, np.ndarray]


def likelihoods(labels: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the likelihood of each of `CEILINGS` at its best curve, scaled to a maximum of 1 for each label.

    `labels`: the probabilities and annotations of each of q labels.
    Returns: float64, shape (G, q).
    """
    # Of each label's bins: mean z, number of instances, and of annotated ones: shape (3, q, bins)
    return _likelihood(*np.reshape([_binned(*label) for label in labels], (-1, 3, _BINS)).swapaxes(0, 1))


def common_ceiling(likelihood: np.ndarray) -> list[float]:
    """Return the 5, 50 and 95 % quantiles of a ceiling that all labels share; `likelihood`: as for `quantiles`."""
    logs = np.log(np.maximum(likelihood, np.finfo(float).tiny)).sum(axis=1, keepdims=True)
    return list(map(float, quantiles(np.exp(logs - logs.max()), [0.05, 0.5, 0.95])[:, 0]))


def quantiles(likelihood: np.ndarray, shares: list[float]) -> np.ndarray:
    """Return these quantiles of each label's ceiling, with a uniform prior: float64, shape (r, q).

    `likelihood`: float64, shape (G, q): of each of `CEILINGS`.
    """
    edges = np.append(np.sqrt(CEILINGS[:-1] * CEILINGS[1:]), 1.0)
    posterior = likelihood * CEILINGS[:, None]  # the grid is logarithmic
    below = np.cumsum(posterior / posterior.sum(axis=0), axis=0)
    return np.transpose([np.interp(shares, of_label, edges) for of_label in below.T])


def _likelihood(z: np.ndarray, size: np.ndarray, positives: np.ndarray) -> np.ndarray:
    there = size > 0
    count = there.sum(axis=1, keepdims=True)
    centred = np.where(there, z - np.where(there, z, 0).sum(axis=1, keepdims=True) / count, 0)
    x = centred / np.maximum(np.sqrt((centred**2).sum(axis=1, keepdims=True) / count), 1e-9)
    share = np.clip(positives.sum(axis=1) / size.sum(axis=1), 1e-4, 0.9)
    curve = np.ones(len(z)), np.log(share / (1 - share))
    log_likelihood = np.empty((len(CEILINGS), len(z)))
    for i in reversed(range(len(CEILINGS))):  # each fit starts at the result of the last
        curve, log_likelihood[i] = _fit(x, size, positives, float(CEILINGS[i]), curve)
    return np.exp(log_likelihood - log_likelihood.max(axis=0))


def _binned(probabilities: np.ndarray, annotated: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin instances by score; return each bin's mean z, number of instances and number of annotated ones."""
    if not len(annotated):  # every cell of the label is ignored
        probabilities, annotated = np.full(1, 0.5), np.zeros(1, bool)
    order = np.argsort(-probabilities, kind="stable")
    p = np.clip(probabilities[order].astype(float), 1e-7, 1 - 1e-7)
    z = np.log(p) - np.log1p(-p)
    ends = np.round(np.geomspace(min(_TOP_BIN, len(order)), len(order), _BINS)).astype(int)
    ends = np.searchsorted(-z, -z[ends - 1], side="right")  # equal scores are in one bin
    size = np.diff(ends, prepend=0)
    total, positives = (np.diff(np.append(0, np.cumsum(part))[ends], prepend=0) for part in (z, annotated[order]))
    return total / np.maximum(size, 1), size, positives


def _fit(x: np.ndarray, size: np.ndarray, positives: np.ndarray, c: float, curve: Curve) -> tuple[Curve, np.ndarray]:
    """Fit c sigma(a x + b) for each label by Fisher scoring; return a and b, and their log likelihood."""
    a, b = curve
    reached, length = _log_likelihood(x, size, positives, c, a, b), np.ones(len(a))
    moving = np.arange(len(a))  # the labels whose fit has not converged
    for _ in range(_ITERATIONS):
        z, n, hits, a_now, b_now = (part[moving] for part in (x, size, positives, a, b))
        p = expit(a_now[:, None] * z + b_now[:, None])
        unsure = c * (1 - p) / np.maximum(1 - c * p, 1e-12)
        gradient = hits * (1 - p) - (n - hits) * p * unsure
        weight = n * p * (1 - p) * unsure
        to_a, to_b = (gradient * z).sum(axis=1) - a_now / _SLOPE**2, gradient.sum(axis=1) - b_now / _OFFSET**2
        aa, ab, bb = (
            (weight * z * z).sum(axis=1) + _SLOPE**-2,
            (weight * z).sum(axis=1),
            weight.sum(axis=1) + _OFFSET**-2,
        )
        falls = (a_now == 0) & (to_a < 0)  # the curve never falls: then only b moves
        to_a[falls] = ab[falls] = 0
        share = length[moving] / (aa * bb - ab * ab)
        step_a, step_b = share * (bb * to_a - ab * to_b), share * (aa * to_b - ab * to_a)
        new_a, new_b = np.maximum(a_now + step_a, 0), b_now + step_b
        gained = _log_likelihood(z, n, hits, c, new_a, new_b) - reached[moving]
        better = gained > 0
        rows = moving[better]
        a[rows], b[rows] = new_a[better], new_b[better]
        reached[rows] += gained[better]
        length[moving] = np.where(better, 1.0, length[moving] / 2)
        still = np.where(better, gained, step_a * to_a + step_b * to_b)  # to be gained
        moving = moving[still >= _CONVERGED]
        if not len(moving):
            break
    return (a, b), reached


def _log_likelihood(
    x: np.ndarray, size: np.ndarray, positives: np.ndarray, c: float, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    score = a[:, None] * x + b[:, None]
    missed = xlog1py(size - positives, -np.minimum(c * expit(score), 1 - 1e-12))
    of_bins = positives * (np.log(c) + log_expit(score)) + missed
    log_likelihood: np.ndarray = of_bins.sum(axis=1) - (a / _SLOPE) ** 2 / 2 - (b / _OFFSET) ** 2 / 2
    return log_likelihood
