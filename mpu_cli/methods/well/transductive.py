"""The model of a transductive method: answers for the instances that were there in training, and for no others."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import MpuError
from mpu_cli.runtime.run import DEFAULT_RUN, Run


@dataclass(frozen=True)
class TransductiveModel:
    """Values of all labels for known instances.

    Attributes
    ----------
    fingerprints : ndarray of uint64, shape (m, 2)
        `fingerprints` of the instances, in lexicographic order, each once.
    values : ndarray of float32, shape (m, q)
        In [0, 1].
    n_features : int
        Number of features D.
    thresholds : ndarray of float32, shape (q,)
        A label is predicted where its value is at least its threshold.
    """

    fingerprints: np.ndarray
    values: np.ndarray
    n_features: int
    thresholds: np.ndarray

    @classmethod
    def of(cls, matrix: csr_array, values: np.ndarray, thresholds: np.ndarray) -> "TransductiveModel":
        """Take the rows of a feature matrix and their values; of equal rows the first."""
        prints, first = np.unique(fingerprints(matrix), axis=0, return_index=True)
        return cls(prints, values[first], matrix.shape[1], thresholds)

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {bytes(print_): place for place, print_ in enumerate(self.fingerprints)}

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return the values of the rows of a feature matrix.

        Parameters
        ----------
        matrix : csr_array, shape (n, any), float32
        run : Run
            Has no effect: nothing is computed.

        Returns
        -------
        ndarray of float32, shape (n, q)

        Raises
        ------
        MpuError
            A row is none of the known instances.
        """
        places = [self._places.get(bytes(print_)) for print_ in fingerprints(matrix)]
        if None in places:
            raise MpuError(
                f"an instance to predict is none of the {len(self.values):,} that the model knows: its method is "
                "transductive and labels the instances of --unlabeled FILE while it learns, and no others; train again "
                "with the instances to predict as that file, or by another method"
            )
        return self.values[places]


def fingerprints(matrix: csr_array) -> np.ndarray:
    """Hash what is not zero in each row of a matrix.

    Parameters
    ----------
    matrix : csr_array, shape (n, any), float32
        Columns within a row ascend.

    Returns
    -------
    ndarray of uint64, shape (n, 2)
        128 bits a row.
    """
    stored = matrix.data != 0
    indices, values = matrix.indices[stored].astype("<i8"), matrix.data[stored].astype("<f4")
    ends = np.concatenate([[0], np.cumsum(stored)])[matrix.indptr]
    hashes = (
        blake2b(indices[start:end].tobytes() + values[start:end].tobytes(), digest_size=16).digest()
        for start, end in pairwise(ends)
    )
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64).reshape(-1, 2)
