"""Any classifier on incomplete labels: its out-of-fold scores say c, probabilities and thresholds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from mpu_cli.core.complete.posterior import unannotated_posterior
from mpu_cli.core.data.features import with_width
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.calibration import Calibration
from mpu_cli.core.model.thresholds import Decision
from mpu_cli.core.options import Options
from mpu_cli.core.select.sample import usual_folds
from mpu_cli.core.train.evidence import Evidence, calibrated_by
from mpu_cli.core.validation import default_folds
from mpu_cli.errors import DataError
from mpu_cli.methods.scikit_learn import NEGATIVE, SEEDS, WEIGHTED
from mpu_cli.methods.scikit_learn.classifiers import held_out, learned, packed, scores, suited, weight_parameter
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class Learned:
    """Classifiers of labels, and what their out-of-fold scores say."""

    classifiers: list[Any]  # of all instances, from `classifiers.learned`
    scores: np.ndarray  # float32, shape (n, q): out of fold, from 0 to 1
    evidence: Evidence  # c, calibration and probabilities by these
    decision: Decision  # thresholds by these
    is_weighted: bool  # whether cells that are not annotated have weights


@dataclass(frozen=True)
class CalibratedClassifiers:
    """Classifiers as a model of labels."""

    classifiers: list[Any]  # one of all labels, or one of each
    calibration: Calibration  # what makes probabilities of their scores
    thresholds: np.ndarray  # float32, shape (q,)
    n_features: int

    @classmethod
    def of(cls, learned: Learned, n_features: int) -> "CalibratedClassifiers":
        """Take what was learned."""
        assert learned.evidence.calibration is not None
        decision = learned.decision
        return cls(learned.classifiers, learned.evidence.calibration, decision.thresholds, n_features)

    @cached_property
    def packed(self) -> bytes:
        """The classifiers as they are saved; two packings of the same are not the same bytes."""
        return packed(self.classifiers)

    def probabilities(self, matrix: csr_array, run: Run | None = None) -> np.ndarray:
        """Pr(y=1 | x): float32, shape (n, q)."""
        features = suited(self.classifiers, with_width(matrix, self.n_features))
        return self.calibration(scores(self.classifiers, features, len(self.thresholds)))

    def predictions(self, matrix: csr_array, run: Run | None = None, most: int | None = None) -> np.ndarray:
        """Return the same."""
        return self.probabilities(matrix)


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
    folds = KFold(n_folds, shuffle=True, random_state=run.seed % SEEDS)
    with run.step("out of fold"):
        found = held_out(estimator, X, targets, folds, parallel=parallel)
    evidence = Evidence.of_scores(found, problem, options, run)
    if per_label:
        evidence = evidence.by_label(found, labels)
    decision = evidence.decision(labels, options.threshold)
    frequency, is_weighted = evidence.frequency, False

    def soften(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return targets by out-of-fold scores; c is 1 where a cell is verified, so that these stay."""
        of_rows = frequency.rows(rows)
        p = calibrated_by(scores, labels[rows], of_rows)(scores)
        posterior = unannotated_posterior(p, np.broadcast_to(of_rows.of_cells(slice(None)), p.shape))
        return np.where(targets[rows] == 0, posterior.astype(np.float32), targets[rows])

    if unannotated != NEGATIVE and weight_parameter(estimator) and (frequency.rates < 1).any():
        soft = soften(found, np.arange(len(found)))
        with run.step("out of fold, with weights"):
            others = held_out(estimator, X, targets, folds, soften, parallel)
        by_weights = evidence.of_other_scores(others, labels)
        expected = by_weights.decision(labels, options.threshold)
        is_weighted = unannotated == WEIGHTED or expected.expected.f1 > decision.expected.f1
        if is_weighted:
            targets, found, evidence, decision = soft, others, by_weights, expected
    with run.step("train"):
        return Learned(learned(estimator, X, targets), found, evidence, decision, is_weighted)


def _targets(problem: Problem) -> np.ndarray:
    """Return the annotations, corrected by what is verified; NaN where a cell is ignored: float32, shape (n, q)."""
    certain = LabelFrequency.of(1.0, problem.labels.shape, problem.verified)
    targets: np.ndarray = certain.positives(problem.labels).astype(np.float32).toarray()
    targets[certain.ignored()] = np.nan
    return targets
