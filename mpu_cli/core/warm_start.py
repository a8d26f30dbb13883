"""Warm start: training that begins with the weights of an earlier model instead of zero."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.core.sgd import LinearModel, Settings, initial_bias
from mpu_cli.core.stacking import StackedModel


@dataclass(frozen=True)
class WarmStart:
    """An earlier model, and which of its labels are those of the new data.

    Attributes
    ----------
    model : StackedModel
        Its D features are the new data's by their index.
    columns : ndarray of int, shape (q,)
        The column that each label of the new data has in the model; -1 for a new label.
    settings : Settings
        C and eta0 that the model was trained with.
    """

    model: StackedModel
    columns: np.ndarray
    settings: Settings

    def level(
        self, number: int, matrix: csr_array, labels: csr_array, frequency: LabelFrequency, scale: float
    ) -> LinearModel:
        """Return where a level starts on the new data.

        Labels, features and predictions of labels that are new have weights of zero, as in a cold start; those that
        have vanished are left out.

        Parameters
        ----------
        number : int
            Level l.
        matrix : csr_array, shape (n, D), float32
            New features.
        labels : csr_array of bool, shape (n, q)
            New annotated labels.
        frequency : LabelFrequency
            Of the new labels.
        scale : float
            What probabilities are multiplied by when they become features of the new data.

        Returns
        -------
        LinearModel
            Weights of shape (D + l q, q).
        """
        old = self.model.levels[number]
        q, D = labels.shape[1], matrix.shape[1]
        known = np.flatnonzero(self.columns >= 0)
        column = self.columns[known]
        weights = np.zeros((D + number * q, q), np.float32)
        shared = np.unique(matrix.indices)
        shared = shared[shared < self.model.n_features]
        weights[np.ix_(shared, known)] = old.weights[np.ix_(shared, column)]
        for below in range(number):
            here, there = D + below * q, self.model.n_features + below * len(old.bias)
            weights[np.ix_(here + known, known)] = old.weights[np.ix_(there + column, column)]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused where the level is used
            weights[D:] *= np.float32(self.model.scale / scale)
        bias = initial_bias(labels, frequency.single_precision())
        bias[known] = old.bias[column]
        return LinearModel(weights, bias)


def warm_epochs(epochs: int) -> int:
    """Return the passes of a warm start where a cold one takes so many."""
    return max(1, epochs // 2)
