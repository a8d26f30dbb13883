"""Any scikit-learn classifier on incomplete labels: its out-of-fold scores give c, calibration and thresholds."""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils import _safe_indexing, check_consistent_length, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from mpu_cli.api import arrays
from mpu_cli.api.estimator import LabelSetsMixin, MPUClassifier, drawn_questions, listed_missing, settings_of, warn_of
from mpu_cli.core.calibration import HeldOut
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.questions import Questions
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import Cells
from mpu_cli.core.problem import Problem, joined, kin_of
from mpu_cli.core.thresholds import chosen_thresholds
from mpu_cli.core.validation import deal, default_folds, usual_folds, without
from mpu_cli.errors import DataError, MpuWarning
from mpu_cli.people.posteriors import Evidence
from mpu_cli.runtime.run import Run

# The logistic function keeps the order of decision values up to this in float32. If some are larger, all but a few
# are divided to be below `_FROM`, and these few lie above it.
_LARGEST_DECISION, _FROM, _USUAL = 15.0, 8.0, 0.99


def fit_copies(estimator: Any, X: Any, targets: np.ndarray) -> list[Any]:
    """Fit copies of the classifier to labels of instances; return one copy for all labels, or one for each.

    Targets (n x q) are 0 and 1. Cells with NaN are left out, which needs one copy for each label.
    """
    tags = get_tags(estimator)
    learns_several = tags.classifier_tags.multi_label or not tags.target_tags.single_output
    if targets.shape[1] > 1 and learns_several and not np.isnan(targets).any():
        return [clone(estimator).fit(X, targets.astype(int))]
    return [_of_one(estimator, X, target) for target in targets.T]


def _of_one(estimator: Any, X: Any, target: np.ndarray) -> Any:
    """Learn one label from the instances that are not ignored."""
    rows = np.flatnonzero(~np.isnan(target))
    y = target[rows].astype(int)
    if len(np.unique(y)) < 2:
        return DummyClassifier().fit(np.zeros((len(target), 1)), np.full(len(target), y.max(initial=0)))
    if not get_tags(estimator).target_tags.single_output:
        y = y[:, None]
    return clone(estimator).fit(X if len(rows) == len(target) else _safe_indexing(X, rows), y)


def kin_of_any(X: Any) -> np.ndarray | None:
    """Return which instances repeat others, as `kin_of` does, for numbers or texts; None for any other type."""
    if not issparse(X):
        try:
            X = np.asarray(X)
            if X.ndim == 1 and X.dtype.kind in "OU" and len(X) and all(isinstance(text, str) for text in X.tolist()):
                X = np.column_stack([np.ones(len(X)), np.unique(X, return_inverse=True)[1]])
            X = X.astype(np.float32)
        except (TypeError, ValueError):
            return None
        if X.ndim != 2:
            return None
    return kin_of(csr_array(X, dtype=np.float32))


