"""The features a level learns from: sparse columns, then dense columns, side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

# From this share of non-zeros on, dense matrix products beat sparse ones.
_DENSE_FROM = 0.25
_ROWS = 1 << 14
# For `coherence`: instances, as many as in a small mini-batch, and how often they are drawn.
_TOGETHER, _DRAWS = 32, 8


@dataclass(frozen=True)
class Features:
    """n instances with D sparse and d dense features; feature j >= D is dense column j - D.

    Attributes
    ----------
    sparse : csr_array, shape (n, D), float32
    dense : ndarray, shape (n, d), float32
    """

    sparse: csr_array
    dense: np.ndarray

    @classmethod
    def of(cls, matrix: csr_array, width: int | None = None, empty: Callable[..., np.ndarray] = np.empty) -> "Features":
        """Take a feature matrix (n x D) in the form that is faster to multiply.

        Parameters
        ----------
        matrix : csr_array, shape (n, D'), float32
        width : int, optional
            Number of features D to give it: columns beyond are dropped, missing ones are zero. Default D'.
        empty : callable
            Makes large arrays: `numpy.empty`, or another with its first two parameters.
        """
        if width is not None and width != matrix.shape[1]:
            matrix = with_width(matrix, width)
        n, d = matrix.shape
        if d and matrix.nnz >= _DENSE_FROM * n * d:
            return cls(csr_array((n, 0), dtype=np.float32), matrix.toarray(out=empty((n, d), np.float32)))
        return cls(matrix, np.empty((n, 0), np.float32))

    def __len__(self) -> int:
        return self.dense.shape[0]

    def __getitem__(self, rows) -> "Features":
        """Return the instances that an index array or a slice selects."""
        return Features(self.sparse[rows], self.dense[rows])

    @property
    def width(self) -> int:
        """Number of features, D + d."""
        return self.sparse.shape[1] + self.dense.shape[1]

    def append(
        self, columns: np.ndarray, scale: float = 1.0, empty: Callable[..., np.ndarray] = np.empty
    ) -> "Features":
        """Return these features with dense columns, multiplied by a scale, added on the right.

        Parameters
        ----------
        columns : ndarray of float32, shape (n, k)
        scale : float
        empty : callable
            As for `of`.
        """
        n, d = self.dense.shape
        dense = empty((n, d + columns.shape[1]), np.float32)
        dense[:, :d] = self.dense
        np.multiply(columns, np.float32(scale), out=dense[:, d:])
        return Features(self.sparse, dense)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """Squared Euclidean norm of each instance: float64, shape (n,)."""
        norms = np.einsum("ij,ij->i", self.dense, self.dense, dtype=np.float64)
        indptr = self.sparse.indptr
        for start in range(0, len(self), _ROWS):  # squares and sums of all entries would take twice their memory
            ends = indptr[start : start + _ROWS + 1]
            squares = np.square(self.sparse.data[ends[0] : ends[-1]], dtype=np.float64)
            filled = np.flatnonzero(np.diff(ends))
            norms[start + filled] += np.add.reduceat(squares, ends[filled] - ends[0])
        return norms

    @cached_property
    def coherence(self) -> float:
        """How alike instances of a mini-batch are: from 1, where they share no feature, to 32, where all are the same.

        The largest eigenvalue of the Gram matrix of 32 random instances, by their mean squared norm; the mean of some
        draws. A step of eta on the sum of their gradients takes weights at most so many times too far.
        """
        rng = np.random.default_rng(0)
        found = []
        for _ in range(_DRAWS):
            drawn = self[np.sort(rng.choice(len(self), min(len(self), _TOGETHER), replace=False))]
            sparse, dense = drawn.sparse.astype(np.float64), drawn.dense.astype(np.float64)
            gram = (sparse @ sparse.T).toarray() + dense @ dense.T
            found.append(np.linalg.eigvalsh(gram)[-1] / (np.trace(gram) / len(gram) or 1))
        return max(float(np.mean(found)), 1.0)

    def mean_squared_norm(self, rows: np.ndarray | slice = slice(None)) -> float:
        """Mean squared norm of the instances, or of some of them; 1 where all of them are zero."""
        norms = self.squared_norms[rows]
        return float(norms.sum() / max(len(norms), 1)) or 1.0


def with_width(matrix: csr_array, width: int) -> csr_array:
    """Cut or pad the columns of a CSR array with sorted rows to a width."""
    if width > matrix.shape[1]:
        return csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
    keep = matrix.indices < width
    indptr = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    return csr_array((matrix.data[keep], matrix.indices[keep], indptr), shape=(matrix.shape[0], width))
