"""Warm start: training that begins with the weights of an earlier model instead of zero."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Columns
from mpu_cli.core.model.stacking import LinearModel, StackedModel
from mpu_cli.core.sgd import Settings


@dataclass(frozen=True)
class WarmStart:
    """An earlier model, and which of its labels the new data have."""

    model: StackedModel  # its D features are the new data's by their index
    # int, shape (q,): the column that each label of the new data has in the model; -1 for a new label
    columns: np.ndarray
    settings: Settings  # C and eta0 that the model was trained with

    def level(
        self,
        number: int,
        features: Columns,
        cold: np.ndarray,
        scale: float,
        many: bool = False,
    ) -> LinearModel:
        """Return where a level starts on the new data.

        Labels, features and predictions of labels that are new have weights of zero, as in a cold start; those that
        have vanished are left out.

        `number`: level l.
        `features`: the features that occur in the new data, of D; only these get weights if they are few: D' in place
        of D.
        `cold`: float32, shape (q,): biases of a cold start (`sgd.initial_bias`), which new labels take.
        `scale`: what probabilities are multiplied by when they become features of the new data.
        `many`: whether labels are many, so that the weights are to be sparse.
        Returns: weights of shape (D + l q, q).
        """
        old, q = self.model.levels[number], len(cold)
        D, old_D = len(features.indices) if features.are_few else features.width, self.model.levels[0].weights.shape[0]
        shared = np.flatnonzero(self.columns >= 0)
        column = self.columns[shared]
        places, there = self._places(features.indices)
        of_features = np.arange(D)[there] if features.are_few else features.indices[there]
        here = [of_features, *(D + below * q + shared for below in range(number))]
        before = [places[there], *(old_D + below * len(old.bias) + column for below in range(number))]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused where the level is used
            factors = np.ones(D + number * q, np.float32)
            factors[D:] = self.model.scale / scale
            new, former = np.concatenate(here), np.concatenate(before)
            shape = D + number * q, old.weights.shape[0]
            rows = csr_array((factors[new], (new, former)), shape=shape)
            chosen = csr_array((np.ones(len(shared), np.float32), (column, shared)), shape=(len(old.bias), q))
            weights = rows @ old.weights @ chosen
        if many != isinstance(weights, csr_array):
            weights = csr_array(weights) if many else weights.toarray()
        bias = cold.copy()
        bias[shared] = old.bias[column]
        return LinearModel(weights, bias)

    def _places(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the row of the earlier model's weights for each feature, and whether there is one."""
        if self.model.columns is not None:
            return self.model.columns.look_up(features)
        return features, features < self.model.n_features


def warm_epochs(epochs: int) -> int:
    """Return the passes of a warm start, from those of a cold one."""
    return max(1, epochs // 2)
