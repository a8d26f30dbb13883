"""Refusal of scores that 32-bit sums may not hold.

A BLAS takes the sum w.x in an order of its own, and what overflows on the way depends on it. The sum of the magnitudes
|w|.|x| does not: where it is in range, no order overflows.
"""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Features
from mpu_cli.errors import OverflowingError

# Half of where float32 ends, since sums are rounded.
LARGEST_SUM = 2.0**127


def largest(values: np.ndarray) -> float:
    """Return the largest magnitude, without a copy of the values; 0 of none, NaN where one is NaN."""
    return float(max(np.max(values, initial=0), -np.min(values, initial=0)))


def refuse_overflow(
    features: Features, weights: np.ndarray | csr_array, bias: np.ndarray, largest_weight: float
) -> None:
    """Raise OverflowingError where the sum over j of |x_ij| |w_jk|, and |b_k|, is beyond float32 for some i and k.

    Parameters
    ----------
    features : Features, n instances
    weights : ndarray or csr_array of float32, shape (width, q)
    bias : ndarray of float32, shape (q,)
    largest_weight : float
        Largest magnitude of a weight; with the largest value it bounds all sums, which are looked at where that is
        not enough.
    """
    sparse, dense = features.sparse, features.dense
    terms = int(np.diff(sparse.indptr).max(initial=0)) + dense.shape[1]
    bound = terms * max(largest(sparse.data), largest(dense)) * largest_weight + largest(bias)
    if bound <= LARGEST_SUM:  # NaN is not
        return
    if isinstance(weights, csr_array):
        sums = (abs(features.as_sparse().astype(np.float64)) @ abs(weights.astype(np.float64))).data + largest(bias)
        if not (sums <= LARGEST_SUM).all():
            raise OverflowingError
        return
    D = sparse.shape[1]
    columns, places = np.unique(sparse.indices, return_inverse=True)  # the others may be many
    sums = np.abs(dense, dtype=np.float64) @ np.abs(weights[D:], dtype=np.float64) + np.abs(bias)
    if len(columns):
        values = csr_array((np.abs(sparse.data, dtype=np.float64), places, sparse.indptr), (len(dense), len(columns)))
        sums += values @ np.abs(weights[columns], dtype=np.float64)
    if not (sums <= LARGEST_SUM).all():
        raise OverflowingError
