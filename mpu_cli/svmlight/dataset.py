"""Instances in memory: parser results, as two CSR arrays, and CSR arrays that grow row by row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array


class UnusualError(Exception):
    """The block has an error or a rare form, and `grammar` has to parse it line by line."""


@dataclass(frozen=True)
class Dataset:
    """Instances with their labels."""

    # Csr_array, shape (n, Q), bool: True in row i and column k if instance i is annotated with label k. Columns are
    # labels as written in the file, so Q is the largest label plus 1. The columns of a row are sorted.
    labels: csr_array
    # Csr_array, shape (n, D), float32: Columns are feature indices as written in the file, so D is the largest index
    # plus 1. The columns of a row are sorted and unique. Zeros in the file are stored entries.
    features: csr_array

    @classmethod
    def of_rows(
        cls, labels: np.ndarray, label_ends: np.ndarray, indices: np.ndarray, index_ends: np.ndarray, values: np.ndarray
    ) -> "Dataset":
        """Return the n instances of a block, in file order, with each label and index once.

        `labels`: int32, shape (a,): the labels of all instances, one after another.
        `label_ends`: int, shape (n,): the labels of instance i end before ``labels[label_ends[i]]``.
        `indices`: int32, shape (m,): the feature indices of all instances.
        `index_ends`: int, shape (n,): the indices of instance i end before ``indices[index_ends[i]]``.
        `values`: float32, shape (m,): the value of each index.
        Raises UnusualError (an index has two values in one instance, or label 0 or 1 is duplicated: labels may be a
        vector of 0 and 1).
        """
        return cls(_csr(np.ones(len(labels), bool), labels, label_ends), _csr(values, indices, index_ends))

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


def _csr(data: np.ndarray, columns: np.ndarray, row_ends: np.ndarray) -> csr_array:
    inside = np.ones(len(columns), bool)  # whether the previous entry is in the same row
    inside[row_ends[row_ends < len(columns)]] = False
    if not np.all((columns[1:] > columns[:-1]) | ~inside[1:]):
        rows = np.repeat(np.arange(len(row_ends)), np.diff(row_ends, prepend=0))
        order = np.lexsort((columns, rows))
        data, columns = data[order], columns[order]
        again = np.flatnonzero((columns[1:] == columns[:-1]) & inside[1:]) + 1
        if np.any(data[again] != data[again - 1]) or (data.dtype == bool and np.any(columns[again] <= 1)):
            raise UnusualError
        data, columns = np.delete(data, again), np.delete(columns, again)
        row_ends = row_ends - np.searchsorted(again, row_ends)
    indptr = np.concatenate(([0], row_ends)).astype(np.int32)
    shape = (len(row_ends), int(columns.max()) + 1 if len(columns) else 0)
    return csr_array((data, columns, indptr), shape=shape)


class GrowingCsr:
    """A CSR matrix that is built by appending rows, without a copy: the system moves the pages of growing memory.

    `dtype`: type of the entries.
    """

    def __init__(self, dtype: type) -> None:
        self._dtype = dtype
        self._data, self._indices, self._indptr = bytearray(), bytearray(), bytearray(8)  # the last one begins with 0
        self._n_entries = self._n_columns = 0

    def append(self, rows: csr_array) -> None:
        """Append rows. The matrix becomes as wide as the widest rows."""
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
