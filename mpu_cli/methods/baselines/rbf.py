"""The RBF kernel exp(-gamma ||x - x'||^2): its matrix, its feature space, and models made of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.features import Features
from mpu_cli.core.limits import LARGEST_SUM
from mpu_cli.errors import OverflowingError
from mpu_cli.methods.baselines.dual import kernel
from mpu_cli.runtime.run import DEFAULT_RUN, Run

if TYPE_CHECKING:
    from mpu_cli.methods.baselines.dual import Dual

# Kernel values of a prediction in memory at a time: 64 MB.
_SLICE = 1 << 24
# Instances whose scores are updated by one matrix product.
_BATCH_SIZE = 128


@dataclass(frozen=True)
class KernelModel:
    """Scores of all labels by an RBF kernel: z = (K(x, support) + constant) coefficients."""

    support: csr_array  # float32, shape (m, D)
    coefficients: np.ndarray  # float32, shape (m, q)
    gamma: float  # K(x, x') = exp(-gamma ||x - x'||^2)
    thresholds: np.ndarray  # float32, shape (q,): A label is predicted if sigma(z) is at least its threshold
    # Constant added to every kernel value: the square of a constant feature, whose weight is the bias
    constant: float = 0.0

    @property
    def n_features(self) -> int:
        """Number of features D of the model."""
        return self.support.shape[1]

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return sigma(z) of instances of any width, computed for one slice at a time: float32, shape (n, q).

        Features that no support vector has add to the distance from each of them. `run` has no effect: there is one
        kernel. OverflowingError where a score may leave the range of float32.
        """
        n = matrix.shape[0]
        largest = np.abs(self.coefficients).sum(axis=0, dtype=np.float64).max() * (1 + self.constant)
        if largest > LARGEST_SUM:  # a value of the RBF kernel is 1 at most
            raise OverflowingError
        bias = self.constant * self.coefficients.sum(axis=0, dtype=np.float64)
        scores = np.empty((n, self.coefficients.shape[1]), np.float32)
        rows = max(_SLICE // len(self.coefficients), 1)
        for start in range(0, n, rows):
            part = slice(start, start + rows)
            scores[part] = rbf_kernel(matrix[part], self.support, self.gamma) @ self.coefficients + bias
        return expit(scores)

    def predictions(self, matrix: csr_array, run: Run = DEFAULT_RUN, most: int | None = None) -> np.ndarray:
        """Return all probabilities."""
        return self.probabilities(matrix, run)


class RbfSpace:
    """The space of the RBF kernel; weights are coefficients: z_l = sum_i weights_il phi(x_i).

    `gram`: float32, shape (n, n): K(x_i, x_j).
    """

    def __init__(self, gram: np.ndarray, run: Run = DEFAULT_RUN) -> None:
        self._gram = gram
        self._run = run

    def origin(self, q: int) -> np.ndarray:
        """Coefficients of zero."""
        return np.zeros((len(self._gram), q), np.float32)

    def scores(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """<z_l, phi(x_i)> for the instances `rows`."""
        return self._gram[rows] @ weights

    def ascend(self, dual: "Dual", order: np.ndarray, alpha: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Visit instances in an order.

        A step at instance i changes the score of every other instance j by K_ij. Scores are updated when
        their batch begins, by one dense product, and within the batch after every step: the same ascent, mostly in
        BLAS.
        """
        gap = primal = 0.0
        for start in range(0, len(order), _BATCH_SIZE):
            batch = order[start : start + _BATCH_SIZE]
            similar = self._gram[batch]
            of_batch = alpha[batch]
            steps, gap_of_batch, primal_of_batch = kernel(self._run).ascend_batch(
                similar @ weights, similar[:, batch], dual.present[batch], of_batch, dual.prior, dual.cost
            )
            alpha[batch] = of_batch
            weights[batch] += steps
            gap += gap_of_batch
            primal += primal_of_batch
        return gap, primal


def rbf_kernel(left: csr_array, right: csr_array, gamma: float) -> np.ndarray:
    """K(x, x') for each row x of one matrix and x' of another, which need not have the same width: float32, n x m.

    OverflowingError where gamma is out of the range of float32, as its default is if all distances are.
    """
    from sklearn.metrics import pairwise  # takes half a second, which only kernels need

    if not float(np.finfo(np.float32).tiny) <= gamma <= float(np.finfo(np.float32).max):
        raise OverflowingError
    columns = np.union1d(left.indices, right.indices)  # only features that occur: the largest index may be huge

    def narrow(matrix: csr_array) -> csr_array:
        indices = np.searchsorted(columns, matrix.indices)
        return csr_array((matrix.data, indices, matrix.indptr), shape=(matrix.shape[0], max(len(columns), 1)))

    with np.errstate(over="ignore"):  # a distance of infinity is a similarity of zero
        return pairwise.rbf_kernel(narrow(left), narrow(right), gamma=gamma)


def mean_squared_distance(matrix: csr_array) -> float:
    """Mean of ||x - x'||^2 over all pairs of rows, 2 (mean ||x||^2 - ||mean x||^2); 1 if all rows are equal."""
    columns, places = np.unique(matrix.indices, return_inverse=True)
    mean = np.bincount(places, matrix.data, minlength=len(columns)) / matrix.shape[0]
    mean_squared_norm = float(Features.of(matrix).squared_norms.mean())
    distance = 2 * (mean_squared_norm - float(np.square(mean).sum()))
    return distance if distance > 1e-9 * mean_squared_norm else 1.0
