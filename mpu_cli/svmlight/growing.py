"""CSR matrices that grow row by row."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array


class GrowingCsr:
    """Rows put under one another as they come in.

    Parameters
    ----------
    dtype : dtype
        Type of the entries.
    expected : int
        About how many entries there will be. With more of them, data are in memory twice while they move to where
        there is room; with less than half of them, while SciPy copies them (it does not keep so much room unused).
    empty : callable
        Makes the arrays: `numpy.empty`, or another with its first two parameters.
    """

    def __init__(self, dtype: type, expected: int = 0, empty: Callable[..., np.ndarray] = np.empty) -> None:
        self._data = _GrowingArray(dtype, expected, empty)
        self._indices = _GrowingArray(np.int32, expected, empty)
        self._indptr = _GrowingArray(np.int64, 0, empty)
        self._indptr.append(np.zeros(1))
        self._n_entries = self._n_columns = 0

    def append(self, rows: csr_array) -> None:
        """Add rows below; the width becomes that of the widest ones."""
        self._data.append(rows.data)
        self._indices.append(rows.indices)
        self._indptr.append(rows.indptr[1:] + np.int64(self._n_entries))
        self._n_entries += rows.nnz
        self._n_columns = max(self._n_columns, rows.shape[1])

    def finish(self) -> csr_array:
        """Return the matrix, without a copy in memory; nothing can be added after this."""
        return csr(self._data.finish(), self._indices.finish(), self._indptr.finish(), self._n_columns)


def csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n_columns: int) -> csr_array:
    """Return the matrix of given arrays, without a copy of those that are large, whatever the type of `indptr`."""
    if len(data) < 2**31:
        indptr = indptr.astype(np.int32)  # SciPy would make the indices 64-bit numbers too
    return csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))


class _GrowingArray:
    """An array that is appended to. Room that is not used yet takes up no memory: the system gives it when touched."""

    def __init__(self, dtype: type, expected: int, empty: Callable[..., np.ndarray]) -> None:
        self._array = empty(expected, dtype)
        self._empty = empty
        self._size = 0

    def append(self, part: np.ndarray) -> None:
        stop = self._size + len(part)
        if stop > len(self._array):
            larger = self._empty(2 * stop, self._array.dtype)
            larger[: self._size] = self._array[: self._size]
            self._array = larger
        self._array[self._size : stop] = part
        self._size = stop

    def finish(self) -> np.ndarray:
        return self._array[: self._size]
