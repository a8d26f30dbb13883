"""The choice of C, eta0 and the prior by the F1 estimated from the incomplete labels, cross-validated.

A hill climb along C also serves methods that solve a convex problem to its end.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import sgd
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.loss import loss_named
from mpu_cli.core.model.calibration import BinnedCells, calibrate_strata
from mpu_cli.core.options import MACRO_F1, PU_F1
from mpu_cli.core.predictions import Block, count_positives
from mpu_cli.core.sgd import COSTS
from mpu_cli.core.thresholds import best_threshold, estimated_macro_f1, pooled_threshold
from mpu_cli.core.validation import Fold, learn_folds, out_of_fold, predict, source_models
from mpu_cli.core.work import USUAL, Work

STEPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
PRIORS = (0.0, 7.5, 15.0, 30.0, 60.0)
# What of `sgd.Settings` is chosen, in this order.
_GRIDS = {"cost": COSTS, "step": STEPS, "prior": PRIORS}
# More held-out instances than this hardly change which of two settings is better.
SELECTION_SIZE = 8_000
# How many held-out instances the weights to drop are chosen by.
PRUNING_SIZE = 2_000
# A change that gains less than this is noise, and not worth another round of training.
WORTHWHILE = 5e-4
# Micro-F1 that dropping weights may cost, by the estimate: the next smaller cut leaves several times as many.
_COST_OF_PRUNING = 1e-3
# Below which weights are dropped, for instances of unit length.
CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


class Scored(Protocol):
    """What has an F1."""

    @property
    def f1(self) -> float: ...  # noqa: D102


Candidate = TypeVar("Candidate", bound=Scored)


@dataclass(frozen=True)
class Trial:
    """What settings are compared by: predictions of folds by models that have not seen them."""

    folds: list[Fold]  # they need not hold out all instances
    labels: csr_array
    frequency: LabelFrequency
    # float64, shape (q,): how many labels each of these stands for; None: each for itself
    weights: np.ndarray | None = None

    def estimated_f1(self, predictions: np.ndarray, criterion: str | float = PU_F1, guided: bool = False) -> float:
        """Estimate the F1 of predictions (n x q) of all instances that the folds hold out.

        Where label features are learned from, micro-F1 is estimated in strata (`core.predictions`).
        """
        held_out = predictions[self._rows], *self._held_out
        if criterion == MACRO_F1:
            return estimated_macro_f1(*held_out)
        if not guided:
            return pooled_threshold(*held_out)[1]
        positives = self.frequency.positives(self.labels)
        binned = BinnedCells.of(*held_out, made_by=source_models(self.folds, positives))
        return best_threshold(binned, calibrate_strata(binned, count_positives(positives)))[1]

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.sort(np.concatenate([fold.rows for fold in self.folds]))

    @cached_property
    def _held_out(self) -> tuple[csr_array, LabelFrequency, np.ndarray | None]:
        return self.labels[self._rows], self.frequency.rows(self._rows), self.weights


@dataclass(frozen=True)
class Choice:
    """Chosen settings with what they were chosen by."""

    settings: sgd.Settings
    f1: float  # estimated of the out-of-fold predictions at their best thresholds, by the criterion of the choice
    # float32, shape (n, q): out-of-fold predictions under the chosen settings, in the rows that the folds hold out
    probabilities: np.ndarray


def choose_settings(
    trial: Trial,
    start: sgd.Settings,
    free: Collection[str] = ("cost", "step"),
    criterion: str | float = PU_F1,
    run: Work = USUAL,
    tick: Callable[[], None] = lambda: None,
) -> Choice:
    """Climb from a start along C, then along eta0, then along the prior, as long as the estimate rises.

    The estimate is smooth and has one broad top along each, so that a climb of some seven settings finds what a
    grid of ninety would.

    `start`: where to start; what is free is among `COSTS`, `STEPS` or `PRIORS`.
    `free`: what to choose: some of "cost", "step" and "prior". The rest of the start is kept.
    `criterion`: of the thresholds, as in `core.options.Options`: of macro-F1, or else of micro-F1 at one
    threshold.
    `tick`: called once per setting.
    """

    def evaluate(settings: sgd.Settings) -> Choice:
        probabilities = out_of_fold(trial.folds, trial.labels.shape, trial.frequency, settings, run)
        tick()
        return Choice(settings, trial.estimated_f1(probabilities, criterion, bool(settings.prior)), probabilities)

    def along(name: str, best: Choice) -> Choice:
        def candidate(value: float) -> Choice:
            changed: dict[str, Any] = {name: value}
            return evaluate(replace(best.settings, **changed))

        grid = _GRIDS[name]
        if name == "step" and start.thin and (start.prior or "prior" in free):
            # Drawn labels compete with few others: a larger step, surer of names, looks better than it is.
            grid = tuple(step for step in grid if step <= start.step)
        return climb(candidate, grid, getattr(best.settings, name), best)

    best = evaluate(start)
    for name in _GRIDS:
        if name in free and (name != "step" or loss_named(start.loss).has_step):
            if name == "prior":  # what it is compared by knows what models have seen
                best = replace(best, f1=trial.estimated_f1(best.probabilities, criterion, guided=True))
            best = along(name, best)
    return best


def choose_pruning(trial: Trial, settings: sgd.Settings, run: Work = USUAL) -> float:
    """Choose the largest weight to drop: as large as costs the estimate of micro-F1 next to nothing.

    The result is an absolute value, one of `CUTS` by the length of an instance.
    """
    folds, frequency = trial.folds, trial.frequency
    cuts = np.array(CUTS) / np.sqrt(folds[0].training.mean_squared_norm)
    probabilities = [np.empty(trial.labels.shape, np.float32) for _ in cuts]

    def try_block(fold: Fold, block: Block, model: LinearModel) -> None:
        for cut, into in zip(cuts, probabilities, strict=True):
            predict(model.pruned(float(cut)), fold.features, fold.rows, block, into, run)

    learn_folds(folds, frequency, settings, try_block, run)
    f1 = [trial.estimated_f1(of_cut, guided=bool(settings.prior)) for of_cut in probabilities]
    return float(cuts[np.flatnonzero(np.array(f1) > f1[0] - _COST_OF_PRUNING)[-1]])


def climb(evaluate: Callable[[float], Candidate], grid: tuple[float, ...], start: float, first: Candidate) -> Candidate:
    """Go along a grid, up from a start or else down, as long as that gains something.

    `evaluate`: gives the candidate at a value of the grid, with its `f1`.
    `start`: one of the grid.
    `first`: at the start.
    Returns: the best candidate.
    """
    best = first
    for direction in (1, -1):
        i = grid.index(start) + direction
        while 0 <= i < len(grid) and (candidate := evaluate(grid[i])).f1 >= best.f1 + WORTHWHILE:
            best = candidate
            i += direction
        if best is not first:
            break
    return best
