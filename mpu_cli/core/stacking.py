"""Stacked levels: each learns from the features and the predictions of the levels before (Kong et al. 2014, Section 3).

Level 0 learns from x. Level l learns from x^(l) = (x^(l-1), scale * yhat^(l-1)), where yhat^(l-1) are the level's
out-of-fold predictions in training and its plain predictions later. That is how label correlations enter.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.calibration import Calibration
from mpu_cli.core.features import Features
from mpu_cli.core.sgd import LinearModel
from mpu_cli.runtime.run import DEFAULT_RUN, Run


@dataclass(frozen=True)
class StackedModel:
    """Levels that run in turn, and a decision threshold for each label.

    Attributes
    ----------
    levels : tuple of LinearModel
        Level l has weights of shape (D + l q, q).
    scale : float
        What probabilities are multiplied by when they become features.
    thresholds : ndarray of float32, shape (q,)
        A label is predicted where its probability is at least its threshold.
    frequencies : ndarray of float64, shape (q,), optional
        Label frequency of each label, where the last level predicts Pr(s=1 | x) = c Pr(y=1 | x) (Elkan and Noto
        2008): its probabilities are divided by c, and cut off at 1.
    calibration : Calibration, optional
        What makes probabilities of the predictions of the last level; None: they are taken for such as they are.
    """

    levels: tuple[LinearModel, ...]
    scale: float
    thresholds: np.ndarray
    frequencies: np.ndarray | None = None
    calibration: Calibration | None = None

    @property
    def n_features(self) -> int:
        """Number of features D that level 0 knows."""
        return self.levels[0].weights.shape[0]

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Pr(y^k = 1 | x) by the last level.

        Parameters
        ----------
        matrix : csr_array, shape (n, any), float32
            Features; columns beyond the model's are ignored.
        run : Run

        Returns
        -------
        ndarray of float32, shape (n, q)
        """
        features = Features.of(matrix, self.n_features)
        probabilities = self.levels[0].probabilities(features, run)
        for level in self.levels[1:]:
            features = stack(features, probabilities, self.scale)
            probabilities = level.probabilities(features, run)
        if self.frequencies is not None:
            probabilities = np.minimum(probabilities / self.frequencies.astype(np.float32), np.float32(1))
        return probabilities if self.calibration is None else self.calibration(probabilities)


def stack(
    features: Features, probabilities: np.ndarray, scale: float, empty: Callable[..., np.ndarray] = np.empty
) -> Features:
    """Return x^(l) = (x^(l-1), scale * yhat^(l-1)); `empty` as for `Features.of`."""
    return features.append(probabilities, scale, empty)
