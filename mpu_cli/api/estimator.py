"""The scikit-learn estimator for a trained or loaded model, and the parameters of estimators and functions.

Parameters are the options of ``mpu train``; three of them have their scikit-learn names.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array, issparse, vstack
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mpu_cli import bundle
from mpu_cli.api import arrays
from mpu_cli.api.arrays import Annotations
from mpu_cli.bundle.predicting import reaching
from mpu_cli.core import stacking
from mpu_cli.core.features import Columns
from mpu_cli.core.frequency.label_frequency import refuse_refuted
from mpu_cli.core.frequency.questions import Questions
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import LINEAR, FrequencyOptions, Options
from mpu_cli.core.predictions import FEW_LABELS, Cells, Top, dense, refuse_large_predictions
from mpu_cli.core.sample import Estimates
from mpu_cli.core.thresholds import reached
from mpu_cli.errors import DataError, MpuWarning, counted
from mpu_cli.evaluation.metrics import precision_recall_f1
from mpu_cli.inputs.training_data import TrainingData, cautions_of
from mpu_cli.people import suggestions
from mpu_cli.people.posteriors import Choice, Evidence, Scored, log_odds
from mpu_cli.runtime.options import (
    FREQUENCY,
    Integer,
    Option,
    Threads,
    checked,
    columns_of,
    in_order_of,
    options_of,
    with_parameters,
)
from mpu_cli.runtime.run import Run, no_observer


class _RandomState(Integer):
    """A seed, or the random state from which scikit-learn draws one."""

    type = "int, RandomState or None"

    def check(self, value: Any) -> int:
        """Return the seed, or draw one if it is not a number."""
        if value is None or isinstance(value, np.random.RandomState):
            return int(check_random_state(value).randint(1 << 31))
        return int(super().check(value))


class _Jobs(Threads):
    """A number of threads, as joblib interprets it."""

    type = "int or None"

    def check(self, value: Any) -> int:
        """Return a number from 1: None is one, unless joblib's `parallel_config` sets another; -2 all cores but one."""
        if value is None or (isinstance(value, Integral) and value < -1):
            return int(effective_n_jobs(value))
        return int(super().check(value))


# What differs in Python: names as in scikit-learn, and kinds that take other values.
_IN_PYTHON: dict[str, dict[str, Any]] = {
    "cost": {"name": "C"},
    "seed": {"name": "random_state", "kind": _RandomState(0)},
    "jobs": {"name": "n_jobs", "kind": _Jobs(-1)},
}
Chosen = TypeVar("Chosen", bound=FrequencyOptions | Run)
# Keyed by the option's name; each contains its Python name.
DECLARED: dict[str, Option] = {
    name: replace(option, **_IN_PYTHON.get(name, {}))
    for name, option in (options_of(Options) | options_of(Run)).items()
}


def chosen(declaration: type[Chosen], given: Mapping[str, Any]) -> Chosen:
    """Return the declared options with the given values of theirs, by option name: plain Python values, auto as None.

    Raises DataError (a value has the wrong type or is out of range).
    """
    return declaration(**{name: DECLARED[name].check(given[name]) for name in options_of(declaration) if name in given})


def settings_of(estimator: Any, annotations: Annotations) -> tuple[Options, Run]:
    """Check an estimator's parameters; return its options, with c for the learned labels, and the run.

    The names of labels may be the keys of c; c is 1 if each instance has one of several classes.
    Raises DataError (a parameter has the wrong type or is out of range, or the annotations contradict c).
    """
    step = _saying if checked(Integer(0), "verbose", int(estimator.verbose)) else no_observer
    given = {name: getattr(estimator, option.name) for name, option in DECLARED.items()}
    classes = annotations.named.of_columns.tolist()
    given["c"] = in_order_of(classes, c := given["c"], "c", "the classes")
    if isinstance(c, Mapping):
        if unknown := c.keys() - set(classes):
            raise DataError(f"c has a number for {min(unknown, key=str)!r}, which is not among the classes")
        given["c"] = [c.get(name, np.nan) for name in classes]
    options, run = chosen(Options, given), replace(chosen(Run, given), step=step)
    if annotations.label_features is None and options.needs_label_features:
        weight = f"prior is {options.prior}, the weight of the features of labels, and there are none"
        raise DataError(f"{weight}: give label_features to fit, or leave prior at 'auto'")
    rates: Any = options.c
    if annotations.named.has_one_dimension and len(classes) > 1:  # no label is missing
        rates = 1.0
    if rates is not None:
        of_labels = learned_rates(rates, annotations)
        rates = of_labels if np.ndim(rates) else rates
    return replace(options, c=rates), run


