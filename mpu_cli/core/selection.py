"""The choice of C and eta0 by the micro-F1 estimated from the incomplete labels, cross-validated."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import sgd
from mpu_cli.core.thresholds import pooled_threshold
from mpu_cli.core.validation import Fold, out_of_fold

COSTS = tuple(float(f"{m}e{e}") for e in range(-3, 6) for m in (1, 3))
STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
# A change that gains less than this is noise, and not worth another round of training.
_WORTHWHILE = 5e-4


@dataclass(frozen=True)
class Choice:
    """Chosen settings with what they were chosen by.

    Attributes
    ----------
    settings : Settings
    f1 : float
        Estimated micro-F1 of the out-of-fold predictions at their best threshold.
    probabilities : ndarray of float32, shape (n, q)
        Out-of-fold predictions under the chosen settings.
    """

    settings: sgd.Settings
    f1: float
    probabilities: np.ndarray


def choose_settings(
    folds: list[Fold],
    labels: csr_array,
    c: np.ndarray,
    start: sgd.Settings,
    jobs: int,
    tick: Callable[[], None] = lambda: None,
) -> Choice:
    """Climb from a start along C, then along eta0, as long as the estimate rises.

    The estimate is smooth and has one broad top along either, so that a climb of some seven settings finds what a
    grid of ninety would.

    Parameters
    ----------
    folds : list of Fold
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    c : ndarray, shape (q,)
        Label frequency.
    start : Settings
        Where to start, with cost among `COSTS` and step among `STEPS`; its epochs are kept.
    jobs : int
        Threads.
    tick : callable
        Called once a setting.

    Returns
    -------
    Choice
    """

    def evaluate(settings: sgd.Settings) -> Choice:
        probabilities = out_of_fold(folds, labels.shape, c, settings, jobs)
        tick()
        return Choice(settings, pooled_threshold(probabilities, labels, c)[1], probabilities)

    best = evaluate(start)
    for name, grid in (("cost", COSTS), ("step", STEPS)):
        origin = best
        for direction in (1, -1):
            while 0 <= (i := grid.index(getattr(best.settings, name)) + direction) < len(grid):
                candidate = evaluate(replace(best.settings, **{name: grid[i]}))
                if candidate.f1 < best.f1 + _WORTHWHILE:
                    break
                best = candidate
            if best is not origin:
                break
    return best