def values(learned: list[Any], X: Any, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of q labels, by one classifier for all or one for each, n x q; and which are decision values.

    The others are probabilities, the share of votes, or else the predictions: float32, from 0 to 1.
    """
    parts = [part for model in learned for part in _parts(model)]
    found = np.hstack([_values(part, X, q // len(parts)) for part in parts])
    return found, np.repeat([_method(part) == "decision_function" for part in parts], q // len(parts))


def scale_of(found: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the number by which to divide decision values, given by `values`; 0 if none is large."""
    sizes = np.concatenate([np.abs(part[:, are_decisions]).ravel() for part, are_decisions in found])
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    is_large = sizes.max(initial=0) > _LARGEST_DECISION
    return float(np.quantile(sizes, _USUAL, method="lower")) / _FROM if is_large else 0.0


def scores(found: tuple[np.ndarray, np.ndarray], scale: float) -> np.ndarray:
    """Return `values` as scores from 0 to 1, in the same order, by the scale of decision values: float32, n x q."""
    of_labels, are_decisions = found
    z = of_labels
    if scale:
        z = of_labels / scale
        beyond = _FROM / np.maximum(np.abs(z), _FROM)  # larger values approach the limit, in order
        z = np.where(beyond < 1, np.sign(z) * (_LARGEST_DECISION - (_LARGEST_DECISION - _FROM) * beyond), z)
    return np.where(are_decisions, expit(z), of_labels).astype(np.float32)


def _parts(model: Any) -> list[Any]:
    """Return the classifier of each label, if there are only these to give decision values; else the model."""
    return model.estimators_ if isinstance(model, MultiOutputClassifier) and _method(model) == "predict" else [model]


def _method(estimator: Any) -> str:
    """Return the name of the method that scores labels."""
    if getattr(estimator, "voting", "") == "hard":
        return "transform"
    return next(name for name in ("predict_proba", "decision_function", "predict") if hasattr(estimator, name))


def _values(estimator: Any, X: Any, q: int) -> np.ndarray:
    method = _method(estimator)
    found = getattr(estimator, method)(X)
    if method == "decision_function":
        return np.asarray(found).reshape(-1, q)
    if method == "transform":
        found = np.mean(found, axis=1)  # the share of the votes
    if method == "predict_proba":
        classes = estimator.classes_
        if q == 1 and not isinstance(found, list) and not isinstance(classes, list):
            found, classes = [found], [classes]
        if isinstance(found, list):  # for each label, the probability of each class
            found = np.stack([p @ (np.asarray(own) == 1) for p, own in zip(found, classes, strict=True)], 1)
    return np.asarray(found, np.float32).reshape(-1, q)


class IncompleteLabelClassifier(MetaEstimatorMixin, LabelSetsMixin, BaseEstimator):
    """Any classifier, trained on annotations, with its scores calibrated to probabilities that labels are true.

    An estimator that supports several labels at once, such as a random forest, learns all of them; otherwise, or if
    cells are unknown or ignored, each label gets a copy of it. Its out-of-fold scores give the label frequency c, an
    isotonic calibration and thresholds, which turn scores of new instances into probabilities and label sets.

    Source: Elkan and Noto, KDD 2008, Section 2; Zadrozny and Elkan, KDD 2002.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` or `decision_function`; decision values above 15 are scaled down, in order.
    c : float, array_like of shape (q,), dict or "auto"
        Label frequency; labels that are missing from a dict by name, or are NaN, get an estimate. auto: estimated, as
        by `estimate_c`, or from people's decisions if `fit` gets `sampled`.
    threshold : {"pu-f1", "per-label", "macro-f1"} or float
        As for `choose_thresholds`; or one probability from which every label is predicted.
    folds : int
        Number of folds for the out-of-fold scores, from 2.
    random_state : int, RandomState or None
        Seed for dealing the folds and drawing the questions. The estimator has its own.
    pos_label : optional
        As for `MPUClassifier`.
    n_jobs : int or None
        Number of folds trained in parallel, as for `cross_val_predict`. The result does not depend on it.
    verbose : int
        Above 0, joblib reports how many folds are done.

    Attributes
    ----------
    classes_, c_, thresholds_, expected_f1_, expected_f1_interval_, n_features_in_, feature_names_in_
        As for `MPUClassifier`. Labels that are never annotated are not in the model.
    group_c_ : dict
        Label frequency of each group of instances, if `fit` gets groups.
    estimators_ : list of classifiers
        Trained on all instances: one for all labels, or one for each annotated label.
    out_of_fold_scores_ : ndarray of float32, shape (n, q)
        Scores of the training instances by classifiers that have not seen them: from 0 to 1, and not calibrated.

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
        pos_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.c = c
        self.threshold = threshold
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

        Warns with MpuWarning if the data do not determine c, or the estimator only predicts labels.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)
            Features, as the estimator takes them: also texts, if it is a pipeline that begins with a vectoriser.
        y, reviewed, fully_labelled, ignored, sampled, groups, same_fold
            As for `MPUClassifier.fit`. The estimator learns from the annotations, corrected by verified labels.
        """
        if not hasattr(self.estimator, "get_params") or not is_classifier(self.estimator):
            raise DataError(f"estimator is {self.estimator!r}, which is not a scikit-learn classifier")
        validate_data(copy(self), X, y, skip_check_array=True)
        named = arrays.Named.of(y, pos_label=self.pos_label)
        check_consistent_length(X, named.matrix)
        verified = {"reviewed": reviewed, "fully_labelled": fully_labelled, "ignored": ignored, "sampled": sampled}
        annotations = arrays.Annotations.of(named, groups=groups, same_fold=same_fold, **verified)
        given = {name: getattr(self, name) for name in ("c", "threshold", "folds", "random_state")}
        options, run = settings_of(MPUClassifier(**given), annotations)
        (matrix,) = indexable(X)
        evidence, learned, scale, held_out_scores = self._by_scores(matrix, annotations, options, run)
        if any(_method(part) == "predict" for model in learned for part in _parts(model)):
            text = (
                f"{type(self.estimator).__name__} has neither predict_proba nor decision_function: labels that it "
                "predicts cannot be ranked, and c and thresholds are rough; give an estimator that has one"
            )
            warnings.warn(text, MpuWarning, stacklevel=2)
        estimates, rates = evidence.estimates, evidence.frequency.rates
        warn_of(estimates, annotations)
        held_out = HeldOut(evidence.probabilities, annotations.labels, evidence.frequency)
        thresholds, expected = chosen_thresholds(held_out, options.threshold)
        validate_data(self, X, skip_check_array=True)
        self._evidence, self._annotations, self._settings = evidence, annotations, (options, run)
        self.estimators_, self._scale, self._scores = learned, scale, held_out_scores
        self.classes_, self._has_one_dimension = named.classes, named.has_one_dimension
        self.c_ = annotations.widened(rates, rates[0] if (rates == rates[0]).all() else np.nan)
        self.group_c_ = {}
        if annotations.groups is not None and estimates.groups is not None:
            self.group_c_ = dict(zip(annotations.groups.names, estimates.groups.c.tolist(), strict=True))
        self.thresholds_ = annotations.widened(thresholds, np.inf)
        self.expected_f1_ = expected.f1
        self.expected_f1_interval_ = list(expected.interval(estimates.range_of_c)) if estimates.is_known else None
        self.out_of_fold_scores_ = annotations.widened(held_out_scores)
        return self

    def _by_scores(
        self, X: Any, problem: Problem, options: Options, run: Run
    ) -> tuple[Evidence, list[Any], float, np.ndarray]:
        """Learn; return the evidence, classifiers of all instances, the scale of scores, and out-of-fold scores."""
        labels, estimator, kin = problem.labels, self.estimator, kin_of_any(X)
        (n, q), certain = labels.shape, LabelFrequency.of(1.0, labels.shape, problem.verified)
        targets = certain.positives(labels).astype(np.float32).toarray()
        targets[certain.ignored()] = np.nan

        def of_fold(test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            train = without(test, n)
            return values(fit_copies(estimator, _safe_indexing(X, train), targets[train]), _safe_indexing(X, test), q)

        n_folds = options.folds or usual_folds(n, q) or default_folds(n)
        folds = deal(n, n_folds, run.seed, joined(kin, problem.same_fold))
        with run.step("predicting out of fold"), warnings.catch_warnings():
            warnings.simplefilter("ignore", MpuWarning)  # the training on all instances warns
            found = Parallel(self.n_jobs, verbose=self.verbose)(map(delayed(of_fold), folds))
        scale, held_out = scale_of(found), np.empty((n, q), np.float32)
        for test, of_test in zip(folds, found, strict=True):
            held_out[test] = scores(of_test, scale)
        evidence = Evidence.of_scores(held_out, replace(problem, kin=kin), options, run)
        with run.step("learning"):
            return evidence, fit_copies(estimator, X, targets), scale, held_out

    def predict(self, X: Any) -> np.ndarray:
        """Predict label sets: 1 if the label is predicted, int, shape (n, q); or one class each, shape (n,)."""
        p = self._probabilities(X)
        return self._best_class(p) if self._has_one_dimension else (p >= self.thresholds_).astype(int)

    def missing_labels(self, top: int | None = None) -> Cells:
        """List the probably missing labels of the training instances, as `mpu_cli.missing_labels` does."""
        check_is_fitted(self)
        return listed_missing(self._evidence, self._annotations, top)

    def questions(self, n: int) -> Questions:
        """Draw cells of the training instances to ask people about, as `mpu_cli.questions` does."""
        check_is_fitted(self)
        return drawn_questions(*self._settings, self._annotations, n, self._scores)

    def _probabilities(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        calibration = self._evidence.calibration
        assert calibration is not None  # scores are always calibrated
        found = values(self.estimators_, X, self._annotations.labels.shape[1])
        return self._annotations.widened(calibration(scores(found, self._scale)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_features = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = of_features.sparse, of_features.allow_nan
        return tags