@contextmanager
def _saying(name: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
    start = time.perf_counter()
    yield lambda: None
    print(f"[mpu] {name}: {time.perf_counter() - start:.1f} s", flush=True)


def learned_rates(c: Any, annotations: Annotations) -> np.ndarray:
    """Return c of each learned label, from one number, or from one for each of the caller's labels.

    DataError if the annotations contradict c.
    """
    c, width = in_order_of(annotations.named.names, c, "c"), annotations.named.matrix.shape[1]
    if np.ndim(c) and np.shape(c) != (width,):
        raise DataError(
            f"c has shape {np.shape(c)}, and y has {counted(width, 'label')}: give one number, or one for each"
        )
    of_labels = annotations.of_labels(np.broadcast_to(np.asarray(c, float), (width,)))
    refuse_refuted(of_labels, annotations.labels, annotations.verified, annotations.shown)
    return of_labels


def warn_of(estimates: Estimates, annotations: Annotations) -> None:
    """Warn the caller's caller that c is uncertain, and why."""
    for text in (*estimates.warnings(), *cautions_of(estimates, annotations, annotations.shown)):
        warnings.warn(text, MpuWarning, stacklevel=3)


def drawn_questions(
    options: FrequencyOptions, run: Run, annotations: Annotations, n: int, scores: np.ndarray | None
) -> Questions:
    """Draw questions as `mpu suggest --questions` does, in the caller's columns; use scores if given."""
    n = checked(Integer(1), "n", n)
    drawn = Scored(annotations, replace(options, features=LINEAR), run, scores).questions(n)
    return replace(drawn, columns=annotations.columns[drawn.columns])


def listed_missing(evidence: Evidence, annotations: Annotations, top: int | None) -> Cells:
    """List probably missing labels as `mpu suggest` does, in the caller's columns."""
    top = top if top is None else checked(Integer(1), "top", top)
    listed = suggestions.find(evidence, annotations, annotations.columns, Choice(top, least=0.0)).listed
    return replace(listed, columns=annotations.columns[listed.columns])


class LabelSetsMixin(ClassifierMixin):
    """Probabilities, label sets by name, their micro-F1, and scikit-learn's tags.

    Needs `pos_label`, `predict`, `classes_`, `thresholds_`; `_probabilities`, which returns Pr(y=1 | x) of each column
    of the training labels; and `_has_one_dimension`, whether y contained a class for each instance.
    """

    _has_one_dimension = False

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability that each label is true, annotated or not: Pr(y=1 | x).

        Raises MpuError if the array would exceed the free memory: `MPUClassifier.predict_top` returns the most
        probable labels as a sparse matrix.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)

        Returns
        -------
        ndarray of float32, shape (n, q)
            With more than 500 labels, `MPUClassifier` predicts the most probable ones of each instance, about 20, and
            sets the others to 0. If y had one dimension in `fit`, the probabilities of the classes add up to 1.
        """
        p: np.ndarray = self._probabilities(X)
        if self._has_one_dimension:
            p = p if p.shape[1] > 1 else np.hstack([1 - p, p])
            p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return p

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label minus the log-odds of its threshold: from 0, the label is predicted.

        `X` is as for `predict_proba`. Returns an ndarray of float32, shape (n, q), finite: a probability of 0 or 1 is
        replaced by the closest number in between. If y had one dimension in `fit`: with two classes, the values for
        the second, shape (n,); with more, the log-odds of each.
        """
        p = self._probabilities(X)
        margins = log_odds(p.astype(float), *_LARGEST_LOG_ODDS)
        if not self._has_one_dimension or p.shape[1] == 1:
            margins -= log_odds(self.thresholds_.clip(0, 1).astype(float), *_LARGEST_LOG_ODDS)
        margins = margins.astype(np.float32)
        return margins[:, 0] if self._has_one_dimension and margins.shape[1] == 1 else margins

    def predict_labels(self, X: Any) -> list[tuple[Any, ...]]:
        """Predict label sets by name.

        `X` is as for `predict_proba`. Returns a list of tuples: the predicted labels of each instance, in the order of
        `classes_`.
        """
        if self._has_one_dimension:
            return [(label,) for label in self.predict(X).tolist()]
        predicted = csr_array(self.predict(X))
        predicted.sort_indices()
        names = self.classes_[predicted.indices].tolist()
        ends = predicted.indptr.tolist()
        return [tuple(names[start:stop]) for start, stop in pairwise(ends)]

    def score(self, X: Any, y: Any, c: float = 1.0, sample_weight: ArrayLike | None = None) -> float:
        """Return the micro-F1 of the predicted label sets; the accuracy if each instance has one class.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)
        y : array_like, sparse matrix or data frame, shape (n, q); or n collections of str
            True or annotated labels, as for `fit`: NaN if a cell does not count. A name that is not in `classes_`
            counts as a label that was not predicted.
        c : float
            Label frequency of `y`: below 1, the score is the expected micro-F1 on complete labels. Use the same c for
            all models that you compare.
        sample_weight : array_like, shape (n,), optional
            How often each instance counts.

        Returns
        -------
        float
            From 0 to 1.
        """
        if self._has_one_dimension:
            return float(super().score(X, y, sample_weight))
        predicted = arrays.indicator(self.predict(X), "predictions")
        if arrays.are_label_sets(y):
            y, names = arrays.from_label_sets(y, self.classes_.tolist(), more=True)  # extra names are never predicted
            predicted.resize(predicted.shape[0], len(names))
            pos_label = None
        else:
            y, pos_label = in_order_of(self.classes_.tolist(), y, "y", "the classes"), self.pos_label
        truth, predicted, _ = arrays.compared(y, "y", predicted, "the predictions have", pos_label=pos_label)
        weights = _check_sample_weight(sample_weight, truth, ensure_non_negative=True)
        both = csr_array(truth.multiply(predicted))
        hits, positives, annotated = (weights @ np.diff(labels.indptr) for labels in (both, predicted, truth))
        return float(precision_recall_f1(hits, positives, annotated, checked(FREQUENCY, "c", c)).f1)

    def _best_class(self, p: np.ndarray) -> np.ndarray:
        numbers = p.argmax(axis=1) if p.shape[1] > 1 else (p[:, 0] >= self.thresholds_[0]).astype(int)
        best: np.ndarray = self.classes_[numbers]
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = True
        return tags


