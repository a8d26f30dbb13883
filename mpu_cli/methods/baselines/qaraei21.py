"""A convex bound of the unbiased risk, after Qaraei et al. (WWW 2021).

Qaraei, Schultheis, Gupta and Babbar, "Convex Surrogates for Unbiased Loss Functions in Extreme Classification With
Missing Labels". A label is annotated (s = 1) with probability c if it is true (y = 1), and never otherwise. The loss

    s = 1: l(z) / c - (1/c - 1) l(-z)          s = 0: l(-z)

has the expectation of y l(z) + (1 - y) l(-z), but is not convex in general. With the 0-1 loss l(-z) = 1 - l(z), so that
the first line is (2/c - 1) l(z) and a constant. A convex l in the place of the 0-1 loss there gives

    (2/c - 1) s l(z) + (1 - s) l(-z):

binary relevance in which annotated labels weigh 2/c - 1. With complete labels it is plain binary relevance.

*From scores back to probabilities.* Let p = Pr(y=1 | x), so that Pr(s=1 | x) = c p. The expected loss at x is
(2 - c) p l(z) + (1 - c p) l(-z), a binary problem with the odds

    o = (2 - c) p / (1 - c p),     hence     p = o / (2 - c + c o),

clipped to 1. The logistic loss has its minimum at z = log o, so that p = sigma(z - log w) / c with w = 2/c - 1. The
squared hinge has it at z = (o - 1) / (o + 1), so that o = (1 + z) / (1 - z) for |z| < 1, and
p = (1 + z) / (2 (1 - (1 - c) z)). In both, p = 1/2 where z = 0: the rule of the 0-1 loss is the sign of the score.

Where the paper leaves a choice:

- c is one number, or one for each label (of a propensity model, say); estimated as for mpu if it is not set. The
  table of the squared hinge (below) is for one c.
- The linear problems are solved by LIBLINEAR in the primal, bias regularised, by scikit-learn.
- C is chosen in a hill climb in half decades by the micro-F1 that is estimated for complete labels, out of fold.
- A model's scores go through a sigmoid. That of the squared hinge is then mapped to p by a table of 101 points on the
  scale of log odds, z = (2 p - 1) / (1 + 2 (1 - c) p) from p = 0.0006 to 0.9994; beyond, log odds go on with the score,
  so that no two scores tie.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.limits import largest, refuse_large_sample, refuse_large_weights
from mpu_cli.core.data.problem import Rows
from mpu_cli.core.frequency.estimators import estimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.calibration import Calibration
from mpu_cli.core.model.stacking import LinearModel, StackedModel
from mpu_cli.core.select.sample import Sample, draw
from mpu_cli.core.select.trials import choose_cost, out_of_fold_f1
from mpu_cli.errors import DataError, OverflowingError
from mpu_cli.methods.baselines import Qaraei21Options
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step

_THRESHOLD = np.float32(0.5)
# Points of the table for the squared hinge, and the log odds of p where it ends.
_POINTS, _OUTERMOST = 101, 7.5
# Larger values are not passed to LIBLINEAR, which would not terminate.
_LARGEST_FEATURE = 1e30


@dataclass(frozen=True)
class Qaraei21Findings:
    """The report of a training."""

    c: np.ndarray  # float64, shape (q,): label frequency of each label
    cost: float
    f1: float | None  # micro-F1 to expect on complete labels with the chosen C, out of fold; None if C was set
    caution: str | None  # caution about the estimate of c


def train(
    matrix: csr_array, labels: csr_array, options: Qaraei21Options, run: Run = DEFAULT_RUN
) -> tuple[StackedModel, Qaraei21Findings]:
    """Train a linear classifier for each label; each label is annotated at least once.

    Returns: a model of one level; probabilities are Pr(y=1 | x), thresholds 0.5.
    Raises DataError (c is out of range, or there is one for each label and the loss is the squared hinge),
    TooLargeError (the weights or predictions would not fit in memory), OverflowingError (the features are too large for
    the solver).
    """
    if largest(matrix.data) > _LARGEST_FEATURE:
        raise OverflowingError
    n, q = labels.shape
    refuse_large_weights(matrix.shape[1], q)
    refuse_large_sample(min(n, options.sample), q)
    caution = None
    if options.c is None:
        sample = Sample(Rows(Features.of(matrix), labels), options.sample, options.folds, run)
        with run.step(Step.ESTIMATE_C, sample.m) as tick:
            estimated = estimate(sample.naive_probabilities(tick), sample.labels)
        c, caution = LabelFrequency.of(estimated.c, (n, q)).rates, estimated.caution
        del sample
    else:
        c = LabelFrequency.of(options.c, (n, q)).rates
    link = _link(options.bounded_loss, c)
    cost, f1 = options.cost, None
    if cost is None:
        with run.step(Step.CHOOSE_C, None) as tick:
            rows = draw(n, options.sample, run.seed)
            sample, annotated = matrix[rows], labels[rows]

            def predict(rest: np.ndarray, held_out: np.ndarray, cost: float) -> np.ndarray:
                level = _fit(sample[rest], annotated[rest], c, cost, options.bounded_loss, run.jobs)
                return link(level).probabilities(sample[held_out], run)

            evaluate = out_of_fold_f1(annotated, c, _THRESHOLD, predict, options.folds, run, tick)
            cost, f1 = choose_cost(evaluate, 1 / Features.of(sample).mean_squared_norm())
    with run.step(Step.TRAIN, q) as tick:
        level = _fit(matrix, labels, c, cost, options.bounded_loss, run.jobs, tick)
    return link(level), Qaraei21Findings(c, cost, f1, caution)


def _fit(
    matrix: csr_array,
    labels: csr_array,
    c: np.ndarray,
    cost: float,
    loss: str,
    jobs: int,
    tick: Callable[[], None] = lambda: None,
) -> LinearModel:
    """Train the linear scores z of all labels."""
    (n, D), q = matrix.shape, labels.shape[1]
    weights, biases = np.zeros((D, q), np.float32), np.empty(q, np.float32)
    columns, indices = np.unique(matrix.indices, return_inverse=True)  # the solver allocates all up to the largest
    parts = matrix.data.astype(np.float64), indices.astype(np.int32), matrix.indptr.astype(np.int32)
    features = csr_array(parts, shape=(n, max(len(columns), 1)))
    by_label = labels.tocsc()

    def of_label(k: int) -> tuple[np.ndarray | None, float]:
        s = np.zeros(n, bool)
        s[by_label.indices[by_label.indptr[k] : by_label.indptr[k + 1]]] = True
        weight = 2 / c[k] - 1
        if s.all() or not s.any():  # only one class: the score of the odds with one more of each
            odds = weight * (s.sum() + 1) / (n - s.sum() + 1)
            return None, float(np.log(odds) if loss == "logistic" else (odds - 1) / (odds + 1))
        classifier = _solver(loss, cost).fit(features, s, sample_weight=np.where(s, weight, 1.0))
        return classifier.coef_[0], float(classifier.intercept_[0])

    for k, (coefficients, bias) in enumerate(parallel.run(of_label, ((k,) for k in range(q)), jobs)):
        if coefficients is not None:
            weights[columns, k] = coefficients[: len(columns)]
        biases[k] = bias
        tick()
    return LinearModel(weights, biases)


def _solver(loss: str, cost: float) -> Any:
    """Return a linear classifier of two classes, solved by Newton steps in the primal: the same result each time."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if loss == "logistic":
        return LogisticRegression(C=cost, solver="liblinear", max_iter=1000)
    return LinearSVC(C=cost, dual=False, max_iter=10_000)


def _link(loss: str, c: np.ndarray) -> Callable[[LinearModel], StackedModel]:
    """Return a function from a model of scores to one of Pr(y=1 | x)."""
    thresholds = np.full(len(c), _THRESHOLD)
    if loss == "logistic":

        def of_logistic(level: LinearModel) -> StackedModel:
            shifted = LinearModel(level.weights, (level.bias - np.log(2 / c - 1)).astype(np.float32))
            return StackedModel((shifted,), 0.0, thresholds, frequencies=c)

        return of_logistic

    if (c != c[0]).any():
        raise DataError("the squared hinge takes one c for all labels: give a number, or the logistic loss")
    log_odds = np.linspace(-_OUTERMOST, _OUTERMOST, _POINTS)
    p = expit(log_odds)
    table = Calibration((2 * p - 1) / (1 + 2 * (1 - c[0]) * p), log_odds)
    return lambda level: StackedModel((level,), 0.0, thresholds, calibrations=(table,))
