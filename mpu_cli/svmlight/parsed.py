"""The result of parsing a block: flat arrays, and the instances made from them."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.svmlight.dataset import Dataset


class UnusualError(Exception):
    """The block has an error or a rare form. `grammar` has to parse it line by line."""


class Rows(NamedTuple):
    """The instances of a block, in the order of the file.

    Attributes
    ----------
    labels : int32 array, shape (a,)
        The labels of all instances, one after another.
    label_ends : int array, shape (n,)
        The labels of instance i end before ``labels[label_ends[i]]``.
    indices : int32 array, shape (m,)
        The feature indices of all instances.
    index_ends : int array, shape (n,)
        The indices of instance i end before ``indices[index_ends[i]]``.
    values : float32 array, shape (m,)
        The value of each index.
    """

    labels: np.ndarray
    label_ends: np.ndarray
    indices: np.ndarray
    index_ends: np.ndarray
    values: np.ndarray

    def dataset(self) -> Dataset:
        """Return the instances. Raise `UnusualError` if a label or an index occurs twice in one of them."""
        return Dataset(
            _csr(np.ones(len(self.labels), bool), self.labels, self.label_ends),
            _csr(self.values, self.indices, self.index_ends),
        )


def _csr(data: np.ndarray, columns: np.ndarray, row_ends: np.ndarray) -> csr_array:
    inside = np.ones(len(columns), bool)  # whether the column before is in the same row
    inside[row_ends[row_ends < len(columns)]] = False
    if not _increasing(columns, inside):
        rows = np.repeat(np.arange(len(row_ends)), np.diff(row_ends, prepend=0))
        order = np.lexsort((columns, rows))
        data, columns = data[order], columns[order]
        if not _increasing(columns, inside):
            raise UnusualError
    indptr = np.concatenate(([0], row_ends)).astype(np.int32)
    shape = (len(row_ends), int(columns.max()) + 1 if len(columns) else 0)
    return csr_array((data, columns, indptr), shape=shape)


def _increasing(columns: np.ndarray, inside: np.ndarray) -> bool:
    return bool(np.all((columns[1:] > columns[:-1]) | ~inside[1:]))
