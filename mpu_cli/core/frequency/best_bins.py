"""What annotations allow of the label frequency: they do not show how pure the best bins are.

Where every true label is annotated with the chance c, the share annotated of any set of instances is at most c, and c
where all of them have the label. So the share of the best bins is a lower bound, if they were not chosen by the same
annotations: bins and labels are chosen on all folds but one, and their share is taken on that one.

How much larger c is depends on the share of the bins that truly has the label. Nothing shows it; in simulations it is
rarely less than 1 / `IMPURITY`. docs/choices/label-frequency.md, "The interval of c", has how often the interval holds
the truth.
"""

import numpy as np
from scipy.special import betaincinv

# How many standard errors the share of a bin is certain by where it is chosen.
_Z = 6.0
# A bin with fewer annotated instances is luck.
_FEWEST = 10
# Instances of bins count for fewer: scores of one fold know annotations of the others.
_DESIGN = 1.5
_OUTSIDE = 0.05
# How many times the share of the best bins c may be.
IMPURITY = 1.4


def share_of_best_bins(
    probabilities: np.ndarray, annotated: np.ndarray, counted: np.ndarray, folds: np.ndarray
) -> tuple[float, float]:
    """Return a 90 % interval of the share annotated in bins that other folds choose.

    `probabilities`: float32, shape (n, q): out-of-fold Pr(s=1 | x).
    `annotated`, `counted`: bool, shape (n, q): as of `estimators.Cells`.
    `folds`: int, shape (n,): the fold of each instance.
    """
    numbers, of_rows = np.unique(folds, return_inverse=True)
    m = len(numbers)
    # Of few annotations models differ in how high they score: then a bin has the same share of every fold.
    scores = probabilities, _shares(probabilities, of_rows, m)
    return max(_ends(*_held_out(by, annotated, counted, of_rows, m)) for by in scores)


def _ends(positives: np.ndarray, size: np.ndarray) -> tuple[float, float]:
    """Return the ends of a 90 % interval of a share, by the annotated and all cells of each instance in bins."""
    k, n = float(positives.sum()), float(size.sum())
    if not n:
        return 1e-6, 1.0
    share = k / n
    variance = float(((positives - share * size) ** 2).sum()) / n
    design = max(_DESIGN, variance / max(share * (1 - share), 1e-9) if 0 < share < 1 else 1.0)
    a, b = k / design + 0.5, (n - k) / design + 0.5
    low, high = betaincinv(a, b, [_OUTSIDE, 1 - _OUTSIDE])
    return float(low), float(high) if k < n else 1.0


def _held_out(
    probabilities: np.ndarray, annotated: np.ndarray, counted: np.ndarray, folds: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """Count annotated cells and all cells of each instance in bins chosen on other folds: two arrays, shape (n,)."""
    n, q = annotated.shape
    chosen, thresholds = np.zeros((2, m, q)), np.full((m, q), np.inf, np.float32)
    for k in np.flatnonzero(annotated.any(axis=0)).tolist():
        rows = np.flatnonzero(counted[:, k])
        order = rows[np.argsort(-probabilities[rows, k], kind="stable")]
        ranked, s, fold = probabilities[order, k], annotated[order, k], folds[order]
        # A best bin ends with an annotated instance, and others of the same score.
        ends = np.unique(np.searchsorted(-ranked, -ranked[s], side="right")) - 1
        for f in range(m):
            others = fold != f
            size, positives = np.cumsum(others)[ends], np.cumsum(others & s)[ends]
            enough = positives >= max(min(_FEWEST, positives[-1]), 1)
            if enough.any():
                best = int(np.argmax(np.where(enough, _lower(positives, np.maximum(size, 1)), -1)))
                thresholds[f, k], chosen[:, f, k] = ranked[ends[best]], (positives[best], size[best])
    positives, sizes = np.zeros((2, n))
    for f in range(m):
        columns, rows = _best_pool(*chosen[:, f]), np.flatnonzero(folds == f)
        cells = np.ix_(rows, columns)
        inside = (probabilities[cells] >= thresholds[f, columns]) & counted[cells]
        positives[rows], sizes[rows] = (inside & annotated[cells]).sum(axis=1), inside.sum(axis=1)
    return positives, sizes


def _shares(scores: np.ndarray, folds: np.ndarray, m: int) -> np.ndarray:
    """Return the mean rank of each score among those of its fold for a label, as a share: float32, shape (n, q)."""
    shares = np.empty(scores.shape, np.float32)
    for f in range(m):
        rows = np.flatnonzero(folds == f)
        for k, ordered in enumerate(np.sort(scores[rows], axis=0).T):
            below, reached = (np.searchsorted(ordered, scores[rows, k], side) for side in ("left", "right"))
            shares[rows, k] = (below + reached + 1) / (2 * len(rows))
    return shares


def _best_pool(positives: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return which labels' bins to pool, best first, as long as that raises the lower bound of their share."""
    there = np.flatnonzero(sizes > 0)
    if not len(there):
        return there
    order = there[np.argsort(-_lower(positives[there], sizes[there]), kind="stable")]
    bounds = _lower(np.cumsum(positives[order]), np.cumsum(sizes[order]))
    return order[: int(np.argmax(bounds)) + 1]


def _lower(successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Lower end of the score interval of a share (Wilson, JASA 1927)."""
    n, p = trials, successes / trials
    z2 = _Z * _Z
    lower: np.ndarray = (p + z2 / (2 * n) - _Z * np.sqrt(p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return lower
