"""Dual coordinate ascent for M3L: the loop over epochs, its stopping rule, and the linear feature space.

The formulation is in `methods.baselines.m3l`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.kernels import kernel as core_kernel
from mpu_cli.core.limits import largest, refuse_overflow
from mpu_cli.errors import OverflowingError
from mpu_cli.methods.baselines import reference_dual
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Largest number of passes over the instances. A few dozen suffice for any C that predicts well.
MAX_EPOCHS = 300
_ROWS = 1 << 14


def kernel(run: Run) -> ModuleType:
    """Return the module with the inner loops of a run: `reference_dual`, or `compiled_dual`."""
    return run.choose(reference_dual, "mpu_cli.methods.baselines.compiled_dual")


class Space(Protocol):
    """The space of phi(x), in which the z_l are stored as the columns of an array of weights."""

    def origin(self, q: int) -> np.ndarray:
        """Weights of z_1 = ... = z_q = 0."""

    def scores(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """<z_l, phi(x_i)> for the instances `rows`: float32, len(rows) x q."""

    def ascend(self, dual: "Dual", order: np.ndarray, alpha: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Visit instances in an order; arguments and result as in `reference_dual.ascend_linear`.

        The prior of the dual is of float32 here.
        """


class LinearSpace:
    """phi(x) = x; weights are the z_l themselves, D x q.

    `matrix`: csr_array, shape (n, D), float32.
    Raises OverflowingError (the features are too large for 32-bit numbers).
    """

    def __init__(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> None:
        squared_norms = Features.of(matrix).squared_norms
        if len(squared_norms) and squared_norms.max() > np.finfo(np.float32).max:
            raise OverflowingError
        self._matrix = matrix
        self._run = run
        self._squared_norms = squared_norms.astype(np.float32)

    def origin(self, q: int) -> np.ndarray:
        """Weights of zero."""
        return np.zeros((self._matrix.shape[1], q), np.float32)

    def scores(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """<z_l, x_i> for the instances `rows`."""
        features = Features.of(self._matrix[rows])
        refuse_overflow(features, weights, np.zeros(weights.shape[1], weights.dtype), largest(weights))
        return core_kernel(self._run).scores(features, weights)

    def ascend(self, dual: "Dual", order: np.ndarray, alpha: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Visit instances in an order, straight from the CSR arrays."""
        ascend = kernel(self._run).ascend_linear
        return ascend(self._matrix, self._squared_norms, order, dual.present, alpha, weights, dual.prior, dual.cost)


@dataclass(frozen=True)
class Dual:
    """The problem that is solved."""

    space: Space
    present: np.ndarray  # bool, shape (n, q): annotated labels
    rows: np.ndarray  # the training instances
    prior: np.ndarray  # shape (q, q): R, positive definite
    cost: float


@dataclass(frozen=True)
class Solution:
    """The result of the ascent."""

    weights: np.ndarray  # the z_l as columns, as their space stores them
    alpha: np.ndarray  # float32, shape (n, q): dual variables, 0 <= alpha <= C; zero for instances not in `rows`
    epochs: int  # passes over the instances
    # Duality gap divided by the primal objective: a bound of how far, relatively, it is above its minimum
    relative_gap: float


def solve(
    dual: Dual,
    tolerance: float,
    seed: int,
    *,
    max_epochs: int = MAX_EPOCHS,
    jobs: int = 1,
    tick: Callable[[], None] = lambda: None,
) -> Solution:
    """Maximise by coordinate ascent until the relative duality gap is within the tolerance.

    Each epoch visits the instances in a new random order. It also sums up a gap with the weights of each moment, at no
    cost; once this is within the tolerance, the exact gap is computed by `jobs` threads, with the same result.
    `tick` is called once an epoch. OverflowingError where the features are too large for 32-bit numbers.
    """
    rng = np.random.default_rng(seed)
    dual = replace(dual, prior=dual.prior.astype(np.float32))
    alpha = np.zeros(dual.present.shape, np.float32)
    weights = dual.space.origin(dual.present.shape[1])
    epochs, relative_gap = 0, np.inf
    while epochs < max_epochs and relative_gap > tolerance:
        with np.errstate(over="ignore", invalid="ignore"):
            order = rng.permutation(dual.rows)
            gap, primal = dual.space.ascend(dual, order, alpha, weights)
        if not np.isfinite(gap):
            raise OverflowingError
        epochs += 1
        tick()
        if gap <= tolerance * primal or epochs == max_epochs:
            gap, primal = duality_gap(dual, alpha, weights, jobs)
            relative_gap = gap / primal
    return Solution(weights, alpha, epochs, relative_gap)


def duality_gap(dual: Dual, alpha: np.ndarray, weights: np.ndarray, jobs: int = 1) -> tuple[float, float]:
    """Difference of the primal and the dual objective, and the primal objective, with the z_l that belong to alpha.

    With z_l = sum_k R_lk u_k and u_k = sum_i alpha_ik y_i^k phi(x_i), the primal's regulariser is half of sum_l <u_l,
    z_l> = sum_il alpha_il y_i^l <z_l, phi(x_i)>. So both objectives are sums over instances of functions of their
    scores, R^-1 is not needed, and the gap is the sum of C max(0, 1 - m) - alpha (1 - m) over instances and labels,
    where m = y <z, phi(x)>. No term is negative.
    """
    slices = [dual.rows[start : start + _ROWS] for start in range(0, len(dual.rows), _ROWS)]
    tasks = ((dual, part, alpha, weights) for part in slices)
    gaps, primals = zip(*parallel.run(_gap_of_part, tasks, jobs), strict=True)
    return sum(gaps), sum(primals)


def _gap_of_part(dual: Dual, rows: np.ndarray, alpha: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    scores = dual.space.scores(weights, rows)
    margin = np.where(dual.present[rows], scores, -scores)
    loss = dual.cost * np.maximum(1 - margin, 0)
    regulariser = alpha[rows] * margin / 2
    gap = loss + 2 * regulariser - alpha[rows]
    return float(gap.sum(dtype=np.float64)), float((loss + regulariser).sum(dtype=np.float64))
