"""Sparse weights of many labels: pruned, put together from blocks of labels, and arranged for prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack

from mpu_cli.core.features import Columns, entry_rows, only_entries
from mpu_cli.core.predictions import LEAST

# From this share of weights in a row on, to add all of it takes less time than to add its weights one by one: frequent
# features have weights for many labels, and most of the products are theirs. It takes twice the memory at most.
_DENSE_FROM = 0.25


@dataclass(frozen=True)
class WeightRows:
    """Weights of D features and q labels. Made by `of`."""

    sparse: csr_array  # float32, shape (D, q): all weights; or none, where all rows are dense
    dense: np.ndarray  # float32, shape (m, q): the rows with many weights
    place: np.ndarray  # int32, shape (D,): where a row is among the dense ones; -1 for the others

    @classmethod
    def of(cls, weights: np.ndarray | csr_array) -> "WeightRows":
        """Take weights of shape (D, q)."""
        D, q = weights.shape
        if isinstance(weights, np.ndarray):
            return cls(csr_array((D, q), dtype=np.float32), weights, np.arange(D, dtype=np.int32))
        many = np.flatnonzero(np.diff(weights.indptr) >= _DENSE_FROM * q)
        place = np.full(D, -1, np.int32)
        place[many] = np.arange(len(many), dtype=np.int32)
        return cls(weights, weights[many].toarray(), place)

    def product(self, matrix: csr_array) -> np.ndarray:
        """Return the product of features (n x D) and weights: float32, n x q."""
        scores = (matrix @ self._rest).toarray()
        if len(self.dense):
            scores += self._columns.of(matrix) @ self.dense
        return scores

    @cached_property
    def _columns(self) -> Columns:
        """The features of the dense rows."""
        return Columns(np.flatnonzero(self.place >= 0).astype(np.int32), len(self.place))

    @cached_property
    def _rest(self) -> csr_array:
        """The weights that are in no dense row."""
        return only_entries(self.sparse, self.place[entry_rows(self.sparse)] < 0)


def pruned(weights: np.ndarray, least: float) -> csr_array:
    """Return the weights of at least this absolute value in a sparse matrix."""
    flat = weights.ravel()
    kept = np.flatnonzero(np.abs(flat) >= np.float32(max(least, LEAST)))  # several times as fast as in two dimensions
    rows, columns = np.divmod(kept, max(weights.shape[1], 1))
    indptr = np.searchsorted(rows, np.arange(len(weights) + 1))
    return _with_small_indices(flat[kept], columns, indptr, weights.shape)


def with_rows(weights: csr_array, rows: Columns) -> csr_array:
    """Put rows of weights at their places among all features; the other rows are empty."""
    sizes = np.zeros(rows.width, np.int64)
    sizes[rows.indices] = np.diff(weights.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return _with_small_indices(weights.data, weights.indices, indptr, (rows.width, weights.shape[1]))


def joined(blocks: Sequence[csr_array], labels: Sequence[np.ndarray]) -> csr_array:
    """Put the weights of blocks of labels together.

    `blocks`: sequence of csr_array of float32, shape (D, k).
    `labels`: sequence of ndarray of int, shape (k,): the labels of each block: every label is in one of them.
    Returns: float32, shape (D, q).

    >>> blocks = [csr_array(np.float32([[5, 7]])), csr_array(np.float32([[6]]))]
    >>> both = joined(blocks, [np.array([0, 2]), np.array([1])])
    >>> both.toarray().tolist(), both.indices.tolist()
    ([[5.0, 6.0, 7.0]], [0, 1, 2])
    """
    side_by_side = hstack(blocks, format="csr")
    labels_of_columns = np.concatenate(labels).astype(np.int32)[side_by_side.indices]
    weights = _with_small_indices(side_by_side.data, labels_of_columns, side_by_side.indptr, side_by_side.shape)
    weights.sort_indices()
    return weights


def _with_small_indices(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """Return a sparse matrix whose indices have 32 bits, where SciPy allows it: not if `indptr` needs more."""
    if len(data) <= np.iinfo(np.int32).max:
        indices, indptr = indices.astype(np.int32, copy=False), indptr.astype(np.int32, copy=False)
    return csr_array((data, indices, indptr), shape=shape)
