"""Features of an RBF kernel in place of an instance's own, so that a linear model of them is not linear in x.

Nyström's method (Williams and Seeger, "Using the Nyström Method to Speed Up Kernel Machines", NIPS 2000), by
scikit-learn.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import with_width
from mpu_cli.core.work import USUAL, Work
from mpu_cli.runtime import parallel

# Instances whose kernel values are in memory at a time, for each thread.
_ROWS = 1 << 10


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
    gamma: float  # in units of the inverse squared distance of standardised instances

    @classmethod
    def learned(cls, matrix: csr_array, gamma: float, m: int, seed: int = 0) -> "RbfFeatures":
        """Draw at most m landmarks among instances.

        `matrix`: float32, shape (n, D).
        `gamma`: by D: gamma / D is the kernel's, since the mean squared distance of standardised instances is 2 D.
        """
        from sklearn.kernel_approximation import Nystroem  # takes half a second, which only kernels need

        dense = matrix.toarray().astype(np.float64)
        mean, deviation = dense.mean(axis=0), dense.std(axis=0)
        deviation[deviation <= 1e-9 * np.abs(dense).max(axis=0, initial=0)] = 1  # constant but for rounding
        gamma /= matrix.shape[1]
        kernel = Nystroem(gamma=gamma, n_components=min(m, len(dense)), random_state=seed)
        with parallel.blas_on_one_thread():
            kernel.fit((dense - mean) / deviation)
        landmarks, normalization = (array.astype(np.float32) for array in (kernel.components_, kernel.normalization_))
        return cls(mean, deviation, landmarks, normalization, gamma)

    def __len__(self) -> int:
        return len(self.landmarks)

    @property
    def width(self) -> int:
        """Number of features D of an instance."""
        return len(self.mean)

    def of(self, matrix: csr_array, run: Work = USUAL) -> csr_array:
        """Return phi of instances (n x any, float32), all of whose entries are stored: csr_array of float32, (n, m)."""
        from sklearn.metrics import pairwise

        matrix = with_width(matrix, self.width)
        n, m = matrix.shape[0], len(self)
        values = np.empty((n, m), np.float32)
        landmarks, normalization = (a.astype(np.float64) for a in (self.landmarks, self.normalization))

        def compute(start: int) -> None:
            part = slice(start, start + _ROWS)
            standardised = (matrix[part].toarray() - self.mean) / self.deviation
            values[part] = pairwise.rbf_kernel(standardised, landmarks, gamma=self.gamma) @ normalization.T

        for _ in parallel.run(compute, ((start,) for start in range(0, n, _ROWS)), run.jobs):
            pass
        columns = np.tile(np.arange(m, dtype=np.int32), n)
        return csr_array((values.ravel(), columns, np.arange(0, n * m + 1, m)), shape=(n, m))
