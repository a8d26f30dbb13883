"""The features a level learns from: sparse columns, then dense columns, side by side; scaled, or those of a kernel.

A model trained on scaled features is converted to one of the original features (`StackedModel.unscaled`), so that
predicting does not need scaling. The features of an RBF kernel are computed with scikit-learn by Nyström's method
(Williams and Seeger, "Using the Nyström Method to Speed Up Kernel Machines", NIPS 2000).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack

from mpu_cli.core.options import LARGEST, STANDARDISED
from mpu_cli.runtime.run import DEFAULT_RUN, Run, blas_on_one_thread

# From this share of non-zeros on, dense matrix products are faster than sparse ones.
_DENSE_FROM = 0.25
_ROWS, _ENTRIES = 1 << 14, 1 << 20
# For `coherence`: the number of instances, that of a small mini-batch, and the number of draws.
_TOGETHER, _DRAWS = 32, 8
# The few instances that are this many times as long as this quantile of all are cut to this length.
_LONGEST, _USUAL = 30.0, 0.95
# The most features to look up in a table, which would be large with more.
_MOST_LOOKED_UP = 1 << 24


@dataclass(frozen=True)
class Features:
    """n instances with D sparse and d dense features; feature j >= D is dense column j - D."""

    sparse: csr_array  # shape (n, D), float32
    dense: np.ndarray  # shape (n, d), float32

    @classmethod
    def of(cls, matrix: csr_array) -> "Features":
        """Store a feature matrix (n x D, float32) in the form that is faster to multiply."""
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

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """Squared Euclidean norm of each instance: float64, shape (n,)."""
        norms = np.einsum("ij,ij->i", self.dense, self.dense, dtype=np.float64)
        for start in range(0, len(self), _ROWS):  # the squares of all entries would take twice their memory
            part = self.sparse[start : start + _ROWS]
            norms[start : start + _ROWS] += with_values(part, np.square(part.data, dtype=np.float64)).sum(axis=1)
        return norms

    @cached_property
    def coherence(self) -> float:
        """The similarity of the instances in a mini-batch: from 1, if they share no feature, to 32, if all are equal.

        The largest eigenvalue of the Gram matrix of 32 random instances, divided by their mean squared norm, averaged
        over some draws. A step of eta on the sum of their gradients moves weights at most this many times too far.
        """
        rng, n, ratios = np.random.default_rng(0), len(self), []
        for _ in range(_DRAWS):
            drawn = self[np.sort(rng.choice(n, min(n, _TOGETHER), replace=False))]
            sparse, dense = drawn.sparse.astype(np.float64), drawn.dense.astype(np.float64)
            gram = (sparse @ sparse.T).toarray() + dense @ dense.T
            ratios.append(np.linalg.eigvalsh(gram)[-1] / (np.trace(gram) / len(gram) or 1))
        return max(float(np.mean(ratios)), 1.0)

    def shortened(self) -> "Features":
        """Return the same instances, but none far longer than nearly all: steps go by the mean squared norm."""
        lengths = np.sqrt(self.squared_norms)
        if not lengths.any():
            return self
        longest = _LONGEST * np.quantile(lengths[lengths > 0], _USUAL, method="lower")
        if lengths.max() <= longest:
            return self
        factors = (longest / np.maximum(lengths, longest)).astype(np.float32)
        sparse = self.sparse.copy()
        sparse.data *= factors[entry_rows(sparse)]
        return Features(sparse, self.dense * factors[:, None])

    def mean_squared_norm(self, rows: np.ndarray | slice = slice(None)) -> float:
        """Return the mean squared norm of these instances; 1 if all are zero."""
        norms = self.squared_norms[rows]
        return float(norms.sum() / max(len(norms), 1)) or 1.0


@dataclass(frozen=True)
class Columns:
    """A subset of D features."""

    indices: np.ndarray  # int32, shape (D',): ascending
    width: int  # number of all features D

    @classmethod
    def occurring(cls, *matrices: csr_array) -> "Columns":
        """Return the features that occur in any of these matrices of equal width."""
        width = matrices[0].shape[1]
        if width > _MOST_LOOKED_UP:
            return cls(distinct(*(matrix.indices for matrix in matrices)).astype(np.int32), width)
        occurs = np.zeros(width, bool)
        for matrix in matrices:
            for start in range(0, matrix.nnz, _ENTRIES):  # NumPy copies the indices as 64-bit numbers
                occurs[matrix.indices[start : start + _ENTRIES]] = True
        return cls(np.flatnonzero(occurs).astype(np.int32), width)

    def joined(self, other: "Columns") -> "Columns":
        """Return the union of both sets of features."""
        return Columns(np.union1d(self.indices, other.indices).astype(np.int32), max(self.width, other.width))

    @property
    def are_few(self) -> bool:
        """Whether these are a small enough share of all features that only they get weights."""
        return 2 * len(self.indices) < self.width

    def narrowed(self, matrix: csr_array) -> csr_array:
        """Return a matrix with sorted rows in the form for learning: these columns if they are few, else all D."""
        return self.of(matrix) if self.are_few else with_width(matrix, self.width)

    def of(self, matrix: csr_array) -> csr_array:
        """Return these columns of a matrix with sorted rows: csr_array of shape (n, D')."""
        places, there = self.look_up(matrix.indices)
        placed = csr_array((matrix.data, places, matrix.indptr), shape=(matrix.shape[0], len(self.indices)))
        return placed if there.all() else only_entries(placed, there)  # a copy would take as much memory as the data

    def counts(self, matrix: csr_array) -> np.ndarray:
        """Count the entries of each row of a matrix that are in these columns."""
        _, there = self.look_up(matrix.indices)
        return np.diff(np.searchsorted(np.flatnonzero(there), matrix.indptr))

    def look_up(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of each feature among these columns, and whether it is one of them."""
        if self._places is not None:
            places = self._places.take(features, mode="clip")
            return places, places >= 0
        places = np.searchsorted(self.indices, features).astype(np.int32)
        return places, np.append(self.indices, -1)[places] == features

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.indices, self.width)  # without what is derived from them

    @cached_property
    def _places(self) -> np.ndarray | None:
        """The column of each feature, -1 for those without one or out of range; None if that would take much memory."""
        if self.width > _MOST_LOOKED_UP:
            return None
        places = np.full(self.width + 1, -1, np.int32)
        places[self.indices] = np.arange(len(self.indices), dtype=np.int32)
        return places


def unit_rows(matrix: csr_array) -> csr_array:
    """Return a matrix with rows scaled to unit length, zero rows unchanged: float32."""
    scaled = matrix.astype(float)  # squares of float32 numbers may be out of the range of float32
    lengths = np.sqrt(scaled.power(2).sum(axis=1))
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    scaled.data *= scale[entry_rows(scaled)]
    return scaled.astype(np.float32)


def with_width(matrix: csr_array, width: int) -> csr_array:
    """Cut or pad the columns of a CSR array with sorted rows to a width."""
    if width == matrix.shape[1]:
        return matrix
    if width > matrix.shape[1]:
        return csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
    return csr_array(matrix[:, :width])


def with_values(matrix: csr_array, values: np.ndarray) -> csr_array:
    """Return a matrix with other values in the same stored entries."""
    return csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def distinct(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the distinct numbers, from 0, in arrays, ascending; fast if there are many, and merges ascending runs."""
    numbers = np.sort(np.concatenate([first, *others]), kind="stable")
    return numbers[np.diff(numbers, prepend=-1) > 0]


def entry_rows(matrix: csr_array) -> np.ndarray:
    """Return the row of each stored entry: int64, shape (nnz,)."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def only_entries(matrix: csr_array, kept: np.ndarray) -> csr_array:
    """Return the stored entries that a mask selects, in a matrix of the same shape."""
    indptr = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)


SCALINGS = STANDARDISED, LARGEST
# If at least this share of the instances have a value in a column, its mean is subtracted: it is dense anyway.
_FILLED = 0.5
# Deviations up to this, relative to the largest value in the column, are rounding errors of float32.
_CONSTANT = 1e-6
# The number of instances used to decide whether columns are uneven.
_ENOUGH = 2_000
# Columns are uneven if one has this share of the squared length of the instances, and this many times an equal share;
# or if mean squares of filled columns differ by this factor; or if instances are as coherent as this: then their mean,
# which scaling subtracts, has most of their squared length.
_SHARE, _TIMES, _FACTOR = 0.1, 10.0, 100.0
_ALIKE = 0.9 * _TOGETHER
_DOMINATING = 0.9


class Dominating(NamedTuple):
    """A column with nearly all of the squared length of the instances, since its values are far larger than others."""

    column: int
    share: float

    def caution(self, name: str) -> str:
        """Return the warning, with the name of the column."""
        return (
            f"feature {name} has {self.share:.1%} of the squared length of the instances: its values are far larger "
            "than those of the others; scale all features to a similar size"
        )


def unevenness(features: Features) -> tuple[bool, Dominating | None]:
    """Compare the sizes of columns, and of their means, on some of the instances, evenly spaced.

    Returns: whether scaling may help; and the column that dominates all others, if there is one.
    """
    n, width = len(features), features.width
    some = features[:: -(-n // _ENOUGH) or 1].as_sparse()
    counts = np.bincount(some.indices, minlength=width)
    squares = np.bincount(some.indices, some.data.astype(np.float64) ** 2, width)
    if not squares.any():
        return False, None
    column = int(squares.argmax())
    share = float(squares[column] / squares.sum())
    filled = squares[(counts >= _FILLED * some.shape[0]) & (squares > 0)]
    differ = len(filled) > 1 and bool(filled.max() >= _FACTOR * np.quantile(filled, 0.1))
    sizes = np.divide(squares, counts, out=np.zeros_like(squares), where=counts > 0)  # of values, squared
    others = np.delete(sizes, column)[np.delete(counts, column) > 0]
    has_large_values = len(others) > 0 and bool(sizes[column] >= _FACTOR * np.median(others))
    dominating = Dominating(column, share) if share >= _DOMINATING and has_large_values else None
    is_large = share >= min(max(_SHARE, _TIMES / width), _DOMINATING)
    return differ or is_large or features.coherence >= _ALIKE, dominating


@dataclass(frozen=True)
class Scaling:
    """z = (x - shift) factor, column by column; columns that few instances have are not shifted and stay sparse."""

    name: str
    # `shift`, `factor`: float64, shape (D,)
    shift: np.ndarray
    factor: np.ndarray
    mean_squared_norm: float  # of the unscaled instances

    @classmethod
    def fit(cls, features: Features, name: str) -> "Scaling":
        """Scale each column to a deviation, or largest absolute value, of 1; constant columns become 0."""
        if features.dense.shape[1]:
            dense = features.dense
            shift = dense.mean(axis=0, dtype=np.float64)
            squares, largest, peak = np.zeros((3, dense.shape[1]))
            for start in range(0, len(dense), _ROWS):
                part = dense[start : start + _ROWS]
                moved = np.abs(part - shift)
                squares += np.square(moved).sum(axis=0)
                largest = np.maximum(largest, moved.max(axis=0))
                peak = np.maximum(peak, np.abs(part).max(axis=0))
        else:
            matrix, width = features.sparse, features.width
            counts = np.bincount(matrix.indices, minlength=width)
            sums = np.bincount(matrix.indices, matrix.data, width)
            shift = np.where(counts >= _FILLED * len(features), sums / len(features), 0.0)
            values = matrix.data - shift[matrix.indices]
            without = (len(features) - counts).astype(np.float64)
            squares = without * np.square(shift)
            squares += np.bincount(matrix.indices, np.square(values), width)
            largest, peak = np.where(without, np.abs(shift), 0.0), np.zeros(width)
            np.maximum.at(largest, matrix.indices, np.abs(values))
            np.maximum.at(peak, matrix.indices, np.abs(matrix.data).astype(np.float64))
        deviation = np.sqrt(squares / len(features))
        unit = deviation if name == STANDARDISED else largest
        varies = deviation > _CONSTANT * peak
        factor = np.divide(1.0, unit, out=np.zeros_like(unit), where=varies)
        return cls(name, shift, factor, features.mean_squared_norm())

    def of(self, features: Features) -> Features:
        """Return the scaled features."""
        if features.dense.shape[1]:
            dense = np.empty_like(features.dense)
            for start in range(0, len(dense), _ROWS):
                part = slice(start, start + _ROWS)
                dense[part] = (features.dense[part] - self.shift) * self.factor
            return Features(features.sparse, dense)
        matrix = features.sparse
        values = (matrix.data - self.shift[matrix.indices]) * self.factor[matrix.indices]
        scaled = with_values(matrix, values.astype(np.float32))
        shifted = np.flatnonzero(self.shift)
        part = matrix[:, shifted]
        is_zero = np.ones(part.shape, bool)
        is_zero[entry_rows(part), part.indices] = False
        rows, places = np.nonzero(is_zero)
        of_zeros = (-self.shift * self.factor)[shifted[places]].astype(np.float32)
        moved = csr_array((of_zeros, (rows, shifted[places])), shape=matrix.shape)
        return Features(csr_array(scaled + moved), features.dense)


# The number of instances whose kernel values each thread holds in memory at a time.
_KERNEL_ROWS = 1 << 10


@dataclass(frozen=True)
class RbfFeatures:
    """phi(x) = N (K(z, z_1), ..., K(z, z_m)), where z is x with each feature standardised, and z_j are m instances.

    <phi(x), phi(x')> is about K(z, z') = exp(-gamma ||z - z'||^2).
    """

    # `mean`, `deviation`: float64, shape (D,): z = (x - mean) / deviation, feature by feature
    mean: np.ndarray
    deviation: np.ndarray
    landmarks: np.ndarray  # float32, shape (m, D): z_1, ..., z_m
    normalization: np.ndarray  # float32, shape (m, m): N, the inverse square root of the kernel of the landmarks
    gamma: float  # in units of the inverse squared distance between standardised instances

    @classmethod
    def fit(cls, matrix: csr_array, gamma: float, m: int, seed: int = 0) -> "RbfFeatures":
        """Draw at most m landmarks from the instances.

        `gamma`: D times the kernel's gamma, since the mean squared distance between standardised instances is 2 D.
        """
        from sklearn.kernel_approximation import Nystroem  # takes half a second, and only kernels need it

        dense = matrix.toarray().astype(np.float64)
        mean, deviation = dense.mean(axis=0), dense.std(axis=0)
        deviation[deviation <= 1e-9 * np.abs(dense).max(axis=0, initial=0)] = 1  # constant but for rounding
        gamma /= matrix.shape[1]
        kernel = Nystroem(gamma=gamma, n_components=min(m, len(dense)), random_state=seed % (1 << 32))
        with blas_on_one_thread():
            kernel.fit((dense - mean) / deviation)
        landmarks, normalization = (array.astype(np.float32) for array in (kernel.components_, kernel.normalization_))
        return cls(mean, deviation, landmarks, normalization, gamma)

    def __len__(self) -> int:
        return len(self.landmarks)

    @property
    def width(self) -> int:
        """Number of features D of an instance."""
        return len(self.mean)

    def of(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> csr_array:
        """Return phi of instances (n x any, float32) with all entries stored: csr_array of float32, shape (n, m)."""
        from sklearn.metrics import pairwise

        matrix = with_width(matrix, self.width)
        n, m = matrix.shape[0], len(self)
        values = np.empty((n, m), np.float32)
        landmarks, normalization = (a.astype(np.float64) for a in (self.landmarks, self.normalization))

        def compute(start: int) -> None:
            part = slice(start, start + _KERNEL_ROWS)
            standardised = (matrix[part].toarray() - self.mean) / self.deviation
            values[part] = pairwise.rbf_kernel(standardised, landmarks, gamma=self.gamma) @ normalization.T

        for _ in run.in_threads(compute, range(0, n, _KERNEL_ROWS)):
            pass
        columns = np.tile(np.arange(m, dtype=np.int32), n)
        return csr_array((values.ravel(), columns, np.arange(0, n * m + 1, m)), shape=(n, m))


def base_shift(found: ArrayLike, expected: ArrayLike) -> int:
    """Return what to add to numbers that seem to be counted from another base than expected: 1 or -1; otherwise 0.

    How often each number occurs must then agree far better. `found`, `expected`: such as the ends of two ranges.
    """
    (mine, times), (theirs, counts) = (np.unique(numbers, return_counts=True) for numbers in (found, expected))
    most = max(float(np.linalg.norm(times) * np.linalg.norm(counts)), 1.0)  # if they agree; 1: one of them is empty
    apart = {}
    for more in (0, 1, -1):
        _, here, there = np.intersect1d(mine + more, theirs, assume_unique=True, return_indices=True)
        apart[more] = 1 - times[here].astype(float) @ counts[there] / most
    best = min(apart, key=apart.__getitem__)
    return best if apart[best] < apart[0] / 4 else 0
