"""The choice of C for methods that solve a convex problem to its end."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.thresholds import estimated_f1
from mpu_cli.core.select.trials import climb
from mpu_cli.core.sgd import COSTS
from mpu_cli.core.validation import deal, default_folds, leading
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import Run

# Held-out instances for the choice of C: more hardly change which of two is better.
_HELD_OUT = 1_200
# Start of the hill climb along C, for instances of unit length.
_FIRST_COST = 3.0


class ChosenCost(NamedTuple):
    """C and its micro-F1."""

    cost: float
    f1: float


def choose_cost(evaluate: Callable[[float], float], unit: float) -> ChosenCost:
    """Choose C by a hill climb from 3 units, in half decades, while the micro-F1 that `evaluate` gives rises.

    `unit` is 1 / mean ||phi(x)||^2, which makes the choice independent of the scale of the features.
    """

    def at(units: float) -> ChosenCost:
        return ChosenCost(unit * units, evaluate(unit * units))

    return climb(at, COSTS, _FIRST_COST, at(_FIRST_COST))


def out_of_fold_f1(
    labels: csr_array,
    c: float | np.ndarray,
    threshold: np.float32,
    predict: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
    folds: int | None,
    run: Run,
    tick: Callable[[], None],
    jobs: int = 1,
) -> Callable[[float], float]:
    """Return the function from C to the micro-F1 that is estimated for complete labels, out of fold.

    `predict` gives probabilities of the held-out instances, by the training instances and C; of all labels, those that
    reach the threshold are predicted. At c = 1 labels are taken as complete. Without `folds`, these are by the number
    of instances; so many jobs are done at a time. `tick` is called once an evaluation.
    """
    n, q = labels.shape
    held_out = deal(n, folds or default_folds(n), run.seed)
    held_out = held_out[: leading(held_out, _HELD_OUT)]
    annotated = labels[np.concatenate(held_out)]
    frequency = LabelFrequency.of(c, annotated.shape)

    def predict_fold(rows: np.ndarray, cost: float) -> np.ndarray:
        rest = np.setdiff1d(np.arange(n), rows, assume_unique=True)
        return predict(rest if len(rest) else rows, rows, cost)  # no rest: there is only one instance

    def evaluate(cost: float) -> float:
        predictions = parallel.run(predict_fold, ((rows, cost) for rows in held_out), jobs)
        f1 = estimated_f1(np.vstack(list(predictions)), annotated, frequency, np.full(q, threshold))
        tick()
        return f1

    return evaluate
