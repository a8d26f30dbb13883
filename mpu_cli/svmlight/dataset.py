"""Instances in memory: labels and features as two CSR arrays, and CSR arrays that grow row by row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Dataset:
    """Instances with their labels."""

    # Csr_array, shape (n, Q), bool: True in row i and column k if instance i is annotated with label k. Columns are
    # labels as written in the file, so Q is the largest label plus 1. The columns of a row are sorted.
    labels: csr_array
    # Csr_array, shape (n, D), float32: Columns are feature indices as written in the file, so D is the largest index
    # plus 1. The columns of a row are sorted and unique. Zeros in the file are stored entries.
    features: csr_array

    def __len__(self) -> int:
        return self.features.shape[0]

    def __getitem__(self, rows: Any) -> "Dataset":
        """Return the instances selected by a slice or an index array."""
        return Dataset(self.labels[rows], self.features[rows])

    def occurring_labels(self) -> tuple[csr_array, np.ndarray]:
        """Renumber the labels that occur, from 0.

        Returns: `labels`: csr_array, shape (n, q), bool: column k is label ``ids[k]``; `ids`: int, shape (q,): the
        labels that occur, ascending.
        """
        occurs = np.unique(self.labels.indices)
        columns = np.searchsorted(occurs, self.labels.indices).astype(self.labels.indices.dtype)
        shape = (len(self), len(occurs))
        return csr_array((self.labels.data, columns, self.labels.indptr), shape=shape), occurs


class GrowingCsr:
    """A CSR matrix that is built by appending rows, without a copy: the system moves pages of memory that grow.

    `dtype`: type of the entries.
    """

    def __init__(self, dtype: type) -> None:
        self._dtype = dtype
        self._data, self._indices, self._indptr = bytearray(), bytearray(), bytearray(8)  # the latter begins with 0
        self._n_entries = self._n_columns = 0

    def append(self, rows: csr_array) -> None:
        """Append rows. The width of the matrix becomes that of the widest rows."""
        self._data += np.asarray(rows.data, self._dtype).data
        self._indices += np.asarray(rows.indices, np.int32).data
        self._indptr += (rows.indptr[1:] + np.int64(self._n_entries)).data
        self._n_entries += rows.nnz
        self._n_columns = max(self._n_columns, rows.shape[1])

    def finish(self) -> csr_array:
        """Return the matrix without a copy. Nothing can be appended after this."""
        indices, indptr = np.frombuffer(self._indices, np.int32), np.frombuffer(self._indptr, np.int64)
        if self._n_entries < 2**31:
            indptr = indptr.astype(np.int32)  # otherwise SciPy would copy the indices as 64-bit numbers
        data: np.ndarray = np.frombuffer(self._data, self._dtype)
        return csr_array((data, indices, indptr), shape=(len(indptr) - 1, self._n_columns))
