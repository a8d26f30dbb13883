"""How labels are removed: of all labels alike, or of each label at a rate of its own."""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import only_entries

_SPREAD = 0.8  # how far the rates of labels are from their mean, by the distance of that from 0 or 1


def rows_of(sizes: np.ndarray) -> np.ndarray:
    """Return the row of each label."""
    return np.repeat(np.arange(len(sizes)), sizes)


class LabelDraw:
    """Draw labels by rates: each label has one of its own, uniform about the missing rate.

    With `keep_one`, the label of an instance stays that was nearest to it.
    """

    def __init__(self, labels: np.ndarray, missing_rate: float, keep_one: bool, seed: int | tuple[int, ...]) -> None:
        """Draw the rates of labels, the numbers of which ascend."""
        kept = 1 - missing_rate
        width = min(kept, 1 - kept) * _SPREAD
        self._rng = np.random.default_rng(seed)
        self._kept = np.append(self._rng.uniform(kept - width, kept + width, len(labels)), 0)
        self._labels = labels
        self._keep_one = keep_one

    def __call__(self, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return which labels of the next instances are drawn: bool, shape (sum of sizes,)."""
        order = np.lexsort((labels, rows_of(sizes)))
        margin = self._kept[np.searchsorted(self._labels, labels)]
        margin[order] -= self._rng.random(len(labels))
        drawn = margin <= 0
        if self._keep_one and len(labels):
            labelled = sizes > 0
            first = (np.cumsum(sizes) - sizes)[labelled]
            drawn &= margin < np.repeat(np.maximum.reduceat(margin, first), sizes[labelled])
        return drawn


def remove_labels(labels: csr_array, missing_rate: float, seed: tuple[int, ...], scheme: str = "uniform") -> csr_array:
    """Remove a share of all labels uniformly, or each label at a rate of its own.

    With the same seed, labels removed at one rate are also removed at a higher one. So a curve over rates does not vary
    by the draw. (`mpu corrupt`, which never has all labels in memory, cannot do this.) Labels are csr_array of bool,
    shape (n, q), before and after.
    """
    if scheme == "label":
        draw = LabelDraw(np.arange(labels.shape[1]), missing_rate, False, seed)
        return only_entries(labels, ~draw(labels.indices, np.diff(labels.indptr)))
    order = np.random.default_rng(seed).permutation(labels.nnz)
    keep = np.ones(labels.nnz, bool)
    keep[order[: round(missing_rate * labels.nnz)]] = False
    return only_entries(labels, keep)