# Those of the numbers closest to 1 and 0: scikit-learn's metrics reject infinity.
_LARGEST_LOG_ODDS = float(logit(1 - np.finfo(np.float64).epsneg)), float(logit(np.float64(np.finfo(np.float32).tiny)))
# Number of probabilities that a thread computes at a time; with many labels, only a few for each instance are kept.
_PROBABILITIES = 1 << 20


@with_parameters(DECLARED.values())
class MPUClassifier(LabelSetsMixin, BaseEstimator):
    """A multi-label classifier for training data with missing labels.

    The parameters are the options of `mpu train`, with the same names except for C, random_state and n_jobs, which are
    named as in scikit-learn. The same data give the same model, byte for byte. Parameters that the chosen method does
    not use must keep their default.

    Source: Kong et al., "Large-Scale Multi-Label Learning with Incomplete Label Assignments", SDM 2014.

    Parameters
    ----------
    {parameters}
    classes : array_like of shape (q,), optional
        Names of the labels, the columns of `y`: whole numbers or texts. Default: the columns of a data frame; the names
        in the label sets, in alphabetical order; else 0 to q - 1.
    pos_label : optional
        The value in `y` that represents an annotated label, if not 1: in a matrix of -1 and 1 or of texts; or the
        annotated one of two classes in one dimension, if not the larger.
    verbose : int
        Above 0, `fit` prints each step and its duration in seconds.

    Attributes
    ----------
    classes_ : ndarray of shape (q,)
        Names of the labels. If y has one dimension, its classes.
    c_ : ndarray of float, shape (q,)
        Label frequency of each label; if it differs between labels, NaN for labels that are not in the model.
    thresholds_ : ndarray of float32, shape (q,)
        A label is predicted if its probability is at least its threshold; infinite for labels not in the model.
    expected_f1_ : float
        Expected micro-F1 on complete labels: out of fold, corrected for the missing labels.
    expected_f1_interval_ : list of two floats, or None
        Its 90 % interval, covering the sampling of instances and, if c was estimated, the interval of c: it is only as
        reliable as the interval of c. None if c is unknown, since people seem to have stopped at some number of labels.
    coef_, intercept_ : ndarray or csr_array of float32, shape (q, D); ndarray of float32, shape (q,)
        Coefficients of the first level: the change of each label's log-odds for a unit of each feature, before
        calibration and further levels. Sparse if the weights are sparse, or less than half of the
        features occur. Zeros and -inf for labels not in the model. Absent for RBF features.
    record_ : dict
        Options and results of the training, as `save` records them.
    sparse_output_ : bool
        Whether `predict` returns a sparse matrix: if `y` was sparse or label sets, and after `load`.
    n_features_in_ : int
        Number of features D.
    feature_names_in_ : ndarray of str, shape (D,)
        Names of the features, if X was a data frame with column names of type str.

    Examples
    --------
    >>> import numpy as np
    >>> from mpu_cli import MPUClassifier
    >>> X = np.eye(3)[np.arange(60) % 3]
    >>> S = X.astype(int)                 # three labels, each with its own feature
    >>> S[:15] = 0                        # the labels of a quarter of the instances are missing
    >>> model = MPUClassifier(levels=1, c=0.75, classes=["news", "sport", "arts"]).fit(X, S)
    >>> model.predict(np.eye(3))
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    >>> model.predict_labels([[0, 0, 1]])
    [('arts',)]

    Labels may also be names:

    >>> tags = [["news"], ["arts", "film"], []] * 20
    >>> model = MPUClassifier(levels=1, c=0.75).fit(X, tags)
    >>> model.classes_.tolist()
    ['arts', 'film', 'news']
    >>> model.predict_labels([[1, 0, 0], [0, 1, 0]])
    [('news',), ('arts', 'film')]
    """

    def __init__(
        self, *, classes: ArrayLike | None = None, pos_label: Any = None, verbose: int = 0, **chosen: Any
    ) -> None:
        self.classes = classes
        self.pos_label = pos_label
        self.verbose = verbose

    def fit(  # noqa: PLR0913 - arguments that describe the data
        self,
        X: Any,
        y: Any = None,
        reviewed: Any = None,
        fully_labelled: ArrayLike | None = None,
        ignored: Any = None,
        sampled: Any = None,
        label_features: Any = None,
        groups: Any = None,
        same_fold: Any = None,
    ) -> "MPUClassifier":
        """Learn from annotated instances.

        A label cannot be learned if it is neither annotated nor verified as true, and has no features of its own: it
        keeps its column, has probability 0, and is never predicted.

        Warns with MpuWarning about possible problems, for example if the data do not determine c.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)
            Features; converted to float32.
        y : array_like, sparse matrix or data frame, shape (n, q); n collections of str; or array_like, shape (n,)
            S, the annotated labels: 1 if the label is annotated, else 0; NaN, pd.NA or masked if unknown, as if the
            cell were in `ignored`. Or the label names of each instance, as lists or sets. Or one class for each
            instance, shape (n,): with two classes, the second means annotated, and the first not annotated, so false
            or missing. With more, each instance has only its annotated class: c is 1, and the most probable class is
            predicted.
        reviewed : array_like or sparse matrix, shape (n, q), optional
            Verified labels, annotated or not: 1 if the label is true, -1 if it is false, 0 if it was not verified.
        fully_labelled : array_like of bool, shape (n,), optional
            Instances with complete label sets: labels that are not annotated are false.
        ignored : array_like or sparse matrix, shape (n, q), optional
            1 if a cell must have no influence.
        sampled : array_like of bool, shape (n,); or array_like or sparse matrix of float, shape (n, q); optional
            Instances that were drawn at random and completely reviewed: they count as `fully_labelled`, and if c is
            "auto" it is estimated from them, for each label. Or the probability with which each cell was drawn as a
            question, 0 if it was not (see `questions`): c is estimated from the values of `reviewed` in these cells.
            An instance counts as drawn at random if all of its cells, annotated or not, have probability 1, unless
            no such instance has an annotation.
        label_features : array_like or sparse matrix, shape (q, D), optional
            Features of each label, such as the vector of its name: the weights of a label are drawn towards them, as
            far as that helps (`prior`). A row of zeros: the label has no features.
        groups : array_like, shape (n,), optional
            The name of each instance's group: each group has its own label frequency, as with ``mpu train --groups``;
            they are in ``record_["c_by_group"]``.
        same_fold : array_like, shape (n,), optional
            The name of each instance's set, such as a patient or a thread: a set stays in one cross-validation fold,
            as equal instances do.

        Returns
        -------
        MPUClassifier
            This estimator.
        """
        verified = {"reviewed": reviewed, "fully_labelled": fully_labelled, "ignored": ignored, "sampled": sampled}
        fresh = copy(self)  # the model stays as it was if this training fails
        validate_data(fresh, X, y, skip_check_array=True)
        named = arrays.Named.of(y, self.classes, self.pos_label)
        arrays.refuse_broken(X, "X")
        features = arrays.as_csr(validate_data(fresh, X, accept_sparse="csr", dtype=np.float32))
        check_consistent_length(features, named.matrix)
        arguments = verified | {"label_features": label_features, "groups": groups, "same_fold": same_fold}
        numbers = arrays.label_numbers(named.of_columns)
        if label_features is not None:
            arguments["label_features"] = arrays.label_features(label_features, named, features.shape[1], columns_of(X))
        annotations = arrays.Annotations.of(named, numbers, **arguments)
        columns = annotations.columns
        ids = columns + 1 if numbers is None else numbers[columns]
        options, run = settings_of(self, annotations)
        names = getattr(fresh, "feature_names_in_", None)
        data = TrainingData.extended(annotations, features=features, ids=ids, feature_names=names)
        predictor, result = stacking.train(data, options, run)
        for warning in data.warnings(result.chosen.estimates, annotations.shown):
            warnings.warn(warning, MpuWarning, stacklevel=2)
        findings = data.findings(options, predictor, result)
        model = data.assembled(predictor, result.chosen, findings, options, run, files={})
        if named.has_one_dimension and len(named.of_columns) > 1:
            model.options["one_class_each"] = True
        validate_data(self, X, skip_check_array=True)
        return self._become(model, columns, named, sparse=arrays.are_label_sets(y) or issparse(y))

    def predict_top(self, X: Any, k: int = 5) -> csr_array:
        """Predict the most probable labels, whether or not they reach their threshold.

        The result and the computation need memory for only k labels of each instance, however large q is.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n, D)
        k : int
            Number of labels for each instance, at least 1.

        Returns
        -------
        csr_array of float32, shape (n, q)
            Pr(y=1 | x) of the k most probable labels in each row, or of all learned labels if there are fewer, in
            ascending order of columns; column j is the label ``classes_[j]``. `ranking_metrics` accepts it unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from mpu_cli import MPUClassifier
        >>> X = np.eye(3)[np.arange(60) % 3]
        >>> model = MPUClassifier(levels=1, c=1.0).fit(X, [["news"], ["sport", "arts"], ["arts"]] * 20)
        >>> top = model.predict_top([[0, 1, 0]], k=2)
        >>> model.classes_[top.indices].tolist()
        ['arts', 'sport']
        >>> bool((top.data > 0.5).all())
        True
        """
        k = checked(Integer(1), "k", k)
        if self._has_one_dimension:
            return Top(k, 0).of_dense(self.predict_proba(X))

        def top(some: csr_array, run: Run) -> csr_array:
            predicted = self._model.predictor.predictions(some, run, k)
            return Top(k, 0).of_dense(predicted) if isinstance(predicted, np.ndarray) else predicted

        return self._stacked(X, top)

    def predict(self, X: Any) -> np.ndarray | csr_array:
        """Predict label sets.

        `X` is as for `predict_proba`.

        Returns
        -------
        ndarray of int or csr_array of int, shape (n, q); or ndarray, shape (n,)
            1 if the label is predicted, else 0; column k is the label ``classes_[k]``. Or one class each, if y had one
            dimension in `fit`. Sparse if `y` was sparse or label sets in `fit`, and after `load` (`sparse_output_`).
        """
        if self._has_one_dimension:
            return self._best_class(self._probabilities(X))

        def label_sets(some: csr_array, run: Run) -> csr_array:
            predictor = self._model.predictor
            return reached(reaching(predictor, some, predictor.thresholds, run), predictor.thresholds).astype(int)

        predicted = self._stacked(X, label_sets)
        return predicted if self.sparse_output_ else predicted.toarray()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as `mpu train` does: a directory for `load`, `mpu predict` and other commands.

        An existing model stays in use until the new one is complete. The directory contains neither labels that could
        not be learned nor feature names. Whole-number labels are stored in ascending order, whatever their order in
        `classes_`; others are numbered from 1 in the order of `classes_`, and their names are stored. If y had more
        than two classes in one dimension, `load` keeps this, but `mpu predict` predicts all labels that reach their
        threshold.

        Raises ValueError (a label is neither a whole number from 0 nor a text, or its text does not fit on one line of
        a file), MpuError (the path cannot be written, or another training is writing there).
        """
        check_is_fitted(self)
        model = self._model
        if not model.names and arrays.label_numbers(self._of_columns) is None:
            model = replace(model, names=arrays.label_names(self._of_columns[self._columns], model.label_ids))
        bundle.save(model, path)

    @property
    def coef_(self) -> np.ndarray | csr_array:  # noqa: D102  # an attribute, described above
        level, columns = self._first_level()
        places = coo_array(level.weights)
        features = places.row if columns is None else columns.indices[places.row]
        shape = len(self._of_columns), self.n_features_in_
        coefficients = csr_array((places.data, (self._columns[places.col], features)), shape=shape)
        return coefficients.toarray() if columns is None and isinstance(level.weights, np.ndarray) else coefficients

    @property
    def intercept_(self) -> np.ndarray:  # noqa: D102
        return self._widened(self._first_level()[0].bias, -np.inf)

    def _first_level(self) -> tuple[LinearModel, Columns | None]:
        check_is_fitted(self)
        predictor = self._model.predictor
        if predictor.rbf is not None:
            raise AttributeError("the model uses kernel features, so it has no coefficients")
        return predictor.levels[0], predictor.columns

    def _become(
        self, model: bundle.TrainedModel, columns: np.ndarray, named: arrays.Named, sparse: bool
    ) -> "MPUClassifier":
        """Adopt a model, with its labels' columns among all columns, and the names of all labels."""
        self._model, self._columns, self.classes_, self.sparse_output_ = model, columns, named.classes, sparse
        self._of_columns, self._has_one_dimension = named.of_columns, named.has_one_dimension
        c = model.c
        self.record_ = model.options
        self.c_ = self._widened(c, c[0] if (c == c[0]).all() else np.nan)
        self.thresholds_ = self._widened(model.predictor.thresholds, np.inf)
        self.expected_f1_ = self.record_.get("expected_micro_f1")
        self.expected_f1_interval_ = self.record_.get("expected_micro_f1_interval")
        return self

    def _features(self, X: Any) -> csr_array:
        check_is_fitted(self)
        arrays.refuse_broken(X, "X")
        return arrays.as_csr(validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False))

    def _by_parts(self, n: int, of_part: Callable[[slice, Run], Any]) -> list[Any]:
        """Call a function for parts of n instances, in threads, and return its results.

        Processing many instances together would take much memory for intermediate results.
        """
        run = chosen(Run, {"jobs": self.n_jobs, "kernel": self.kernel})  # nothing is drawn
        rows = max(1, _PROBABILITIES // min(len(self._columns), FEW_LABELS))
        return list(run.in_threads(lambda start: of_part(slice(start, start + rows), run), range(0, n, rows)))

    def _stacked(self, X: Any, of_some: Callable[[csr_array, Run], csr_array]) -> csr_array:
        """Return a function's results for all instances, with the labels in the order of `classes_`."""
        matrix = self._features(X)
        parts = self._by_parts(matrix.shape[0], lambda part, run: of_some(matrix[part], run))
        of_model = csr_array(vstack(parts, format="csr"))
        columns, shape = self._columns[of_model.indices], (matrix.shape[0], len(self._of_columns))
        placed = csr_array((of_model.data, columns, of_model.indptr), shape=shape)
        placed.sort_indices()
        return placed

    def _probabilities(self, X: Any) -> np.ndarray:
        matrix, columns, predictor = self._features(X), self._columns, self._model.predictor
        shape = matrix.shape[0], len(self._of_columns)
        refuse_large_predictions(*shape)
        wide = np.zeros(shape, np.float32)

        def fill(part: slice, run: Run) -> None:
            wide[part, columns] = dense(predictor.predictions(matrix[part], run, len(columns)))

        self._by_parts(shape[0], fill)
        return wide

    def _widened(self, values: np.ndarray, absent: float = 0.0) -> np.ndarray:
        return arrays.widened(values, self._columns, len(self._of_columns), absent)


def load(path: str | os.PathLike[str], *, numbers: bool = False) -> MPUClassifier:
    """Read a model written by `MPUClassifier.save` or `mpu train`.

    Raises MpuError (the model does not exist, is damaged, or was written by a newer version).

    Parameters
    ----------
    path : str or path
        The directory.
    numbers : bool
        Whether to identify labels by number even if the model contains their names.

    Returns
    -------
    MPUClassifier
        Fitted. `classes_` contains the label names, or else their numbers, in ascending order of the numbers, which is
        also the column order of predictions; labels that could not be learned are not included. If two labels have the
        same name, the label's number is appended. `predict` returns a sparse matrix (`sparse_output_`). The parameters
        are those of the training, as far as the directory records them: c, C, eta0, epochs and loss are the
        values used.
    """
    model = bundle.load(path)
    recorded = {  # None: auto
        option.name: model.options[name] for name, option in DECLARED.items() if model.options.get(name) is not None
    }
    classifier = MPUClassifier(**recorded)
    classifier.n_features_in_ = model.predictor.n_features
    classes = model.shown_labels(numbers)
    named = arrays.Named(
        csr_array((0, len(classes))), classes, has_one_dimension=model.options.get("one_class_each", False)
    )
    return classifier._become(model, np.arange(len(classes)), named, sparse=True)
