"""Estimates of c from probabilities and annotations."""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.frequency import estimators
from mpu_cli.core.frequency.estimators import CountedCells, FrequencyEstimate
from mpu_cli.core.problem import VerifiedLabels


def estimate(
    P: np.ndarray,
    S: csr_array,
    method: str = "bbe",
    seed: int = 0,
    verified: VerifiedLabels | None = None,
    folds: np.ndarray | None = None,
    calibrated: np.ndarray | None = None,
    is_linear: bool = False,
) -> FrequencyEstimate:
    return estimators.estimate(CountedCells.of(P, S, verified, folds, calibrated, is_linear), method, seed)
