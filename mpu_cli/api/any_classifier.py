"""Any classifier of scikit-learn on incomplete labels: its out-of-fold scores say c, probabilities and thresholds."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils import check_consistent_length, get_tags, indexable
from sklearn.utils.parallel import Parallel
from sklearn.utils.validation import check_is_fitted, validate_data

from mpu_cli.api import arrays, learning, parameters
from mpu_cli.api.classifiers import NEGATIVE, UNANNOTATED, learn, scores
from mpu_cli.api.estimator import LabelSetsMixin, MPUClassifier
from mpu_cli.core.frequency.questions import Questions
from mpu_cli.core.options import PER_LABEL
from mpu_cli.errors import DataError
from mpu_cli.people.suggestions import Cells, Choice
from mpu_cli.runtime.options import AUTO, Words, checked


class IncompleteLabelClassifier(MetaEstimatorMixin, LabelSetsMixin, BaseEstimator):
    """Any classifier, learned from annotations, whose scores become probabilities of being true.

    An estimator that learns several labels at once learns all of them, such as a random forest; else, and where cells
    are unknown or ignored, each label has a copy of it. Its out-of-fold scores give the label frequency c,
    isotonic calibration and thresholds, which make probabilities and label sets of the scores of new instances.

    Source: Elkan and Noto, KDD 2008, Section 2; Zadrozny and Elkan, KDD 2002.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` or `decision_function`.
    c : float, array_like of shape (q,), dict, "auto" or "per-label"
        Label frequency; that of labels that a dict by name does not have, or of which it is NaN, is estimated. auto:
        estimated, as by `estimate_c`, or by people where `fit` has `sampled`. per-label: of each label, where it is not
        by people and there are no groups; such estimates help on some data and harm on others.
    threshold : {"pu-f1", "per-label", "macro-f1"} or float
        As for `choose_thresholds`; or the probability from which all labels are predicted.
    unannotated : {"negative", "weighted", "auto"}
        What the estimator learns of a label that is not annotated: that it is false; or that it is true with the weight
        Pr(y=1 | x, s=0), and false with the rest, which needs an estimator with `sample_weight`, learns a copy of it
        for each label, and takes as many trainings again within each fold. auto: the one of which the higher F1 is
        expected; negative, where the estimator takes no weights.
    folds : int
        Of the out-of-fold scores, from 2.
    random_state : int, RandomState or None
        Deals the folds, and draws the questions. The estimator has its own.
    pos_label : optional
        As of `MPUClassifier`.
    n_jobs : int or None
        Folds that are learned side by side, as of `cross_val_predict`. The result does not depend on it.
    verbose : int
        Above 0, joblib says how many folds are done.

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
    expected_f1_interval_ : tuple of two floats
        90 % interval of it, as of `MPUClassifier`.
    weighted_ : bool
        Whether labels that are not annotated were learned with weights.
    estimators_ : list of classifiers
        Learned from all instances: one of all labels, or one of each label that is annotated.
    out_of_fold_scores_ : ndarray of float32, shape (n, q)
        Of the training instances, by classifiers that have not seen them: from 0 to 1, and not calibrated.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (D,)
        Names of the features, where X was a data frame with such names.

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

    def __init__(  # noqa: PLR0913  # by the conventions of scikit-learn
        self,
        estimator: Any,
        *,
        c: float | ArrayLike | str = "auto",
        threshold: str | float = "pu-f1",
        unannotated: str = NEGATIVE,
        folds: int = 5,
        pos_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.c = c
        self.threshold = threshold
        self.unannotated = unannotated
        self.folds = folds
        self.pos_label = pos_label
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        reviewed: Any = None,
        fully_labelled: ArrayLike | None = None,
        ignored: Any = None,
        sampled: Any = None,
        groups: ArrayLike | None = None,
        same_fold: ArrayLike | None = None,
    ) -> "IncompleteLabelClassifier":
        """Learn from annotated instances.

        Raises ValueError (an array has a wrong shape or value, or no label is annotated, or the estimator cannot learn
        from them).
        Warns with MpuWarning where the data do not determine c.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)
            Features, as the estimator takes them: also texts, if it is a pipeline that begins with their vectoriser.
        y : array_like, sparse matrix or data frame, shape (n, q); n collections of str; or array_like, shape (n,)
            S, the annotated labels, as for `MPUClassifier.fit`. Or, in one dimension, a class of each instance. Of two,
            the second one is annotated and the first one is not: false or missing. Of more, each instance has the one
            that is annotated: c is 1, and the most probable one is predicted.
        reviewed, fully_labelled, ignored, sampled
            As for `MPUClassifier.fit`. The estimator learns from the annotations, corrected by what is verified.
        groups, same_fold
            As for `MPUClassifier.fit`.
        """
        validate_data(self, X, y, skip_check_array=True)
        if not is_classifier(self.estimator):
            raise DataError(f"estimator is {self.estimator!r}, which is not a scikit-learn classifier")
        unannotated = checked(Words(UNANNOTATED), "unannotated", self.unannotated)
        named = arrays.Named.of(y, pos_label=self.pos_label)
        check_consistent_length(X, named.matrix)
        verified = {"reviewed": reviewed, "fully_labelled": fully_labelled, "ignored": ignored, "sampled": sampled}
        folds, same_fold = arrays.dealt(self.folds, y, named.matrix.shape[0], same_fold)
        annotations = arrays.Annotations.of(named, groups=groups, same_fold=same_fold, **verified)
        per_label = isinstance(self.c, str) and self.c == PER_LABEL
        as_mpu = MPUClassifier(
            c=1.0 if named.one_each else AUTO if per_label else self.c,
            threshold=self.threshold,
            folds=folds,
            random_state=self.random_state,
        )
        chosen = parameters.of_estimator(as_mpu, named.of_columns)
        (X,), run, options = indexable(X), learning.run_of(chosen), learning.options(chosen, annotations)
        problem = annotations.problem(learning.without_features(len(named.matrix.indptr) - 1))
        parallel = Parallel(self.n_jobs, verbose=self.verbose)
        how = {"unannotated": unannotated, "parallel": parallel, "per_label": per_label}
        learned = learn(self.estimator, X, problem, options, run, **how)
        evidence, expected = learned.evidence, learned.decision.expected
        learning.warn_of(evidence.warnings, evidence.estimates, annotations)
        self._learned, self._annotations, self._chosen = learned, annotations, chosen
        self.estimators_, self.weighted_ = learned.classifiers, learned.is_weighted
        self.classes_, self._has_one_dimension = named.classes, named.has_one_dimension
        rates, of_instances = evidence.frequency.rates, evidence.frequency.of_instances
        self.c_ = annotations.widened(rates, rates[0] if (rates == rates[0]).all() else np.nan)
        self.group_c_ = {}
        if annotations.groups is not None and of_instances is not None:
            first = np.unique(annotations.groups.of_instances, return_index=True)[1]
            self.group_c_ = dict(zip(annotations.groups.names, of_instances[first].tolist(), strict=True))
        self.thresholds_ = annotations.widened(learned.decision.thresholds, np.inf)
        self.expected_f1_ = min(expected.f1, 1.0)
        self.expected_f1_interval_ = expected.interval(evidence.estimates.range_of_c)
        self.out_of_fold_scores_ = annotations.widened(learned.scores)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict Pr(y=1 | x), how probable it is that each label is true: float32, shape (n, q).

        Of classes, where y had one dimension in `fit`, they add up to 1.
        """
        return self._of_classes(self._probabilities(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log-odds of each label, less the log-odds of its threshold, as `MPUClassifier` does."""
        return self._margins(self._probabilities(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict label sets: 1 where the label is predicted, int, shape (n, q); or a class each, shape (n,)."""
        p = self._probabilities(X)
        return self._best_class(p) if self._has_one_dimension else (p >= self.thresholds_).astype(int)

    def missing_labels(self, top: int | None = None) -> Cells:
        """List the labels of the training instances that are probably missing, as `mpu_cli.missing_labels` does."""
        check_is_fitted(self)
        return learning.missing_labels(self._learned.evidence, self._annotations, Choice(top=top))

    def questions(self, n: int) -> Questions:
        """Draw cells of the training instances to ask people about, as `mpu_cli.questions` does."""
        check_is_fitted(self)
        matrix = learning.without_features(len(self._learned.scores))
        return learning.questions(self._chosen, matrix, self._annotations, n, self._learned.scores)

    def _probabilities(self, X: Any) -> np.ndarray:
        """Return Pr(y=1 | x) of each column that is learned from: float32, shape (n, q)."""
        check_is_fitted(self)
        calibration = self._learned.evidence.calibration
        assert calibration is not None  # of scores
        return self._annotations.widened(calibration(scores(self.estimators_, X, self._annotations.labels.shape[1])))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_features = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = of_features.sparse, of_features.allow_nan
        return tags
