"""M3L: max-margin multi-label learning with a prior of label correlations.

Hariharan, Zelnik-Manor, Vishwanathan and Varma, "Large Scale Max-Margin Multi-Label Classification with Priors",
ICML 2010; Hariharan, Vishwanathan and Varma, "Efficient Max-Margin Multi-Label Classification with Applications to
Zero-Shot Learning", Machine Learning 88, 2012. With y_i^l = 1 if instance i is annotated with label l and -1
otherwise, and a positive definite prior R (q x q) of label correlations:

    min over z_1 .. z_q of  1/2 sum_lk (R^-1)_lk <z_l, z_k> + 2 C sum_i sum_l max(0, 1 - y_i^l <z_l, phi(x_i)>)

and label l is predicted where <z_l, phi(x)> > 0. C is that of the papers: it weights the Hamming loss of structured
prediction, sum_l (1 - y^l y'^l), in which a wrong label costs 2. So C = 0.5 is a support vector machine's C = 1. In the
dual, 0 <= alpha_il <= 2 C and

    z_l = sum_k R_lk sum_i alpha_ik y_i^k phi(x_i).

The gradient of the dual along alpha_il is 1 - y_i^l <z_l, phi(x_i)> and its curvature R_ll K_ii, so that each
coordinate has its maximum in closed form; a step of delta moves every z_k by R_kl delta y_i^l phi(x_i). With R = I
these are q independent support vector machines. What the papers leave open, and how it was chosen:
docs/choices/baselines.md, "Choices of M3L".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from mpu_cli.core.features import Features
from mpu_cli.core.limits import refuse_beyond_free
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.sample import draw
from mpu_cli.core.stacking import StackedModel
from mpu_cli.core.trials import WORTHWHILE, choose_cost, out_of_fold_f1
from mpu_cli.methods.baselines import M3lLinearOptions, M3lRbfOptions
from mpu_cli.methods.baselines.dual import Dual, LinearSpace, Space, solve
from mpu_cli.methods.baselines.rbf import KernelModel, RbfSpace, mean_squared_distance, rbf_kernel
from mpu_cli.runtime.parallel import blas_on_one_thread
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step

# The next number after 1/2: a label is predicted if sigma(z) is greater than 1/2.
_THRESHOLD = np.nextafter(np.float32(0.5), np.float32(1))
# A smaller duality gap hardly changes which of two C is better.
_ROUGH_TOLERANCE = 0.05

TOLERANCE = 0.01
# Cost of a wrong label in the Hamming loss of +1 and -1.
_HAMMING = 2
# Values of gamma, in units of 1 / mean ||x - x'||^2.
_WIDTHS = (1.0, 0.2)
# Most instances for the choice of C and gamma of a kernel, whose time is quadratic in them.
_KERNEL_SAMPLE = 3_000


@dataclass(frozen=True)
class M3lFindings:
    """The report of a training."""

    cost: float  # C of the papers
    gamma: float | None  # width of the RBF kernel; None for the linear one
    label_correlation: float  # rho: weight of the label similarities in the prior R; the rest is the identity
    epochs: int  # passes over the instances
    # Duality gap divided by the primal objective at the end; above the tolerance if C is too large to reach it
    relative_gap: float
    f1: float | None  # cross-validated micro-F1 on the annotated labels of the chosen C; None if C was set


def train_linear(
    matrix: csr_array,
    labels: csr_array,
    options: M3lLinearOptions,
    *,
    tolerance: float = TOLERANCE,
    run: Run = DEFAULT_RUN,
) -> tuple[StackedModel, M3lFindings]:
    """Train all labels with phi(x) = x; C is chosen by cross-validated micro-F1 unless it is set.

    `tolerance`: duality gap to reach, divided by the primal objective.
    `run`: observes the steps "choose C" (one tick per setting) and "ascend" (one tick per epoch).
    Returns: a model of one level: Pr = sigma(z), and a label is predicted where z > 0.
    Raises TooLargeError (weights and dual variables would not fit in memory), MpuError (the features are too large for
    32-bit numbers).
    """
    (n, D), q = matrix.shape, labels.shape[1]
    refuse_beyond_free(
        4 * D * q + 5 * n * q,
        f"the weights of {D:,} features (the largest index and 1) and the dual variables of {n:,} instances, "
        f"for {q:,} labels,",
        "renumber the features from 1 without gaps, or train fewer labels or instances",
    )
    extended = _with_constant(matrix, options.bias)
    if options.cost is None:
        with run.step(Step.CHOOSE_C, None) as tick:
            rows = draw(n, options.sample, run.seed)
            part = slice(None) if len(rows) == n else rows
            unit = 1 / Features.of(matrix[part]).mean_squared_norm()
            evaluate = _evaluator(LinearSpace(extended[part], run), labels[part], options, run, tick)
            bound, f1 = choose_cost(evaluate, unit)
    else:
        bound, f1 = _HAMMING * options.cost, None
    with run.step(Step.ASCEND, None) as tick:
        dual = Dual(LinearSpace(extended, run), labels.toarray(), np.arange(n), _prior(labels, options), bound)
        solution = solve(dual, tolerance, run.seed, jobs=run.jobs, tick=tick)
    biases = np.float32(options.bias) * solution.weights[D] if options.bias else np.zeros(q, np.float32)
    model = StackedModel((LinearModel(solution.weights[:D], biases),), 0.0, np.full(q, _THRESHOLD))
    return model, M3lFindings(
        bound / _HAMMING, None, options.label_correlation, solution.epochs, solution.relative_gap, f1
    )


def train_rbf(
    matrix: csr_array,
    labels: csr_array,
    options: M3lRbfOptions,
    *,
    tolerance: float = TOLERANCE,
    run: Run = DEFAULT_RUN,
) -> tuple[KernelModel, M3lFindings]:
    """Train all labels with the RBF kernel, <phi(x), phi(x')> = exp(-gamma ||x - x'||^2) + bias^2, as `train_linear`.

    Without gamma, it is 1 / mean ||x - x'||^2 of the instances or a fifth of it, whichever gives the better
    cross-validated micro-F1; the former if C is set. There is a step "kernel matrix" before the others. TooLargeError
    where the kernel matrix, 4 n^2 bytes, would not fit in memory.
    """
    n, q = labels.shape
    refuse_beyond_free(
        4 * n * n,
        f"the kernel values of {n:,} x {n:,} instances",
        "train on fewer instances, or with m3l-linear, which has no such matrix",
    )
    widths = (
        [factor / mean_squared_distance(matrix) for factor in _WIDTHS] if options.gamma is None else [options.gamma]
    )
    constant = options.bias**2
    if options.cost is None:
        with run.step(Step.CHOOSE_C, None) as tick:
            rows = draw(n, min(options.sample, _KERNEL_SAMPLE), run.seed)
            gamma, bound, f1 = _choose_width_and_cost(matrix[rows], labels[rows], widths, options, run, tick)
    else:
        gamma, bound, f1 = widths[0], _HAMMING * options.cost, None
    with run.step(Step.KERNEL_MATRIX, None):
        gram = rbf_kernel(matrix, matrix, gamma)
        gram += np.float32(constant)
    with run.step(Step.ASCEND, None) as tick, blas_on_one_thread():
        space = RbfSpace(gram, run)
        dual = Dual(space, labels.toarray(), np.arange(n), _prior(labels, options), bound)
        solution = solve(dual, tolerance, run.seed, tick=tick)
    support = np.flatnonzero(solution.weights.any(axis=1))
    model = KernelModel(matrix[support], solution.weights[support], gamma, np.full(q, _THRESHOLD), constant)
    return model, M3lFindings(
        bound / _HAMMING, gamma, options.label_correlation, solution.epochs, solution.relative_gap, f1
    )


def _prior(labels: csr_array, options: M3lLinearOptions) -> np.ndarray:
    """Return R."""
    return correlation_prior(labels, options.label_correlation, options.likeness)


def _evaluator(
    space: Space, labels: csr_array, options: M3lLinearOptions, run: Run, tick: Callable[[], None]
) -> Callable[[float], float]:
    """Return the function from C to the micro-F1 of out-of-fold predictions on the annotated labels.

    C is that of a support vector machine here, the bound of the dual variables.
    """
    present = labels.toarray()

    def predict(rest: np.ndarray, rows: np.ndarray, bound: float) -> np.ndarray:
        dual = Dual(space, present, rest, _prior(labels[rest], options), bound)
        return expit(space.scores(solve(dual, _ROUGH_TOLERANCE, run.seed).weights, rows))

    return out_of_fold_f1(labels, 1.0, _THRESHOLD, predict, options.folds, run, tick, run.jobs)


class _Chosen(NamedTuple):
    """Gamma, C (as of `_evaluator`) and their micro-F1."""

    gamma: float
    cost: float
    f1: float


def _choose_width_and_cost(
    matrix: csr_array,
    labels: csr_array,
    widths: list[float],
    options: M3lRbfOptions,
    run: Run,
    tick: Callable[[], None],
) -> _Chosen:
    """Choose C at the first gamma, then go on to the next gamma as long as the micro-F1 rises.

    C is measured in 1 / mean ||phi(x) - mean phi||^2, in which its best value hardly depends on gamma.
    """

    def prepare(gamma: float) -> tuple[Callable[[float], float], float]:
        gram = rbf_kernel(matrix, matrix, gamma)
        unit = 1 / max(1 - float(gram.mean(dtype=np.float64)), 1e-3)
        gram += np.float32(options.bias**2)
        return _evaluator(RbfSpace(gram, run), labels, options, run, tick), unit

    gamma = widths[0]
    evaluate, unit = prepare(gamma)
    cost, f1 = choose_cost(evaluate, unit)
    units = cost / unit
    for candidate in widths[1:]:
        evaluate, unit = prepare(candidate)
        candidate_f1 = evaluate(units * unit)
        if candidate_f1 < f1 + WORTHWHILE:
            break
        gamma, cost, f1 = candidate, units * unit, candidate_f1
    return _Chosen(gamma, cost, f1)


def _with_constant(matrix: csr_array, value: float) -> csr_array:
    """Append a constant feature, unless it is 0."""
    if not value:
        return matrix
    n = matrix.shape[0]
    return csr_array(hstack([matrix, csr_array(np.full((n, 1), value, np.float32))], format="csr"))


def cosine_similarity(labels: csr_array) -> np.ndarray:
    """Cosine of each pair of label columns, |a and b| / sqrt(|a| |b|): float64, shape (q, q).

    Positive semi-definite with a diagonal of ones. A label without instances is similar to itself alone.
    """
    return _normalised(_together(labels))


def pearson_correlation(labels: csr_array) -> np.ndarray:
    """Correlation coefficient of each pair of label columns: less than 0 if labels exclude each other; (q, q).

    Positive semi-definite with a diagonal of ones. A label of no instance, or of all, is similar to itself alone.
    """
    together = _together(labels)
    frequency = np.diagonal(together)
    return _normalised(labels.shape[0] * together - np.outer(frequency, frequency))


def _together(labels: csr_array) -> np.ndarray:
    """Count the instances that have both of two labels: float64, q x q."""
    counts = labels.astype(np.float64)
    return (counts.T @ counts).toarray()


def _normalised(products: np.ndarray) -> np.ndarray:
    """Divide products of vectors by their lengths; a vector of length 0 is similar to itself alone."""
    squared = np.diagonal(products)
    lengths = np.sqrt(np.where(squared > 0, squared, 1))
    similarity = products / np.outer(lengths, lengths)
    np.fill_diagonal(similarity, 1)
    return similarity


# S of `correlation_prior`, by its name in options.
LIKENESS = {"cosine": cosine_similarity, "pearson": pearson_correlation}


def correlation_prior(labels: csr_array, rho: float, likeness: str = "cosine") -> np.ndarray:
    """R = (1 - rho) I + rho S, where S has the similarities of labels by their annotations: float64, shape (q, q).

    0 <= rho < 1; at 0 labels are independent of each other. S is "cosine", from 0 to 1, or "pearson", from -1 to 1. R
    is positive definite: no eigenvalue is less than 1 - rho. Its diagonal is one.
    """
    prior = rho * LIKENESS[likeness](labels)
    np.fill_diagonal(prior, 1)
    return prior
