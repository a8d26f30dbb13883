"""Instances in memory: labels and features as two CSR arrays."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Dataset:
    """Instances with their labels.

    Attributes
    ----------
    labels : csr_array, shape (n, Q), bool
        True in row i and column k if instance i is annotated with label k. Columns are labels as written in the file,
        so Q is the largest label plus 1. The columns of a row are sorted.
    features : csr_array, shape (n, D), float32
        Columns are feature indices as written in the file, so D is the largest index plus 1. The columns of a row are
        sorted and unique. Zeros in the file are stored entries.
    """

    labels: csr_array
    features: csr_array

    def __len__(self) -> int:
        return self.features.shape[0]

    def __getitem__(self, rows) -> "Dataset":
        """Return the instances selected by a slice or an index array."""
        return Dataset(self.labels[rows], self.features[rows])

    def occurring_labels(self) -> tuple[csr_array, np.ndarray]:
        """Renumber the labels that occur, from 0.

        Returns
        -------
        labels : csr_array, shape (n, q), bool
            Column k is label ``ids[k]``.
        ids : ndarray of int, shape (q,)
            The labels that occur, ascending.
        """
        occurs = np.unique(self.labels.indices)
        columns = np.searchsorted(occurs, self.labels.indices).astype(self.labels.indices.dtype)
        shape = (len(self), len(occurs))
        return csr_array((self.labels.data, columns, self.labels.indptr), shape=shape), occurs
