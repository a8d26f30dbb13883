"""What classifiers of label sets have in common."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logit
from sklearn.base import ClassifierMixin

from mpu_cli.api import arrays, cluster_learning
from mpu_cli.errors import DataError
from mpu_cli.evaluation.incomplete import corrected
from mpu_cli.runtime.options import FREQUENCY, checked


class LabelSetsMixin(ClassifierMixin):
    """Label sets by name, their micro-F1, and what scikit-learn is to know.

    Of what has `predict`, `classes_`, `thresholds_`, and `_has_one_dimension`, whether y had a class for each instance.
    """

    _has_one_dimension = False

    def predict_labels(self, X: Any) -> list[tuple[Any, ...]]:
        """Predict label sets by name.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)

        Returns
        -------
        list of tuple
            The predicted labels of each instance, in the order of `classes_`.

        Raises
        ------
        ValueError, MpuError
            As for `predict_proba`.
        """
        if self._has_one_dimension:
            return [(label,) for label in self.predict(X).tolist()]
        predicted = csr_array(cluster_learning.computed(self.predict(X)))
        predicted.sort_indices()
        names = self.classes_[predicted.indices].tolist()
        ends = predicted.indptr.tolist()
        return [tuple(names[start:stop]) for start, stop in pairwise(ends)]

    def score(self, X: Any, y: Any, c: float = 1.0) -> float:
        """Return the micro-F1 of the predicted label sets; where each instance has one class, the accuracy.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)
        y : array_like, sparse matrix or data frame, shape (n, q); or n collections of str
            True labels, or annotated ones; as for `fit`. A name that is none of `classes_` is a label that was missed.
        c : float
            Label frequency of `y`: below 1 the micro-F1 is that to expect on complete labels, from incomplete ones. To
            compare models, give the same for all.

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        ValueError
            As for `predict_proba`; or `y` is no indicator matrix of this shape.
        """
        if self._has_one_dimension:
            return float(super().score(X, y))
        predicted, y = (
            arrays.indicator(cluster_learning.computed(self.predict(X)), "predictions"),
            cluster_learning.computed(y),
        )
        if arrays.are_label_sets(y):
            new = {label for row in y for label in row} - set(self.classes_.tolist())  # they are never predicted
            y, names = arrays.from_label_sets(y, [*self.classes_.tolist(), *sorted(new, key=str)])
            predicted.resize(predicted.shape[0], len(names))
        truth = arrays.indicator(y)
        if truth.shape != predicted.shape:
            raise DataError(f"y has shape {truth.shape}, and the predictions have {predicted.shape}")
        hits = truth.multiply(predicted).nnz
        return float(corrected(hits, predicted.nnz, truth.nnz, checked(FREQUENCY, "c", c)).f1)

    def _of_classes(self, p: np.ndarray) -> np.ndarray:
        """Return probabilities of labels; where y has one dimension, of classes, which add up to 1."""
        if self._has_one_dimension:
            p = p if p.shape[1] > 1 else np.hstack([1 - p, p])
            p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return p

    def _best_class(self, p: np.ndarray) -> np.ndarray:
        """Return the class of each instance, by probabilities of labels."""
        numbers = p.argmax(axis=1) if p.shape[1] > 1 else (p[:, 0] >= self.thresholds_[0]).astype(int)
        best: np.ndarray = self.classes_[numbers]
        return best

    def _margins(self, p: np.ndarray) -> np.ndarray:
        """Return log-odds less those of the threshold; of several classes in one dimension the log-odds: float64."""
        log_odds = _finite_log_odds(p)
        if self._has_one_dimension and p.shape[1] > 1:
            return log_odds
        margins: np.ndarray = log_odds - _finite_log_odds(self.thresholds_)
        return margins[:, 0] if self._has_one_dimension else margins

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = True
        return tags


def _finite_log_odds(p: np.ndarray) -> np.ndarray:
    """Return log-odds, of 0 and 1 those of the numbers next to them: metrics of scikit-learn refuse infinite ones."""
    ends = np.finfo(np.float32).tiny, 1 - np.finfo(np.float64).epsneg
    log_odds: np.ndarray = logit(np.clip(p.astype(np.float64), *ends))
    return log_odds
