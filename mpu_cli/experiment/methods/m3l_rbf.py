"""M3L with <phi(x), phi(x')> = exp(-gamma ||x - x'||^2) + 1, and the prior of m3l-linear."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel

from mpu_cli.core.features import Features
from mpu_cli.core.predictions import refuse_beyond_free
from mpu_cli.core.sample import draw_rows
from mpu_cli.core.selection import WORTHWHILE
from mpu_cli.errors import OverflowingError
from mpu_cli.experiment.methods import m3l_linear
from mpu_cli.experiment.methods.m3l_linear import HAMMING, Dual, ascend_batch
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Values of gamma, in units of 1 / mean ||x - x'||^2.
_WIDTHS = (1.0, 0.2)
# Maximum number of instances for choosing C and gamma; the time is quadratic in them.
_SAMPLE = 3_000
# Number of instances whose scores are computed together, and then updated with their kernel values.
_BATCH_SIZE = 128
# The square of a constant feature, whose weight is the bias.
_CONSTANT = np.float32(1)
# Number of kernel values of a prediction in memory at a time: 64 MB.
_SLICE = 1 << 24


class KernelSpace:
    """The space of a kernel; weights are coefficients: z_l = sum_i weights_il phi(x_i); otherwise like `LinearSpace`.

    `gram`: float32, shape (n, n): K(x_i, x_j).
    """

    def __init__(self, gram: np.ndarray) -> None:
        self._gram, self.width = gram, len(gram)

    def scores(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._gram[rows] @ weights

    def ascend(self, dual: Dual, order: np.ndarray, alpha: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Visit instances in a given order.

        A step at instance i changes the score of every other instance j by K_ij. Scores are updated when their batch
        begins, by one dense product, and within the batch after every step: the same ascent, mostly in BLAS.
        """
        sums = np.zeros(2)
        for start in range(0, len(order), _BATCH_SIZE):
            rows = order[start : start + _BATCH_SIZE]
            similar, of_rows = self._gram[rows], alpha[rows]
            scores = similar @ weights
            weights[rows] += ascend_batch(
                scores, similar[:, rows], dual.present[rows], of_rows, dual.prior, dual.cost, sums
            )
            alpha[rows] = of_rows
        return sums


class Method(m3l_linear.Method):
    """M3L with an RBF kernel; the options are those of m3l-linear.

    `gamma`: None: 1 / mean ||x - x'||^2 of the instances or a fifth of it, whichever yields the better cross-validated
    micro-F1; the former if C is set.
    """

    def __init__(self, gamma: float | None = None, run: Run = DEFAULT_RUN, **others: Any) -> None:
        super().__init__(**others, run=run)
        self.gamma = gamma

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError if the kernel matrix would not fit in memory."""
        n = S.shape[0]
        refuse_beyond_free(
            4 * n * n,
            f"the kernel values of {n:,} x {n:,} instances",
            "compare fewer instances, or m3l-linear, which has no such matrix",
        )
        widths = [width / mean_squared_distance(X) for width in _WIDTHS] if self.gamma is None else [self.gamma]
        if self.cost is None:
            rows = draw_rows(n, _SAMPLE, self.run.seed)
            self.gamma, bound = self._choose(X[rows], S[rows], widths)
        else:
            self.gamma, bound = widths[0], HAMMING * self.cost
        gram = kernel_values(X, X, self.gamma)
        gram += _CONSTANT
        weights = self.train(KernelSpace(gram), S, bound)
        support = np.flatnonzero(weights.any(axis=1))
        self.support, self.coefficients = X[support], weights[support]

    def _choose(self, X: csr_array, S: csr_array, widths: list[float]) -> tuple[float, float]:
        """Choose C at the first gamma, then proceed to the next gamma as long as the micro-F1 rises.

        C is measured in units of 1 / mean ||phi(x) - mean phi||^2, in which its best value hardly depends on gamma.
        """
        gamma = units = bound = best = 0.0
        for candidate in widths:
            gram = kernel_values(X, X, candidate)
            unit = 1 / max(1 - float(gram.mean(dtype=np.float64)), 1e-3)
            gram += _CONSTANT
            evaluate = self.out_of_fold_f1(KernelSpace(gram), X, S)
            if not units:
                gamma, (best, bound) = candidate, self.choose(evaluate, unit)
                units = bound / unit
            elif (f1 := evaluate(units * unit)) < best + WORTHWHILE:
                break
            else:
                gamma, bound, best = candidate, units * unit, f1
        return gamma, bound

    def predict(self, X: csr_array) -> np.ndarray:
        """Return sigma(z), computed one slice at a time."""
        assert self.gamma is not None
        bias = self.coefficients.sum(axis=0, dtype=np.float64)
        scores = np.empty((X.shape[0], self.coefficients.shape[1]), np.float32)
        rows = max(_SLICE // len(self.coefficients), 1)
        for start in range(0, len(scores), rows):
            part = slice(start, start + rows)
            scores[part] = kernel_values(X[part], self.support, self.gamma) @ self.coefficients + bias
        return expit(scores)


def kernel_values(left: csr_array, right: csr_array, gamma: float) -> np.ndarray:
    """Return K(x, x') for each row x of one matrix and x' of another: float32, n x m.

    OverflowingError if gamma is out of the range of float32, like its default if all distances are.
    """
    if not float(np.finfo(np.float32).tiny) <= gamma <= float(np.finfo(np.float32).max):
        raise OverflowingError
    with np.errstate(over="ignore"):  # a distance of infinity is a similarity of zero
        return rbf_kernel(left, right, gamma=gamma)


def mean_squared_distance(matrix: csr_array) -> float:
    """Return the mean of ||x - x'||^2 over all pairs of rows, 2 (mean ||x||^2 - ||mean x||^2); 1 if all are equal."""
    mean = np.bincount(matrix.indices, matrix.data) / matrix.shape[0]
    mean_squared_norm = float(Features.of(matrix).squared_norms.mean())
    distance = 2 * (mean_squared_norm - float(np.square(mean).sum()))
    return distance if distance > 1e-9 * mean_squared_norm else 1.0
