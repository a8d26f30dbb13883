"""Sparse weights of many labels: what is left of those of a block of labels, and blocks put together."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, hstack

from mpu_cli.core.data.predictions import LEAST


def pruned(weights: np.ndarray, least: float) -> csr_array:
    """Return the weights of at least this absolute value in a sparse matrix."""
    rows, columns = np.nonzero(np.abs(weights) >= np.float32(max(least, LEAST)))
    indptr = np.searchsorted(rows, np.arange(len(weights) + 1))
    return _with_small_indices(weights[rows, columns], columns, indptr, weights.shape)


def joined(blocks: Sequence[csr_array], labels: Sequence[np.ndarray]) -> csr_array:
    """Put the weights of blocks of labels together.

    Parameters
    ----------
    blocks : sequence of csr_array of float32, shape (D, k)
    labels : sequence of ndarray of int, shape (k,)
        The labels of each block: every label is in one of them.

    Returns
    -------
    csr_array of float32, shape (D, q)

    Examples
    --------
    >>> blocks = [csr_array(np.float32([[5, 7]])), csr_array(np.float32([[6]]))]
    >>> both = joined(blocks, [np.array([0, 2]), np.array([1])])
    >>> both.toarray().tolist(), both.indices.tolist()
    ([[5.0, 6.0, 7.0]], [0, 1, 2])
    """
    side_by_side = hstack(blocks, format="csr")
    labels_of_columns = np.concatenate(labels)[side_by_side.indices]
    found = _with_small_indices(side_by_side.data, labels_of_columns, side_by_side.indptr, side_by_side.shape)
    found.sort_indices()
    return found


def _with_small_indices(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """Return a sparse matrix whose indices have 32 bits, where SciPy allows it: not if `indptr` needs more."""
    if len(data) <= np.iinfo(np.int32).max:
        indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
    return csr_array((data, indices, indptr), shape=shape)
