"""M3L with phi(x) = (x, 1): max-margin multi-label learning with a prior of label correlations.

Hariharan, Zelnik-Manor, Vishwanathan and Varma, "Large Scale Max-Margin Multi-Label Classification with Priors",
ICML 2010; Hariharan, Vishwanathan and Varma, "Efficient Max-Margin Multi-Label Classification with Applications to
Zero-Shot Learning", Machine Learning 88, 2012. With y_i^l = 1 if instance i is annotated with label l and -1
otherwise, and a positive definite prior R (q x q) of label correlations:

    min over z_1 .. z_q of  1/2 sum_lk (R^-1)_lk <z_l, z_k> + 2 C sum_i sum_l max(0, 1 - y_i^l <z_l, phi(x_i)>)

and label l is predicted if <z_l, phi(x)> > 0. C is defined as in the papers: it weights the Hamming loss of structured
prediction, sum_l (1 - y^l y'^l), in which a wrong label costs 2. So C = 0.5 is a support vector machine's C = 1. In the
dual, 0 <= alpha_il <= 2 C and

    z_l = sum_k R_lk sum_i alpha_ik y_i^k phi(x_i).

It is solved by dual coordinate ascent. The gradient along alpha_il is 1 - y_i^l <z_l, phi(x_i)> and the curvature R_ll
K_ii, so that each coordinate has its maximum in closed form; a step of delta moves every z_k by R_kl delta y_i^l
phi(x_i). With R = I these are q independent support vector machines, which LIBLINEAR and LIBSVM solve; they do not
support R. Choices that the papers leave open: docs/choices/baselines.md, "Choices of M3L".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import expit
from sklearn.metrics.pairwise import cosine_similarity

from mpu_cli.core.features import Features
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import f1_score, refuse_beyond_free
from mpu_cli.core.problem import kin_of
from mpu_cli.core.sample import draw_rows
from mpu_cli.core.selection import climb
from mpu_cli.core.sgd import COSTS
from mpu_cli.core.validation import deal, default_folds, leading, without
from mpu_cli.errors import OverflowingError
from mpu_cli.runtime.run import DEFAULT_RUN, Run, numba_installed

# Maximum number of passes over the instances. A few dozen suffice for any C that predicts well.
_MAX_EPOCHS = 300
# The target relative duality gap; a larger one hardly changes which of two C is better.
TOLERANCE, _ROUGH_TOLERANCE = 0.01, 0.05
# Cost of a wrong label in the Hamming loss of +1 and -1.
HAMMING = 2
# The next number after 1/2: a label is predicted if sigma(z) is greater than 1/2.
THRESHOLD = np.nextafter(np.float32(0.5), np.float32(1))
# Number of held-out instances for the choice of C: more hardly change which of two is better.
_HELD_OUT = 1_200
# Start of the hill climb along C, for instances of unit length.
_FIRST_COST = 3.0
_ROWS = 1 << 14
# Maximum number of instances for the choice of C.
_SAMPLE = 20_000

# The inner loops, compiled if numba is installed. Arrays of labels are contiguous, so that the innermost loops run
# over labels and become SIMD code.
if numba_installed():
    import numba

    from mpu_cli.runtime import compilation

    inlined, compiled = compilation.fused_inlined, compilation.compiled(fused=True)

    @numba.njit(inline="always")  # inlined before compilation, since a row as an argument takes time
    def add(to, factor, row):
        """Add a multiple of a row to another."""
        for k in range(len(to)):
            to[k] += factor * row[k]

else:
    inlined = compiled = lambda function: function

    def add(to, factor, row):  # noqa: D103
        to += factor * row


@inlined
def ascend(scores, squared_norm, present, alpha, prior, cost, step, sums):
    """Maximise along the coordinates of one instance, label by label; changes scores, alpha, step and the sums.

    Adds to `sums` the instance's gap and primal objective before the steps. Returns whether anything has moved.
    """
    zero, one = np.float32(0), np.float32(1)
    for k in range(len(scores)):
        slack = one - scores[k] if present[k] else one + scores[k]
        loss = cost * max(slack, zero)
        sums[0] += loss - alpha[k] * slack
        sums[1] += loss + alpha[k] * (one - slack) / 2
    step[:] = 0
    moved = False
    for k in range(len(scores)):
        sign = one if present[k] else -one
        best = min(max(alpha[k] + (one - sign * scores[k]) / (prior[k, k] * squared_norm), zero), cost)
        if best != alpha[k]:
            change = sign * (best - alpha[k])
            alpha[k] = best
            moved = True
            add(scores, squared_norm * change, prior[k])
            add(step, change, prior[k])
    return moved


@compiled
def ascend_linear(indptr, indices, values, squared_norms, order, present, alpha, weights, prior, cost, sums):
    """Visit instances in turn and maximise the dual along each of their coordinates; changes alpha, weights and sums.

    `indptr`, `indices`, `values`: the features, CSR; no row has a duplicate index.
    `squared_norms`: float32, shape (n,).
    `order`: the instances to visit.
    `present`: bool, shape (n, q): annotated labels: y = 1 if true, else -1.
    `alpha`: float32, shape (n, q): dual variables.
    `weights`: float32, shape (D, q): z_k in column k; they belong to alpha.
    `prior`: float32, shape (q, q): R.
    `sums`: float64, shape (2,): gets the duality gap and the primal objective, each instance's part at its visit.
    """
    scores, step = np.empty((2, weights.shape[1]), np.float32)
    for i in order:
        scores[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            add(scores, values[p], weights[indices[p]])
        if ascend(scores, squared_norms[i], present[i], alpha[i], prior, cost, step, sums):
            for p in range(indptr[i], indptr[i + 1]):
                add(weights[indices[p]], values[p], step)


@compiled
def ascend_batch(scores, gram, present, alpha, prior, cost, sums):
    """Visit the instances of a batch in turn, using their kernel values; changes scores, alpha and sums.

    `scores` (B x q) are <z_l, phi(x_i)>, and `gram` (B x B) is K(x_i, x_j); the others are as in `ascend_linear`.
    Returns: float32, shape (B, q): the increase of each z_k: the sum over i of steps_ik phi(x_i).
    """
    steps = np.empty_like(scores)
    for i in range(len(scores)):
        if ascend(scores[i], gram[i, i], present[i], alpha[i], prior, cost, steps[i], sums):
            for j in range(i + 1, len(scores)):
                add(scores[j], gram[j, i], steps[i])
    return steps


@dataclass(frozen=True)
class Dual:
    """The dual problem."""

    space: Any  # `LinearSpace`, or another with its methods
    present: np.ndarray  # bool, shape (n, q): annotated labels
    rows: np.ndarray  # the training instances
    prior: np.ndarray  # shape (q, q): R, positive definite
    cost: float | np.float32


class LinearSpace:
    """The space of phi(x) = x; weights are the z_l as columns, D x q.

    `matrix`: csr_array, shape (n, D), float32.
    Raises OverflowingError (the features are too large for 32-bit numbers).
    """

    def __init__(self, matrix: csr_array) -> None:
        squared_norms = Features.of(matrix).squared_norms
        if len(squared_norms) and squared_norms.max() > np.finfo(np.float32).max:
            raise OverflowingError
        self._matrix, self.width, self._squared_norms = matrix, matrix.shape[1], squared_norms.astype(np.float32)

    def scores(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return <z_l, phi(x_i)> for the instances `rows`: float32, len(rows) x q."""
        return self._matrix[rows] @ weights

    def ascend(self, dual: Dual, order: np.ndarray, alpha: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Visit instances in a given order, and update alpha and the weights; prior and cost are 32-bit here.

        Returns: the duality gap and the primal objective, each instance's part at its visit.
        """
        sums, X = np.zeros(2), self._matrix
        of_dual = dual.present, alpha, weights, dual.prior, dual.cost
        ascend_linear(X.indptr, X.indices, X.data, self._squared_norms, order, *of_dual, sums)
        return sums


def solve(dual: Dual, tolerance: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Maximise by coordinate ascent until the relative duality gap is within the tolerance.

    Each epoch visits the instances in a new random order. It also sums up a gap with the weights at each moment, at no
    cost; once this is within the tolerance, the exact gap is computed. OverflowingError if the features are too large
    for 32-bit numbers.

    Returns: the weights; and the dual variables, from 0 to C: float32, shape (n, q), 0 for instances not in `rows`.
    """
    rng = np.random.default_rng(seed)
    dual = replace(dual, prior=dual.prior.astype(np.float32), cost=np.float32(dual.cost))
    alpha = np.zeros(dual.present.shape, np.float32)
    weights = np.zeros((dual.space.width, dual.present.shape[1]), np.float32)
    for _ in range(_MAX_EPOCHS):
        with np.errstate(all="ignore"):  # an instance of zeros: the dual grows without bound, up to alpha = C
            gap, primal = dual.space.ascend(dual, rng.permutation(dual.rows), alpha, weights)
        if not np.isfinite(gap):
            raise OverflowingError
        if gap <= tolerance * primal:
            gap, primal = duality_gap(dual, alpha, weights)
            if gap <= tolerance * primal:
                break
    return weights, alpha


def duality_gap(dual: Dual, alpha: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the difference of the primal and the dual objective, and the primal objective, with the z_l of alpha.

    With z_l = sum_k R_lk u_k and u_k = sum_i alpha_ik y_i^k phi(x_i), the primal's regulariser is half of sum_l <u_l,
    z_l> = sum_il alpha_il y_i^l <z_l, phi(x_i)>. So both objectives are sums over instances of functions of their
    scores, R^-1 is not needed, and the gap is the sum of C max(0, 1 - m) - alpha (1 - m) over instances and labels,
    where m = y <z, phi(x)>. No term is negative.
    """
    total_gap = total_primal = 0.0
    for start in range(0, len(dual.rows), _ROWS):
        rows = dual.rows[start : start + _ROWS]
        scores = dual.space.scores(weights, rows)
        margin = np.where(dual.present[rows], scores, -scores)
        loss = dual.cost * np.maximum(1 - margin, 0)
        regulariser = alpha[rows] * margin / 2
        total_gap += float((loss + 2 * regulariser - alpha[rows]).sum(dtype=np.float64))
        total_primal += float((loss + regulariser).sum(dtype=np.float64))
    return total_gap, total_primal


def correlation_prior(labels: csr_array, rho: float) -> np.ndarray:
    """Return R = (1 - rho) I + rho S, with S the cosine similarity of labels by annotations: float64, (q, q).

    0 <= rho < 1; at 0, labels are independent of each other. R is positive definite: no eigenvalue is less than
    1 - rho. Its diagonal is one.
    """
    prior = rho * cosine_similarity(labels.T.astype(np.float64))
    np.fill_diagonal(prior, 1)
    return prior


class Method:
    """M3L, linear.

    `cost`: C as in the papers, half of a support vector machine's; None: chosen by cross-validated micro-F1.
    `label_correlation`: weight rho of label correlations in the prior, from 0 to below 1; 0: independent labels.
    `folds`: number of folds for the choice of C; None: chosen by the number of instances.
    """

    threshold = THRESHOLD

    def __init__(
        self,
        cost: float | None = None,
        label_correlation: float = 0.5,
        folds: int | None = None,
        run: Run = DEFAULT_RUN,
    ) -> None:
        self.cost, self.rho, self.folds, self.run = cost, label_correlation, folds, run

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError if weights and dual variables would not fit in memory."""
        (n, D), q = X.shape, S.shape[1]
        refuse_beyond_free(
            4 * D * q + 5 * n * q,
            f"the weights of {D:,} features and the dual variables of {n:,} instances, for {q:,} labels,",
            "renumber the features from 1 without gaps, or compare fewer labels or instances",
        )
        extended = csr_array(hstack([X, csr_array(np.ones((n, 1), np.float32))], format="csr"))
        if self.cost is None:
            rows = draw_rows(n, _SAMPLE, self.run.seed)
            unit = 1 / Features.of(X[rows]).mean_squared_norm()
            _, bound = self.choose(self.out_of_fold_f1(LinearSpace(extended[rows]), X[rows], S[rows]), unit)
        else:
            bound = HAMMING * self.cost
        weights = self.train(LinearSpace(extended), S, bound)
        self.model = LinearModel(weights[:D], weights[D])

    def predict(self, X: csr_array) -> np.ndarray:
        """Return sigma(z)."""
        return self.model.probabilities(Features.of(X), self.run)

    def train(self, space: Any, S: csr_array, bound: float) -> np.ndarray:
        """Return the weights learned from all instances, with a bound of the dual variables."""
        dual = Dual(space, S.toarray(), np.arange(S.shape[0]), correlation_prior(S, self.rho), bound)
        return solve(dual, TOLERANCE, self.run.seed)[0]

    def choose(self, evaluate: Callable[[float], float], unit: float) -> tuple[float, float]:
        """Choose C by a hill climb from 3 units, in half decades, while the micro-F1 from `evaluate` rises.

        `unit` is 1 / mean ||phi(x)||^2, which makes the choice independent of the scale of the features.
        Returns: the micro-F1, and the C of a support vector machine, which is the bound of the dual variables.
        """

        def at(units: float) -> tuple[float, float]:
            return evaluate(unit * units), unit * units

        return climb(at, COSTS, _FIRST_COST, at(_FIRST_COST))

    def out_of_fold_f1(self, space: Any, X: csr_array, labels: csr_array) -> Callable[[float], float]:
        """Return the function from C to the micro-F1 of out-of-fold predictions on the annotated labels.

        C is a support vector machine's C here, the bound of the dual variables. Equal rows of X are in one fold.
        """
        n, present = labels.shape[0], labels.toarray()
        held_out = deal(n, self.folds or default_folds(n), self.run.seed, kin_of(X))
        held_out = held_out[: leading(held_out, _HELD_OUT)]
        annotated = present[np.concatenate(held_out)]

        def predict(rows: np.ndarray, cost: float) -> np.ndarray:
            rest = without(rows, n)
            dual = Dual(space, present, rest, correlation_prior(labels[rest], self.rho), cost)
            return expit(space.scores(solve(dual, _ROUGH_TOLERANCE, self.run.seed)[0], rows))

        def evaluate(cost: float) -> float:
            predicted = np.vstack([predict(rows, cost) for rows in held_out]) >= THRESHOLD
            return float(f1_score(np.count_nonzero(predicted & annotated), predicted.sum(), annotated.sum()))

        return evaluate
