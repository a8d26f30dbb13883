"""What classifiers of label sets have in common."""

from itertools import pairwise
from typing import Any

from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin

from mpu_cli.api import arrays, cluster_learning
from mpu_cli.errors import DataError
from mpu_cli.evaluation.incomplete import corrected
from mpu_cli.runtime.options import FREQUENCY, checked


class LabelSetsMixin(ClassifierMixin):
    """Label sets by name, their micro-F1, and what scikit-learn is to know; of what has `predict` and `classes_`."""

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
        if getattr(self, "_has_one_dimension", False):
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags
