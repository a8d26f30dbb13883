"""The features a level learns from: sparse columns, then dense columns, side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

# From this share of non-zeros on, dense matrix products beat sparse ones.
_DENSE_FROM = 0.25
_ROWS, _ENTRIES = 1 << 14, 1 << 20
# For `coherence`: instances, as many as in a small mini-batch, and how often they are drawn.
_TOGETHER, _DRAWS = 32, 8
# Features that are looked up in a table; of more, it would be large.
_MOST_LOOKED_UP = 1 << 24


@dataclass(frozen=True)
class Features:
    """n instances with D sparse and d dense features; feature j >= D is dense column j - D."""

    sparse: csr_array  # shape (n, D), float32
    dense: np.ndarray  # shape (n, d), float32

    @classmethod
    def of(cls, matrix: csr_array, width: int | None = None) -> "Features":
        """Take a feature matrix (n x D) in the form that is faster to multiply.

        `matrix`: csr_array, shape (n, D'), float32.
        `width`: number of features D to give it: columns beyond are dropped, missing ones are zero. Default D'.
        """
        if width is not None and width != matrix.shape[1]:
            matrix = with_width(matrix, width)
        n, d = matrix.shape
        if d and matrix.nnz >= _DENSE_FROM * n * d:
            return cls(csr_array((n, 0), dtype=np.float32), matrix.toarray())
        return cls(matrix, np.empty((n, 0), np.float32))

    def __len__(self) -> int:
        return self.dense.shape[0]

    def __getitem__(self, rows: Any) -> "Features":
        """Return the instances that an index array or a slice selects."""
        return Features(self.sparse[rows], self.dense[rows])

    @property
    def width(self) -> int:
        """Number of features, D + d."""
        return self.sparse.shape[1] + self.dense.shape[1]

    def as_sparse(self) -> csr_array:
        """Return all features as one sparse matrix, (n, D + d)."""
        if not self.dense.shape[1]:
            return self.sparse
        return csr_array(hstack([self.sparse, csr_array(self.dense)], format="csr"))

    def append_sparse(self, columns: csr_array, scale: float = 1.0) -> "Features":
        """Return these features with sparse columns, multiplied by a scale, added on the right; all sparse."""
        scaled = csr_array((columns.data * np.float32(scale), columns.indices, columns.indptr), shape=columns.shape)
        matrix = csr_array(hstack([self.as_sparse(), scaled], format="csr"))
        return Features(matrix, np.empty((len(self), 0), np.float32))

    def append(
        self,
        columns: np.ndarray,
        scale: float = 1.0,
        transform: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> "Features":
        """Return these features with dense columns, multiplied by a scale, added on the right.

        `columns`: float32, shape (n, k).
        `transform`: is given the columns of some instances after others, and returns what is to be added in their
        place.
        """
        n, d = self.dense.shape
        dense = np.empty((n, d + columns.shape[1]), np.float32)
        dense[:, :d] = self.dense
        rows = max(1, _ENTRIES // max(columns.shape[1], 1)) if transform is not None else max(n, 1)
        for start in range(0, n, rows):
            part = slice(start, start + rows)
            added = columns[part] if transform is None else transform(columns[part])
            np.multiply(added, np.float32(scale), out=dense[part, d:])
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
        draws. A step of eta on the sum of their gradients takes weights at most this many times too far.
        """
        return coherence([self[rows] for rows in draws(len(self))])

    def mean_squared_norm(self, rows: np.ndarray | slice = slice(None)) -> float:
        """Mean squared norm of these instances; 1 where all are zero."""
        norms = self.squared_norms[rows]
        return float(norms.sum() / max(len(norms), 1)) or 1.0


def draws(n: int) -> list[np.ndarray]:
    """Draw sets of instances, of n, that `Features.coherence` compares: arrays of int, ascending."""
    rng = np.random.default_rng(0)
    return [np.sort(rng.choice(n, min(n, _TOGETHER), replace=False)) for _ in range(_DRAWS)]


def coherence(drawn: list[Features]) -> float:
    """Return how alike the instances of some draws are, as `Features.coherence` says."""
    ratios = []
    for features in drawn:
        sparse, dense = features.sparse.astype(np.float64), features.dense.astype(np.float64)
        gram = (sparse @ sparse.T).toarray() + dense @ dense.T
        ratios.append(np.linalg.eigvalsh(gram)[-1] / (np.trace(gram) / len(gram) or 1))
    return max(float(np.mean(ratios)), 1.0)


@dataclass(frozen=True)
class Columns:
    """Some of D features."""

    indices: np.ndarray  # int32, shape (D',): ascending
    width: int  # number of all features D

    @classmethod
    def occurring(cls, *matrices: csr_array) -> "Columns":
        """Return the features that occur in one of some matrices of equal width."""
        width = matrices[0].shape[1]
        if width > _MOST_LOOKED_UP:
            every = np.unique(np.concatenate([np.unique(matrix.indices) for matrix in matrices]))
            return cls(every.astype(np.int32), width)
        occurs = np.zeros(width, bool)
        for matrix in matrices:
            for start in range(0, matrix.nnz, _ENTRIES):  # NumPy copies the indices as 64-bit numbers
                occurs[matrix.indices[start : start + _ENTRIES]] = True
        return cls(np.flatnonzero(occurs).astype(np.int32), width)

    def joined(self, other: "Columns") -> "Columns":
        """Return the features that occur here or there."""
        return Columns(np.union1d(self.indices, other.indices).astype(np.int32), max(self.width, other.width))

    @property
    def are_few(self) -> bool:
        """Whether they are so few of all features that only they get weights."""
        return 2 * len(self.indices) < self.width

    def narrowed(self, matrix: csr_array) -> csr_array:
        """Return a matrix with sorted rows as it is learned from: with these columns where they are few, else all D."""
        return self.of(matrix) if self.are_few else with_width(matrix, self.width)

    def of(self, matrix: csr_array) -> csr_array:
        """Return these columns of a matrix with sorted rows: csr_array of shape (n, D')."""
        places, there = self.look_up(matrix.indices)
        if there.all():  # a copy of the values would take as much memory as the data
            return csr_array((matrix.data, places, matrix.indptr), shape=(matrix.shape[0], len(self.indices)))
        indptr = np.concatenate([[0], np.cumsum(there)])[matrix.indptr]
        return csr_array((matrix.data[there], places[there], indptr), shape=(matrix.shape[0], len(self.indices)))

    def count(self, matrix: csr_array) -> int:
        """Count the entries of a matrix that are in these columns."""
        return int(np.count_nonzero(self.look_up(matrix.indices)[1]))

    def look_up(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of each feature among these columns, and whether it is there."""
        if self._places is not None:
            places = self._places.take(features, mode="clip")
            return places, places >= 0
        places = np.searchsorted(self.indices, features).astype(np.int32)
        return places, np.append(self.indices, -1)[places] == features

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.indices, self.width)  # without what is derived from them

    @cached_property
    def _places(self) -> np.ndarray | None:
        """The column of each feature, -1 of those without and of all beyond; None where that would take much memory."""
        if self.width > _MOST_LOOKED_UP:
            return None
        places = np.full(self.width + 1, -1, np.int32)
        places[self.indices] = np.arange(len(self.indices), dtype=np.int32)
        return places


def unit_rows(matrix: csr_array) -> csr_array:
    """Return the rows of a matrix scaled to unit length, those that are zero as they are: float32."""
    scaled = matrix.astype(float)  # squares of numbers that float32 has may be none of those
    lengths = np.sqrt(scaled.power(2).sum(axis=1))
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    scaled.data *= np.repeat(scale, np.diff(scaled.indptr))
    return scaled.astype(np.float32)


def with_width(matrix: csr_array, width: int) -> csr_array:
    """Cut or pad the columns of a CSR array with sorted rows to a width."""
    if width == matrix.shape[1]:
        return matrix
    if width > matrix.shape[1]:
        return csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
    return only_entries(matrix, matrix.indices < width, width)


def only_entries(matrix: csr_array, kept: np.ndarray, width: int | None = None) -> csr_array:
    """Return the stored entries that a mask selects, perhaps in a matrix of another width."""
    n, q = matrix.shape
    indptr = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=(n, q if width is None else width))
