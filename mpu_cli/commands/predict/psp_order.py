"""Order labels by probability / propensity, which maximises the propensity-scored precision at k that is expected.

PSP@k adds up 1 / propensity of each of the first k labels that is true (Jain, Prabhu, Varma, KDD 2016). Of label k with
probability p that is p / propensity on average, so the k labels with the largest of these come first.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.bundle import TrainedModel, origin
from mpu_cli.core.data.predictions import Predictions, Top
from mpu_cli.errors import MpuError
from mpu_cli.evaluation.propensities import jain_propensities
from mpu_cli.methods import Model
from mpu_cli.runtime.run import DEFAULT_RUN, Run


@dataclass(frozen=True)
class Weighted:
    """A model whose predictions are multiplied by a weight of each label.

    Attributes
    ----------
    weights : ndarray of float32, shape (q,)
        In (0, 1].
    """

    model: Model
    weights: np.ndarray

    @property
    def thresholds(self) -> np.ndarray:
        """Return thresholds which the same labels reach."""
        return self.model.thresholds * self.weights

    @property
    def n_features(self) -> int:
        """Return the number of features D."""
        return self.model.n_features

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return weighted probabilities, float32, shape (n, q)."""
        return self.model.probabilities(matrix, run) * self.weights

    def predictions(self, matrix: csr_array, run: Run = DEFAULT_RUN, most: int | None = None) -> Predictions:
        """Return the same; of many labels those of the most probable ones, as many as usual or more."""
        predictions = self.model.predictions(matrix, run, None if most is None else max(most, Top().most))
        if isinstance(predictions, np.ndarray):
            return predictions * self.weights
        predictions.data *= self.weights[predictions.indices]
        return predictions


def ordered_by_psp(model: TrainedModel, path: Path) -> TrainedModel:
    """Return a model whose scores are probability / propensity, as a share of the largest that they can be.

    Propensities are those of Jain et al., by the annotations that the model has learned from.

    Parameters
    ----------
    path : Path
        Where it is, for messages.

    Raises
    ------
    MpuError
        The model has no record of its training, or has learned from fewer than 3 instances.
    """
    try:
        trained = None if model.origin is None else origin.parse(model.origin, len(model.label_ids))
    except ValueError:
        trained = None
    if trained is None:
        raise MpuError(
            f"{path}: no record of how often labels were annotated in training, so no propensities: train again"
        )
    propensities = jain_propensities(trained.annotated, trained.instances)
    weights = (propensities.min() / propensities).astype(np.float32)
    return replace(model, predictor=Weighted(model.predictor, weights))
