"""CSR matrices that grow row by row."""

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
        there is room.
    """

    def __init__(self, dtype: type, expected: int = 0) -> None:
        self._data = _GrowingArray(dtype, expected)
        self._indices = _GrowingArray(np.int32, expected)
        self._indptr = _GrowingArray(np.int64)
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
        """Return the matrix, without a copy; nothing can be added after this."""
        indptr = self._indptr.finish()
        if self._n_entries < 2**31:
            indptr = indptr.astype(np.int32)
        shape = (len(indptr) - 1, self._n_columns)
        return csr_array((self._data.finish(), self._indices.finish(), indptr), shape=shape)


class _GrowingArray:
    """An array that is appended to. Room that is not used yet takes up no memory: the system gives it when touched."""

    def __init__(self, dtype: type, expected: int = 0) -> None:
        self._array = np.empty(expected, dtype)
        self._size = 0

    def append(self, part: np.ndarray) -> None:
        stop = self._size + len(part)
        if stop > len(self._array):
            larger = np.empty(2 * stop, self._array.dtype)
            larger[: self._size] = self._array[: self._size]
            self._array = larger
        self._array[self._size : stop] = part
        self._size = stop

    def finish(self) -> np.ndarray:
        self._array.resize(self._size, refcheck=False)  # gives the room back, in place
        return self._array
