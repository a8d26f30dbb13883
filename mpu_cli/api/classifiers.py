"""Classifiers in the conventions of scikit-learn learn labels: all at once where they can, else one by one.

On incomplete labels, c, probabilities and thresholds come from their out-of-fold scores.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from mpu_cli.core.evidence import Evidence, calibrated_by
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.problem import Problem, joined, kin_of
from mpu_cli.core.limits import refuse_beyond_free
from mpu_cli.core.options import Options
from mpu_cli.core.sample import usual_folds
from mpu_cli.core.thresholds import Decision
from mpu_cli.core.validation import default_folds, together
from mpu_cli.errors import DataError
from mpu_cli.people.posterior import unannotated_posterior
from mpu_cli.runtime.options import AUTO
from mpu_cli.runtime.run import Run, Step

# What a cell teaches whose label is not annotated.
NEGATIVE, WEIGHTED = "negative", "weighted"
UNANNOTATED = (NEGATIVE, WEIGHTED, AUTO)
# Seeds of scikit-learn are below this.
SEEDS = 1 << 32
# Makes targets of some instances, by their out-of-fold scores and their numbers.
Soften = Callable[[np.ndarray, np.ndarray], np.ndarray]


def learned(estimator: Any, X: Any, targets: np.ndarray) -> list[Any]:
    """Learn labels from instances, by copies of the classifier; return one of all labels, or one of each.

    Targets (n x q) are how probable it is that the label is true. Of 0 and 1, the classifier learns them. Of others,
    the cell is a positive with this weight, and a negative with the rest (Elkan and Noto 2008, Section 3). NaN: it
    teaches nothing, which no classifier of all labels can be told.
    """
    if takes_all(estimator, targets):
        return [clone(estimator).fit(X, targets.astype(int))]
    return [_of_one(estimator, X, target) for target in targets.T]


def takes_all(estimator: Any, targets: np.ndarray) -> bool:
    """Whether one classifier learns all of these labels at once."""
    is_certain = ((targets == 0) | (targets == 1)).all()
    tags = get_tags(estimator)
    learns_several = tags.classifier_tags.multi_label or not tags.target_tags.single_output
    return bool(targets.shape[1] > 1 and is_certain and learns_several)


def _of_one(estimator: Any, X: Any, target: np.ndarray) -> Any:
    """Learn one label from the instances that are not ignored."""
    true, false = np.flatnonzero(target > 0), np.flatnonzero(target < 1)
    if not len(true) or not len(false):
        return DummyClassifier().fit(np.zeros((len(target), 1)), np.full(len(target), int(not len(false))))
    rows, y = np.concatenate([true, false]), np.repeat([1, 0], [len(true), len(false)])
    if not get_tags(estimator).target_tags.single_output:
        y = y[:, None]
    weights = np.concatenate([target[true], 1 - target[false]])
    if (weights == 1).all():
        order = np.argsort(rows)
        rows, y = rows[order], y[order]
        return clone(estimator).fit(X if len(rows) == len(target) else _safe_indexing(X, rows), y)
    return clone(estimator).fit(_safe_indexing(X, rows), y, **{weight_parameter(estimator): weights})


def weight_parameter(estimator: Any) -> str:
    """Return the parameter of `fit` that takes weights of instances, "" where there is none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{inner}" if (inner := weight_parameter(last)) else ""
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else ""


