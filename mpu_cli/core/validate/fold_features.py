"""Features of level 1 where a fold is held out, for an honest estimate of what level 1 is worth (`validate.nested`)."""

from collections.abc import Callable

import numpy as np

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import Predictions
from mpu_cli.core.model.calibration import calibrate
from mpu_cli.core.model.decision import evidence
from mpu_cli.core.model.stacking import stack
from mpu_cli.core.train.levels import HeldOut, LevelLearner


def features_without(
    learner: LevelLearner, features: Features, out_of_fold: Predictions, enough: int, scale: float
) -> Callable[[int], Features] | None:
    """Return what gives the features of level 1 where a fold is held out: from predictions that know nothing of it.

    None where the out-of-fold predictions serve for all folds (`core.validate.nested`).
    """
    nested = None if not isinstance(out_of_fold, np.ndarray) else learner.predict_nested(features, out_of_fold, enough)
    if nested is None:
        return None
    everything = np.arange(len(features))
    fold_rows = learner.fold_rows(len(features))

    def of_fold(i: int) -> Features:
        rest = np.setdiff1d(everything, fold_rows[i], assume_unique=True)
        seen = HeldOut(rest, nested[i][rest])
        calibration = calibrate(*evidence(seen, learner.labels, learner.frequency))
        predictions = nested[i] if calibration is None else calibration(nested[i])
        return stack(features, predictions, scale, learner.run.empty)

    return of_fold
