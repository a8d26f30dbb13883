"""The choice of C and gamma for M3L by the micro-F1 of out-of-fold predictions on the annotated labels.

C is that of a support vector machine here, the bound of the dual variables.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.thresholds import estimated_f1
from mpu_cli.core.select.trials import WORTHWHILE
from mpu_cli.core.validate.validation import deal, default_folds, leading
from mpu_cli.methods.m3l.dual import Dual, Space, solve
from mpu_cli.methods.m3l.rbf import RbfSpace, rbf_kernel
from mpu_cli.methods.shared.costs import HELD_OUT, choose_cost
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import Run

# The next number after 1/2: a label is predicted if sigma(z) is greater than 1/2.
THRESHOLD = np.nextafter(np.float32(0.5), np.float32(1))
# A smaller duality gap hardly changes which of two C is better.
_TOLERANCE = 0.05

PriorOf = Callable[[csr_array], np.ndarray]


def evaluator(
    space: Space,
    labels: csr_array,
    prior_of: PriorOf,
    folds: int | None,
    run: Run,
    tick: Callable[[], None],
) -> Callable[[float], float]:
    """Return the function from C to the micro-F1 of out-of-fold predictions on the annotated labels.

    Parameters
    ----------
    space : Space, n instances
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    prior_of : callable
        Returns the prior R from the annotated labels of the training instances.
    folds, run : as in `train_linear`
    tick : callable
        Called once an evaluation.
    """
    n, q = labels.shape
    present = labels.toarray()
    held_out = deal(n, folds or default_folds(n), run.seed)
    held_out = held_out[: leading(held_out, HELD_OUT)]
    annotated = labels[np.concatenate(held_out)]
    complete = LabelFrequency.of(1.0, annotated.shape)

    def predict(rows: np.ndarray, cost: float) -> np.ndarray:
        rest = np.setdiff1d(np.arange(n), rows, assume_unique=True)
        if not len(rest):  # there is only one instance
            rest = rows
        solution = solve(Dual(space, present, rest, prior_of(labels[rest]), cost), _TOLERANCE, run.seed)
        return expit(space.scores(solution.weights, rows))

    def evaluate(cost: float) -> float:
        predictions = parallel.run(predict, ((rows, cost) for rows in held_out), run.jobs)
        f1 = estimated_f1(np.vstack(list(predictions)), annotated, complete, np.full(q, THRESHOLD))
        tick()
        return f1

    return evaluate


class ChosenWidth(NamedTuple):
    """Gamma, C and their micro-F1."""

    gamma: float
    cost: float
    f1: float


def choose_width_and_cost(
    matrix: csr_array,
    widths: list[float],
    labels: csr_array,
    prior_of: PriorOf,
    constant: float,
    folds: int | None,
    run: Run,
    tick: Callable[[], None],
) -> ChosenWidth:
    """Choose C at the first gamma, then go on to the next gamma as long as the micro-F1 rises.

    C is measured in 1 / mean ||phi(x) - mean phi||^2, in which its best value hardly depends on gamma.

    Parameters
    ----------
    matrix : csr_array, shape (n, D), float32
    widths : list of float
        Values of gamma.
    labels, prior_of, folds, run, tick
        As for `evaluator`.
    constant : float
        Constant added to every kernel value.

    Returns
    -------
    ChosenWidth
    """

    def prepare(gamma: float) -> tuple[Callable[[float], float], float]:
        gram = rbf_kernel(matrix, matrix, gamma)
        unit = 1 / max(1 - float(gram.mean(dtype=np.float64)), 1e-3)
        gram += np.float32(constant)
        return evaluator(RbfSpace(gram, run), labels, prior_of, folds, run, tick), unit

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
    return ChosenWidth(gamma, cost, f1)
