"""Any classifier of scikit-learn on incomplete labels: its out-of-fold scores say c, probabilities and thresholds."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, get_tags, indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from mpu_cli.api import arrays, learning, parameters
from mpu_cli.api.estimator import MPUClassifier
from mpu_cli.api.label_sets import LabelSetsMixin
from mpu_cli.core.complete.suggestions import Cells
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.questions import Questions
from mpu_cli.errors import DataError
from mpu_cli.methods.scikit_learn import scores

_SEEDS = 1 << 31


class IncompleteLabelClassifier(MetaEstimatorMixin, LabelSetsMixin, BaseEstimator):
    """Any classifier, learned from annotations, whose scores become probabilities of being true.

    An estimator that learns several labels at once learns all of them, such as a random forest; else each label has a
    copy of it. It learns from the annotations as if they were complete. Its out-of-fold scores give the label frequency
    c, isotonic calibration and thresholds, by which scores of new instances are judged.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` or `decision_function`.
    c : float, array_like of shape (q,), or "auto"
        Label frequency. auto: estimated, as by `estimate_c`, or by people where `fit` has `sampled`.
    threshold : {"pu-f1", "per-label", "macro-f1"} or float
        As for `choose_thresholds`; or the probability from which all labels are predicted.
    folds : int
        Of the out-of-fold scores, from 2.
    random_state : int, RandomState or None
        Deals the folds, and draws the questions. The estimator has its own.

    Attributes
    ----------
    classes_ : ndarray, shape (q,)
        Names of the labels: the columns of a data frame, the names in label sets, else 0 to q - 1. Where y has one
        dimension, its classes.
    c_ : ndarray of float, shape (q,)
        Label frequency of each label; where it differs between labels, NaN for labels that are never annotated.
    group_c_ : dict
        Label frequency of each group of instances, where `fit` has groups.
    thresholds_ : ndarray of float32, shape (q,)
        Infinite for labels that are never annotated.
    expected_f1_ : float
        The micro-F1 to expect on complete labels. It rests on c.
    estimators_ : list of classifiers
        Learned from all instances: one of all labels, or one of each label that is annotated.
    out_of_fold_scores_ : ndarray of float32, shape (n, q)
        Of the training instances, by classifiers that have not seen them: from 0 to 1, and not calibrated.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (D,)
        Names of the features, where X was a data frame with such names.

    References
    ----------
    Elkan and Noto, KDD 2008, Section 2; Zadrozny and Elkan, KDD 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from mpu_cli import IncompleteLabelClassifier
    >>> X = np.arange(400)[:, None] % 8
    >>> S = ((X == [0, 1]) | (X == [1, 2])).astype(int)
    >>> S[:200] = 0                                     # half of the labels is missing
    >>> model = IncompleteLabelClassifier(DecisionTreeClassifier(max_depth=4)).fit(X, S)
    >>> model.predict([[0], [1], [2], [3]]).tolist(), model.c_.round(1).tolist()
    ([[1, 0], [1, 1], [0, 1], [0, 0]], [0.5, 0.5])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        c: float | ArrayLike | str = "auto",
        threshold: str | float = "pu-f1",
        folds: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.c = c
        self.threshold = threshold
        self.folds = folds
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        reviewed: Any = None,
        complete: ArrayLike | None = None,
        ignored: Any = None,
        sampled: Any = None,
        groups: ArrayLike | None = None,
    ) -> "IncompleteLabelClassifier":
        """Learn from annotated instances.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)
            Features, as the estimator takes them: also texts, if it is a pipeline that begins with their vectoriser.
        y : array_like, sparse matrix or data frame, shape (n, q); n collections of str; or array_like, shape (n,)
            S, the annotated labels, as for `MPUClassifier.fit`. Or, in one dimension, a class of each instance. Of two,
            the second one is annotated and the first one is not: false or missing. Of more, each instance has the one
            that is annotated: c is 1, and the most probable one is predicted.
        reviewed, complete, ignored, sampled
            As for `MPUClassifier.fit`. The estimator learns from the annotations, corrected by what is verified. One
            that learns all labels at once takes ignored cells for false.
        groups : array_like, shape (n,), optional
            The name of the group of each instance: each group has a label frequency of its own, as of
            ``mpu train --groups``.

        Raises
        ------
        ValueError
            An array has a wrong shape or value, or no label is annotated, or the estimator cannot learn from them.

        Warns
        -----
        MpuWarning
            The data do not determine c.
        """
        validate_data(self, X, y, skip_check_array=True)
        if not is_classifier(self.estimator):
            raise DataError(f"estimator is {self.estimator!r}, which is no classifier in scikit-learn's conventions")
        drawn = self.random_state
        seed = drawn if isinstance(drawn, Integral) else check_random_state(drawn).randint(_SEEDS)
        y, ignored = arrays.without_unknown(y, ignored)
        named = arrays.Named.of(y)
        check_consistent_length(X, named.matrix)
        verified = {"reviewed": reviewed, "complete": complete, "ignored": ignored, "sampled": sampled}
        annotations = arrays.Annotations.of(named.matrix, groups=groups, **verified)
        c = 1.0 if named.one_each else self.c
        chosen = parameters.of_estimator(MPUClassifier(c=c, threshold=self.threshold, folds=self.folds, seed=seed))
        (X,), targets = indexable(X), _targets(annotations)
        held_out = np.empty(targets.shape, np.float32)
        for train, test in KFold(chosen["folds"], shuffle=True, random_state=seed).split(targets):
            learned = self._learned(_safe_indexing(X, train), targets[train])
            held_out[test] = _scores(learned, _safe_indexing(X, test), targets.shape[1])
        self.estimators_ = self._learned(X, targets)
        self.classes_, self._has_one_dimension = named.classes, named.has_one_dimension
        self._held_out = learning.Scored.of(held_out, annotations, chosen)
        self.c_, self.group_c_ = self._held_out.c, self._held_out.group_c
        self.thresholds_, self.expected_f1_ = self._held_out.thresholds()
        self.out_of_fold_scores_ = annotations.widened(held_out)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict Pr(y=1 | x): how probable it is that each label is true.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)

        Returns
        -------
        ndarray of float32, shape (n, q)
            Of classes, where y had one dimension in `fit`, they add up to 1.
        """
        p = self._probabilities(X)
        if not self._has_one_dimension:
            return p
        p = p if p.shape[1] > 1 else np.hstack([1 - p, p])
        p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return p

    def predict(self, X: Any) -> np.ndarray:
        """Predict label sets: 1 where the label is predicted, int, shape (n, q); or a class each, shape (n,)."""
        p = self._probabilities(X)
        reached = (p >= self.thresholds_).astype(int)
        if not self._has_one_dimension:
            return reached
        best: np.ndarray = self.classes_[p.argmax(axis=1) if p.shape[1] > 1 else reached[:, 0]]
        return best

    def missing_labels(self, top: int | None = None) -> Cells:
        """List the labels of the training instances that are probably missing, as `mpu_cli.missing_labels` does."""
        check_is_fitted(self)
        return self._held_out.missing_labels(top)

    def questions(self, n: int) -> Questions:
        """Draw cells of the training instances to ask people about, as `mpu_cli.questions` does."""
        check_is_fitted(self)
        return self._held_out.questions(n)

    def _probabilities(self, X: Any) -> np.ndarray:
        """Return Pr(y=1 | x) of each column that is learned from: float32, shape (n, q)."""
        check_is_fitted(self)
        held_out = self._held_out
        q = held_out.scores.shape[1]
        return held_out.annotations.widened(held_out.probabilities(_scores(self.estimators_, X, q)))

    def _learned(self, X: Any, targets: np.ndarray) -> list[Any]:
        """Learn all labels at once where the estimator can, else each."""
        if targets.shape[1] > 1 and get_tags(self.estimator).classifier_tags.multi_label:
            return [clone(self.estimator).fit(X, np.nan_to_num(targets).astype(int))]
        return [self._learned_alone(X, target) for target in targets.T]

    def _learned_alone(self, X: Any, target: np.ndarray) -> Any:
        """Learn one label from the instances that are not ignored."""
        rows = np.flatnonzero(~np.isnan(target))
        of_rows = target[rows].astype(int)
        learner = clone(self.estimator) if len(np.unique(of_rows)) > 1 else DummyClassifier()
        return learner.fit(X if len(rows) == len(target) else _safe_indexing(X, rows), of_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.classifier_tags.multi_class = True
        of_features = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = of_features.sparse, of_features.allow_nan
        return tags


def _targets(annotations: arrays.Annotations) -> np.ndarray:
    """Return what is learned: the annotations, corrected by what is verified; NaN where a cell is ignored."""
    certain = LabelFrequency.of(1.0, annotations.labels.shape, annotations.verified)
    targets: np.ndarray = certain.positives(annotations.labels).astype(np.float32).toarray()
    targets[certain.ignored()] = np.nan
    return targets


def _scores(learned: list[Any], X: Any, q: int) -> np.ndarray:
    """Score q labels, of which one classifier has learned all, or each has learned one: float32, shape (n, q)."""
    return np.hstack([scores(model, X, q // len(learned)) for model in learned])
