"""Functions on arrays with incomplete labels: estimate c, draw questions, choose thresholds, predict out of fold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length

from mpu_cli.api import arrays
from mpu_cli.api.arrays import Annotations
from mpu_cli.api.estimator import (
    DECLARED,
    MPUClassifier,
    chosen,
    drawn_questions,
    learned_rates,
    listed_missing,
    settings_of,
    warn_of,
)
from mpu_cli.core import stacking
from mpu_cli.core.calibration import Calibration, HeldOut
from mpu_cli.core.frequency.estimators import METHODS, FrequencyEstimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.questions import Questions, from_people
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.frequency.single_frequencies import SingleFrequencies
from mpu_cli.core.options import CRITERIA, FrequencyOptions, Options
from mpu_cli.core.predictions import Cells, dense, refuse_large_predictions
from mpu_cli.core.thresholds import chosen_thresholds
from mpu_cli.errors import DataError
from mpu_cli.people.posteriors import Evidence, Scored, calibrated_by, unannotated_posterior
from mpu_cli.people.suggestions import given_other_labels
from mpu_cli.runtime.options import Kind, checked
from mpu_cli.runtime.run import Run

# Keywords of `MPUClassifier.fit`.
_VERIFIED = ("reviewed", "fully_labelled", "ignored")
_DRAWN = (*_VERIFIED, "sampled")


def _annotations(y: Any, keywords: Mapping[str, Any], allowed: tuple[str, ...] = _VERIFIED) -> Annotations:
    """Check annotations, and the verified labels given as keywords; refuse other keywords."""
    if unknown := keywords.keys() - {*allowed}:
        hint = "; c_from_review takes it" if "sampled" in unknown else ""
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}{hint}")
    return Annotations.of_matrix(y, **keywords)


def estimate_c(
    X: Any = None,
    y: Any = None,
    *,
    scores: ArrayLike | None = None,
    per_label: bool = False,
    method: str = "bbe",
    **keywords: Any,
) -> FrequencyEstimate | SingleFrequencies:
    """Estimate the label frequency c, the share of the true labels that is annotated, as `mpu estimate-c` does.

    The estimate uses only the incomplete labels, by cross-validation. The best-bin estimate needs at least one label
    that the features predict well; without one, it also uses labels that are mostly annotated together.

    Warns with MpuWarning as `mpu estimate-c` does, for example if the features predict all labels poorly, or if people
    seem to have stopped at some number of labels.
    Source: Garg et al., "Mixture Proportion Estimation and PU Learning: A Modern Approach", NeurIPS 2021, for bbe;
    Elkan and Noto, "Learning Classifiers from Only Positive and Unlabeled Data", KDD 2008, Section 2, for the others.

    Parameters
    ----------
    X : array_like, sparse matrix or data frame, shape (n, D), optional
        Features; a linear model or an RBF kernel is learned from them, as `MPUClassifier` chooses by default. Leave
        them out if you give scores.
    y : array_like, sparse matrix or data frame, shape (n, q)
        S, the annotated labels: 1 if the label is annotated, else 0; NaN if unknown.
    scores : array_like, shape (n, q), optional
        Pr(s=1 | x), of being annotated, from any classifier of annotated against unannotated that has not seen the
        instance, as by `sklearn.model_selection.cross_val_predict`; not Pr(y=1 | x), of being true, as by `out_of_fold`
        or `calibrate`. bbe uses only their order; e1, e2 and e3 refuse scores that are clearly too large.
    per_label : bool
        Whether to return c of each label: the overall c, unless labels clearly differ.
    method : {"bbe", "e1", "e2", "e3"}
        bbe: best bin. e1, e2, e3: Elkan and Noto 2008.
    **keywords
        features, folds, sample, random_state and n_jobs, as for `MPUClassifier`; reviewed, fully_labelled and
        ignored, as for its `fit`.

    Returns
    -------
    FrequencyEstimate
        `c`, its 90 % `interval`, the `labels` (columns of y) used to estimate it, and whether one of them is
        `predictable`. Its `assumption`: every true label is annotated with the same probability, or with its label's
        own; if these differ in another way, c is that of the best annotated labels; if features make no label certain,
        the true c is higher. If (nearly) no annotated instance has more labels than some number that many
        have (`label_cap`), c is unknown: NaN, like its interval.
        With `per_label`: SingleFrequencies, whose `c`, `intervals` (90 %) and `pooled` have an entry for each column
        of y, NaN if unknown; `pooled` marks labels whose c comes from other labels: those with few annotations, or all
        if labels do not clearly differ.

    Examples
    --------
    >>> import numpy as np
    >>> from mpu_cli import estimate_c
    >>> X = np.eye(5)[np.arange(400) % 5]
    >>> S = (X + np.roll(X, 1, axis=1)).astype(int)
    >>> S[np.random.default_rng(0).random(S.shape) < 0.25] = 0    # a quarter of the labels is missing
    >>> estimate = estimate_c(X, S)
    >>> round(estimate.c, 2)
    0.75
    >>> low, high = estimate.interval
    >>> low < estimate.c < high
    True
    """
    checked(Kind(words=METHODS), "method", method)
    declared = {name: DECLARED[name] for name in ("features", "folds", "sample", "seed", "jobs")}
    given = {name: keywords.pop(option.name, option.written_default) for name, option in declared.items()}
    annotations, P = _with_features(X, scores, _annotations(y, keywords))
    scored = Scored(annotations, chosen(FrequencyOptions, given), chosen(Run, given), P)
    estimates = scored.estimates(method)
    estimate = estimates.estimate
    assert estimate is not None  # c has no other source here
    warn_of(estimates, annotations)
    if per_label:
        each = scored.singly(estimates).of_all(annotations.named.matrix.shape[1], annotations.columns, estimate.c)
        return replace(each, c=each.c * np.nan, intervals=each.intervals * np.nan) if estimate.label_cap else each
    if estimate.label_cap:
        estimate = replace(estimate, c=np.nan, interval=(np.nan, np.nan))
    return estimate.of_columns(annotations.columns)


def _with_features(X: Any, scores: Any, annotations: Annotations) -> tuple[Annotations, np.ndarray | None]:
    """Check features and add them to the annotations; or check the scores given instead, and return these too."""
    if (X is None) == (scores is None):
        raise DataError("give either features (X) or out-of-fold scores (scores=)")
    if scores is None:
        matrix = arrays.checked(X, "X", dtype=np.float32, ensure_min_features=1)
        check_consistent_length(matrix, annotations.labels)
        return replace(annotations, features=arrays.as_csr(matrix)), None
    return annotations, annotations.of_scores(scores)


def _held_out(annotations: Annotations, P: np.ndarray, c: Any) -> HeldOut:
    frequency = LabelFrequency.of(learned_rates(c, annotations), P.shape, annotations.verified)
    return HeldOut(P, annotations.labels, frequency)


class CheckedCalibration(Calibration):
    """A calibration that checks scores, dense or sparse."""

    def __call__(self, predictions: Any) -> np.ndarray:
        """Return probabilities: dense, float32, in the shape of the scores; DataError if these are not from 0 to 1."""
        values = predictions if issparse(predictions) else np.atleast_1d(predictions)
        return super().__call__(arrays.from_0_to_1(values, "scores", ensure_2d=False, allow_nd=True))


def calibrate(y: Any, *, scores: ArrayLike, c: ArrayLike, **verified: Any) -> Calibration:
    """Learn a calibration that turns the scores of any model into Pr(y=1 | x), the probability that a label is true.

    Source: Zadrozny and Elkan, KDD 2002: isotonic regression of s / c on the score.

    Parameters
    ----------
    y : array_like, sparse matrix or data frame, shape (n, q)
        S, the annotated labels.
    scores : array_like, shape (n, q)
        From 0 to 1, by a model that has not seen the instance.
    c : float or array_like of shape (q,)
        Label frequency, in (0, 1].
    **verified
        reviewed, fully_labelled and ignored, as for `MPUClassifier.fit`.

    Returns
    -------
    Calibration
        A strictly increasing function that maps scores in arrays of any shape, the same for all labels.

    Examples
    --------
    Out of a thousand cells with the score 0.4, four hundred are annotated: half of the true ones.

    >>> import numpy as np
    >>> from mpu_cli import calibrate
    >>> scores = np.repeat([0.4, 0.01], [1000, 9000])[:, None]
    >>> S = np.arange(10_000)[:, None] < 400
    >>> round(float(calibrate(S, scores=scores, c=0.5)(scores[0])[0]), 2)
    0.8
    """
    annotations = _annotations(y, verified)
    found = calibrated_by(_held_out(annotations, annotations.of_scores(scores), c))
    return CheckedCalibration(found.predicted, found.actual)


def missing_labels(
    y: Any, *, scores: ArrayLike, c: ArrayLike | None = None, top: int | None = None, **verified: Any
) -> Cells:
    """List probably missing labels, most probable first, by the scores of any model, as `mpu suggest` does.

    The scores are calibrated here. With up to 500 labels, the annotations of the other labels are used too.

    Source: Elkan and Noto, KDD 2008, Section 2, for the probabilities; docs/method.md, "Missing labels".

    Parameters
    ----------
    y, scores, **verified
        As for `calibrate`. Verified and ignored cells are not listed.
    c : float or array_like of shape (q,), optional
        Label frequency, in (0, 1], taken as known, also if you have estimated it; NaN: estimated. Default: estimated
        here, so that the largest probabilities are less certain, and c is 0 for instances that nobody seems to have
        looked at.
    top : int, optional
        Maximum number of cells. Default: all cells.

    Returns
    -------
    Cells
        `rows`, `columns`, and `probabilities`: Pr(y=1 | x, s=0). If c is given, these add up to about the number of
        missing labels that it implies, over all cells; to fewer if c is below the annotated share of the
        cells with the highest scores.

    Examples
    --------
    >>> import numpy as np
    >>> from mpu_cli import missing_labels
    >>> Y = np.arange(400)[:, None] % 2 == [0, 1]
    >>> S = Y & (np.arange(400) % 8 > 1)[:, None]                  # a quarter of the labels is missing
    >>> missing = missing_labels(S, scores=np.where(Y, 0.75, 0.01), c=0.75, top=100)
    >>> bool(Y[missing.rows, missing.columns].all()), bool(missing.probabilities.min() > 0.9)
    (True, True)
    """
    annotations = _annotations(y, verified)
    options = Options(c=None if c is None else learned_rates(c, annotations))
    evidence = Evidence.of_scores(annotations.of_scores(scores), annotations, options, Run())
    warn_of(evidence.estimates, annotations)
    return listed_missing(evidence, annotations, top)


def c_from_review(y: Any, reviewed: Any, sampled: ArrayLike, *, scores: ArrayLike | None = None) -> ReviewedFrequency:
    """Estimate the label frequency c, overall and for each label, from a reviewed random sample or from answers.

    Source: docs/method.md, "Frequencies from complete label sets" and "Frequencies from questions".

    Parameters
    ----------
    y, reviewed, sampled
        As for `MPUClassifier.fit`; y from before the review.
    scores : array_like, shape (n, q), optional
        As for `questions`. Answers on single cells need them. Of a reviewed sample, they give c from annotations alone,
        which counts as much as two true labels, as in `mpu estimate-c`.

    Returns
    -------
    ReviewedFrequency
        `c`, and `rates` with an entry for each label that is annotated or verified as true, in the column order of y;
        with 90 % credible intervals.

    Examples
    --------
    10 of the 40 true labels in 40 reviewed instances were annotated.

    >>> import numpy as np
    >>> from mpu_cli import c_from_review
    >>> S = np.zeros((400, 1), int)
    >>> S[:100] = 1
    >>> sampled = np.arange(400) % 10 == 0
    >>> review = c_from_review(S, reviewed=np.where(sampled, 1, 0)[:, None], sampled=sampled)
    >>> review.instances, bool(review.interval[0] <= 0.25 < review.interval[1])
    (40, True)
    """
    annotations = Annotations.of_matrix(y, reviewed=reviewed, sampled=sampled)
    if scores is not None:
        found = Scored(annotations, FrequencyOptions(), Run(), annotations.of_scores(scores)).estimates().reviewed
    elif annotations.answers is None:
        found = from_people(annotations)
    else:
        raise DataError("sampled has probabilities of single cells: also give the scores that `questions` had")
    if found is None:
        raise DataError("sampled: no instance and no reviewed cell was drawn")
    return found


def questions(
    X: Any = None,
    y: Any = None,
    n: int = 0,
    *,
    scores: ArrayLike | None = None,
    random_state: Any = Run.seed,
    **verified: Any,
) -> Questions:
    """Draw unannotated cells to ask about, so that the answers estimate c best, as `mpu suggest --questions` does.

    Source: docs/method.md, "Frequencies from questions".

    Parameters
    ----------
    X, y, scores
        As for `estimate_c`.
    n : int
        Maximum number of questions.
    random_state : int, RandomState or None
        Seed for drawing them.
    **verified
        reviewed, fully_labelled, ignored and sampled, as for `MPUClassifier.fit`: reviewed cells are not asked about,
        and the previous answers determine which further cells are most informative.

    Returns
    -------
    Questions
        `rows` and `columns` of the cells, the `chance` with which each was drawn, and the `probabilities` that the
        label is true: given the answers so far, or else assuming that half of the labels are missing.

    Examples
    --------
    Half of the labels are missing. 40 questions are asked, and answered correctly.

    >>> import numpy as np
    >>> from mpu_cli import MPUClassifier, questions
    >>> X = np.eye(3)[np.arange(450) % 3]
    >>> Y = X.astype(int)
    >>> S = Y * (np.random.default_rng(0).random(Y.shape) < 0.5)
    >>> asked = questions(X, S, 40)
    >>> reviewed, sampled = np.zeros(S.shape), np.zeros(S.shape)
    >>> cells = asked.rows, asked.columns
    >>> reviewed[cells], sampled[cells] = np.where(Y[cells], 1, -1), asked.chance
    >>> model = MPUClassifier(levels=1).fit(X, S, reviewed=reviewed, sampled=sampled)
    >>> model.record_["c_by_people"]["answers"], bool(abs(model.c_ - 0.5).max() < 0.1)
    (40, True)
    """
    annotations, P = _with_features(X, scores, _annotations(y, verified, _DRAWN))
    return drawn_questions(FrequencyOptions(), chosen(Run, {"seed": random_state}), annotations, n, P)


@dataclass(frozen=True)
class OutOfFold:
    """Predictions of training instances by models that have not seen them.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (n, q)
        p = Pr(y=1 | x), of being true; not of being annotated.
    c : ndarray of float, shape (q,)
        Label frequency of each label; NaN (unknown) if the label is never annotated.
    posteriors : ndarray of float32, shape (n, q)
        Probability that a label is true if it is not annotated: (1-c) g / (1 - c g), where g is Pr(y=1 | x and the
        annotations of the other labels) with up to 500 labels, and p with more; c is 0 for instances that nobody seems
        to have looked at. Useful for unannotated cells: the highest values are the labels that are most probably
        missing, in the order of `mpu suggest`.
    """

    probabilities: np.ndarray
    c: np.ndarray
    posteriors: np.ndarray


def out_of_fold(X: Any, y: Any, estimator: MPUClassifier | None = None, **verified: Any) -> OutOfFold:
    """Predict training instances by models that have not seen them, and find their missing labels.

    Source: Kong et al., SDM 2014, Section 2.2 (the cross-validation figure); Elkan and Noto, KDD 2008, Section 2.

    Parameters
    ----------
    X, y, **verified
        As for `MPUClassifier.fit`: reviewed, fully_labelled, ignored and sampled.
    estimator : MPUClassifier, optional
        Its parameters are used; it is not changed.

    Returns
    -------
    OutOfFold
        Labels that are never annotated have probability 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mpu_cli import MPUClassifier, out_of_fold
    >>> X = np.eye(3)[np.arange(300) % 3]
    >>> S = X.astype(int)
    >>> S[0] = 0                          # a label is missing
    >>> held_out = out_of_fold(X, S, MPUClassifier(levels=1, c=0.9))
    >>> missing = np.where(S, 0, held_out.posteriors)
    >>> np.unravel_index(missing.argmax(), missing.shape) == (np.int64(0), np.int64(0))
    True
    """
    if not isinstance(estimator, MPUClassifier | None):
        raise DataError(
            f"out_of_fold takes an MPUClassifier, not {type(estimator).__name__}: take the scores of "
            "sklearn.model_selection.cross_val_predict(..., method='predict_proba'), and give them to estimate_c, "
            "calibrate, missing_labels and choose_thresholds"
        )
    annotations, _ = _with_features(X, None, _annotations(y, verified, _DRAWN))
    options, run = settings_of(MPUClassifier() if estimator is None else estimator, annotations)
    refuse_large_predictions(*annotations.labels.shape)
    _, result = stacking.train(annotations, options, run, hold_out_all=True)
    evidence, c = Evidence.of_training(result, annotations), result.chosen.c
    warn_of(evidence.estimates, annotations)
    given_others = dense(given_other_labels(evidence, annotations.labels, run))
    cells = np.ogrid[tuple(map(slice, given_others.shape))]
    of_cells = evidence.of_posteriors(annotations.labels).of_unverified(*cells)
    return OutOfFold(
        annotations.widened(dense(evidence.probabilities)),
        annotations.widened(c, np.nan),
        annotations.widened(unannotated_posterior(given_others, of_cells)),
    )


@dataclass(frozen=True)
class Thresholds:
    """Decision thresholds and their expected F1.

    Attributes
    ----------
    thresholds : ndarray of float32, shape (q,)
        Predict a label if its probability is at least its threshold.
    expected_f1 : float
        Their expected micro-F1 on complete labels.
    """

    thresholds: np.ndarray
    expected_f1: float


def choose_thresholds(
    probabilities: ArrayLike, y: Any, c: ArrayLike, criterion: str = "pu-f1", **verified: Any
) -> Thresholds:
    """Choose the decision thresholds that maximise the estimated F1 on complete labels.

    Each annotated label that is predicted represents 1/c true ones, so with P >= t predicted and S annotated

        F(t) = 2 (sum of 1/c over P >= t and S) / (number of P >= t + sum of 1/c over S).

    After Kong et al., SDM 2014, Section 2.1: the annotated labels are a random share c of the true labels.

    Parameters
    ----------
    probabilities : array_like, shape (n, q)
        P, in [0, 1], by any classifier that has not seen the instances.
    y, c, **verified
        As for `calibrate`.
    criterion : {"pu-f1", "per-label", "macro-f1"}
        pu-f1 and per-label maximise this micro-F1 with one threshold for all labels, or one for each label with at
        least 20 annotations. macro-f1 maximises each label's own F1, as expected from P calibrated on all labels.

    Returns
    -------
    Thresholds
        Infinite for labels that are never annotated.

    Examples
    --------
    >>> from mpu_cli import choose_thresholds
    >>> best = choose_thresholds([[0.9], [0.8], [0.7], [0.6]], [[1], [0], [1], [0]], c=0.8)
    >>> bool(0.6 < best.thresholds[0] <= 0.7), round(best.expected_f1, 2)
    (True, 0.91)
    """
    checked(Kind(words=CRITERIA), "criterion", criterion)
    annotations = _annotations(y, verified)
    P = annotations.of_scores(probabilities, "probabilities")
    best, expected = chosen_thresholds(_held_out(annotations, P, c), criterion)
    return Thresholds(annotations.widened(best, np.inf), expected.f1)