@dataclass(frozen=True)
class Folds:
    """How instances are dealt into folds."""

    n: int
    seed: int
    kin: np.ndarray | None  # int, shape (n,): instances with equal numbers stay together; None: all differ

    def of(self, rows: np.ndarray) -> "Folds":
        """Return how some of the instances are dealt."""
        return self if self.kin is None else replace(self, kin=self.kin[rows])

    def splits(self, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, of each fold of n instances, which are learned from, and which are held out."""
        splits = list(KFold(self.n, shuffle=True, random_state=self.seed).split(np.empty(n)))
        if self.kin is None:
            return splits
        folds = np.empty(n, int)
        for fold, (_, test) in enumerate(splits):
            folds[test] = fold
        folds = together(folds, self.kin, self.n)
        return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]


def kin_of_any(X: Any) -> np.ndarray | None:
    """Return which instances repeat others, as `kin_of` does, of numbers or of texts; None of anything else."""
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


def held_out(
    estimator: Any,
    X: Any,
    targets: np.ndarray,
    folds: Folds,
    soften: Soften | None = None,
    parallel: Parallel | None = None,
) -> np.ndarray:
    """Score each instance by classifiers that have not seen it: float32, shape (n, q).

    With `soften`, these learn what it makes of scores by a cross-validation within the instances that they learn from.
    """

    def of_fold(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        part, aims = _safe_indexing(X, train), targets[train]
        if soften is not None:
            aims = soften(held_out(estimator, part, aims, folds.of(train)), train)
        return scores(learned(estimator, part, aims), _safe_indexing(X, test), targets.shape[1])

    splits = folds.splits(len(targets))
    of_folds = (parallel or Parallel())(delayed(of_fold)(*split) for split in splits)
    scored = np.empty(targets.shape, np.float32)
    for (_, test), of_test in zip(splits, of_folds, strict=True):
        scored[test] = of_test
    return scored


def scores(learned: list[Any], X: Any, q: int) -> np.ndarray:
    """Score q labels, by one classifier for all or one for each: float32, n x q, from 0 to 1.

    Scores are probabilities, the logistic function of decisions, the share of votes, or else the predictions.
    """
    return np.hstack([_scores(model, X, q // len(learned)) for model in learned])


def _scores(estimator: Any, X: Any, q: int) -> np.ndarray:
    if hasattr(estimator, "predict_proba"):
        p, classes = estimator.predict_proba(X), estimator.classes_
        if q == 1 and not isinstance(p, list) and not isinstance(classes, list):
            p, classes = [p], [classes]
        if isinstance(p, list):  # of each label, the probability of each class
            p = np.stack([of_label @ (np.asarray(own) == 1) for of_label, own in zip(p, classes, strict=True)], 1)
    elif hasattr(estimator, "decision_function"):
        p = expit(estimator.decision_function(X))
    elif getattr(estimator, "voting", "") == "hard":
        p = np.mean(estimator.transform(X), axis=1)  # the share of the votes
    else:
        p = estimator.predict(X)
    return np.asarray(p, np.float32).reshape(-1, q)


def suited(classifiers: list[Any], matrix: csr_array) -> csr_array | np.ndarray:
    """Return features as they are, or dense for classifiers that take no others; TooLargeError beyond the memory."""
    if all(get_tags(classifier).input_tags.sparse for classifier in classifiers):
        return matrix
    n, D = matrix.shape
    refuse_beyond_free(4 * n * D, f"{n:,} instances x {D:,} features", "take a classifier that learns sparse features")
    return matrix.toarray()


@dataclass(frozen=True)
class Learned:
    """Classifiers of labels, and what their out-of-fold scores say."""

    classifiers: list[Any]  # of all instances, from `classifiers.learned`
    scores: np.ndarray  # float32, shape (n, q): out of fold, from 0 to 1
    evidence: Evidence  # c, calibration and probabilities by these
    decision: Decision  # thresholds by these
    is_weighted: bool  # whether cells that are not annotated have weights


def learn(
    estimator: Any,
    X: Any,
    problem: Problem,
    options: Options,
    run: Run,
    *,
    unannotated: str = NEGATIVE,
    parallel: Any = None,
    per_label: bool = False,
) -> Learned:
    """Learn labels from annotations.

    `X`: array_like, sparse matrix or data frame, shape (n, D): in place of the features of the problem.
    `problem`: annotations, and what people have decided: they correct what is learned.
    `options`: c, threshold, folds and sample count.
    `unannotated`: {"negative", "weighted", "auto"}: what a cell teaches that is not annotated: that the label is false;
    or that it is true with the weight Pr(y=1 | x, s=0), and false with the rest (Elkan and Noto, KDD 2008, Section 3).
    These are probabilities by classifiers of a cross-validation, and where scores are out of fold, of one within the
    instances that they are learned from: so the F1 that is expected of both can be compared. auto takes the better.
    `parallel`: learns folds side by side.
    `per_label`: whether each label has a c of its own, where annotations alone tell c.
    Raises DataError (the classifier takes no weights and is to have them; or there is nothing to learn from).
    """
    if unannotated == WEIGHTED and not weight_parameter(estimator):
        raise DataError(f"unannotated is 'weighted', and {type(estimator).__name__} takes no sample_weight")
    labels, targets = problem.labels, _targets(problem)
    n_folds = options.folds or usual_folds(*labels.shape) or default_folds(labels.shape[0])
    kin = kin_of_any(X)
    folds = Folds(n_folds, run.seed % SEEDS, joined(kin, problem.same_fold))
    with run.step(Step.OUT_OF_FOLD):
        scored = held_out(estimator, X, targets, folds, parallel=parallel)
    evidence = Evidence.of_scores(scored, replace(problem, kin=kin), options, run)
    if per_label:
        evidence = evidence.by_label(scored, labels)
    decision = evidence.decision(labels, options.threshold)
    frequency, is_weighted = evidence.frequency, False

    def soften(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return targets by out-of-fold scores; c is 1 where a cell is verified, so that these stay."""
        of_rows = frequency.rows(rows)
        p = calibrated_by(scores, labels[rows], of_rows)(scores)
        posterior = unannotated_posterior(p, np.broadcast_to(of_rows.of_cells(slice(None)), p.shape))
        softened: np.ndarray = np.where(targets[rows] == 0, posterior.astype(np.float32), targets[rows])
        return softened

    if unannotated != NEGATIVE and weight_parameter(estimator) and (frequency.rates < 1).any():
        soft = soften(scored, np.arange(len(scored)))
        with run.step(Step.OUT_OF_FOLD_WITH_WEIGHTS):
            others = held_out(estimator, X, targets, folds, soften, parallel)
        by_weights = evidence.of_other_scores(others, labels)
        expected = by_weights.decision(labels, options.threshold)
        is_weighted = unannotated == WEIGHTED or expected.expected.f1 > decision.expected.f1
        if is_weighted:
            targets, scored, evidence, decision = soft, others, by_weights, expected
    with run.step(Step.TRAIN):
        return Learned(learned(estimator, X, targets), scored, evidence, decision, is_weighted)


def _targets(problem: Problem) -> np.ndarray:
    """Return the annotations, corrected by what is verified; NaN where a cell is ignored: float32, shape (n, q)."""
    certain = LabelFrequency.of(1.0, problem.labels.shape, problem.verified)
    targets: np.ndarray = certain.positives(problem.labels).astype(np.float32).toarray()
    targets[certain.ignored()] = np.nan
    return targets
