"""The result of a training, from which predictions are made."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.names import LabelNames

if TYPE_CHECKING:
    from mpu_cli.core.data.features import Columns
    from mpu_cli.methods import Model


@dataclass(frozen=True)
class TrainedModel:
    """A predictor with all that predicting files needs.

    Attributes
    ----------
    method : str
        Name of the method that learned it.
    predictor : Model
        Of one of the kinds of `mpu_cli.bundle.kinds`.
    label_ids : ndarray of int64, shape (q,)
        The label, as written in files, of each column.
    c : ndarray of float64, shape (q,)
        Label frequencies used in training.
    occurring : Columns
        The features that occurred in training.
    options : dict
        Options and estimates of the training, for the record; JSON values.
    names : LabelNames or None
        The names of these labels, if they have any.
    vectorizer : bytes or None
        The vectoriser that made the data of texts, if any, in the form of `mpu_cli.text.packed`.
    origin : bytes or None
        How it was trained (see `mpu_cli.bundle.origin`). No prediction depends on it.
    """

    method: str
    predictor: "Model"
    label_ids: np.ndarray
    c: np.ndarray
    occurring: "Columns"
    options: dict
    names: LabelNames | None = None
    vectorizer: bytes | None = None
    origin: bytes | None = None

    def shown_labels(self, numbers: bool = False) -> np.ndarray:
        """Return the names of its labels; their numbers if `numbers` is true or there are no names."""
        if self.names is None or numbers:
            return self.label_ids
        return np.array([self.names.shown(number) for number in self.label_ids.tolist()], object)

    def count_unknown(self, matrix: csr_array) -> int:
        """Count the feature entries of a matrix whose feature never occurred in training."""
        return matrix.nnz - self.occurring.count(matrix)
