"""Instances in memory: label sets and features as two CSR arrays."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Dataset:
    """Instances with their label sets, as written in a file.

    Attributes
    ----------
    labels : csr_array, shape (n, Q), bool
        Row i holds True in column k where label k is annotated on instance i. A column is the label as written,
        so Q is one more than the largest label seen. Columns within a row are sorted.
    features : csr_array, shape (n, D), float32
        A column is the index as written, so D is one more than the largest index seen. Columns within a row are
        sorted and unique; zeros that were written are kept.
    """

    labels: csr_array
    features: csr_array

    def __len__(self) -> int:
        return self.features.shape[0]

    def __getitem__(self, rows) -> "Dataset":
        """Return the instances that a slice or an index array selects."""
        return Dataset(self.labels[rows], self.features[rows])

    def occurring_labels(self) -> tuple[csr_array, np.ndarray]:
        """Give the labels that occur columns from 0 on.

        Returns
        -------
        labels : csr_array, shape (n, q), bool
            Column k stands for label ``ids[k]``.
        ids : ndarray of int, shape (q,)
            The labels that occur, ascending.
        """
        occurs = np.unique(self.labels.indices)
        columns = np.searchsorted(occurs, self.labels.indices).astype(self.labels.indices.dtype)
        shape = (len(self), len(occurs))
        return csr_array((self.labels.data, columns, self.labels.indptr), shape=shape), occurs


def occurring(indices: np.ndarray, width: int) -> np.ndarray:
    """Return which of the numbers below `width` occur in an array of such numbers: bool, shape (width,)."""
    occurs = np.zeros(width, bool)
    for start in range(0, len(indices), _ENTRIES):  # NumPy makes 64-bit numbers of all indices it is given
        occurs[indices[start : start + _ENTRIES]] = True
    return occurs
