"""Estimates from the out-of-fold predictions of a model or of any classifier: c, probabilities, thresholds."""

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.calibration import Calibration, HeldOut, calibrate
from mpu_cli.core.frequency import questions
from mpu_cli.core.frequency.estimators import CountedCells, estimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency, is_estimated
from mpu_cli.core.frequency.single_frequencies import SingleFrequencies, alike
from mpu_cli.core.labels.problem import Answers, Problem
from mpu_cli.core.options import LINEAR, FrequencyOptions, Options
from mpu_cli.core.predictions import Predictions, refuse_too_large
from mpu_cli.core.sample import Sample, draw_sample
from mpu_cli.core.selection import (
    Estimates,
    TrainingResult,
    choose_features,
    estimate_frequency,
    refuse_two_frequencies,
)
from mpu_cli.core.thresholds import ExpectedF1, chosen_thresholds
from mpu_cli.errors import DataError
from mpu_cli.runtime.run import Run


class Scored:
    """Instances, and out-of-fold scores of a sample of them, used to estimate c and to draw questions.

    `scores`: of all cells (n x q), from any classifier, from 0 to 1; None: from a linear one that is learned here.
    `per_label`: as for `draw_sample`.
    Raises TooLargeError (the data do not fit in memory).
    """

    def __init__(
        self,
        problem: Problem,
        options: FrequencyOptions,
        run: Run,
        scores: np.ndarray | None = None,
        per_label: bool = False,
    ) -> None:
        features = options.features if scores is None else LINEAR
        chosen = Options(features=features, folds=options.folds, sample=options.sample)
        population = replace(choose_features(problem, chosen, run)[0], label_features=None)
        if scores is None:
            refuse_too_large(population.features.width, problem.labels.shape[1], levels=1)
        else:  # they do not come from these features
            population = replace(population, dominating=None)
        self.population, self._options, self._run = population, options, run
        self._scores, self._per_label = scores, per_label

    @cached_property
    def sample(self) -> Sample:
        """The sample."""
        return draw_sample(self.population, self._options, self._run, self._per_label)

    @cached_property
    def probabilities(self) -> np.ndarray | None:
        """Pr(s=1 | x) of its cells, float32; None if only complete label sets, which then give c, are annotated."""
        if self._scores is not None:
            return self._scores[np.ix_(self.sample.rows, self.sample.columns)]
        if self.population.is_reviewed and not self.sample.has_evidence:
            return None
        with self._run.step("predicting out of fold", len(self.sample.fold_rows)) as tick:
            return self.sample.naive_probabilities(tick)

    def estimates(self, method: str = "bbe") -> Estimates:
        """Estimate c, as `estimate_frequency` does."""
        probabilities = self.probabilities  # a separate step
        with self._run.step("estimating c"):
            return estimate_frequency(self.sample, scores=probabilities, method=method)

    def singly(self, estimates: Estimates) -> SingleFrequencies:
        """Return the label frequency of each label in the problem, from annotations alone."""
        assert self.probabilities is not None and estimates.estimate is not None  # c was estimated from them
        if estimates.single is not None:
            return estimates.single
        sample, labels = self.sample, self.population.labels
        with self._run.step("estimating c of each label"):
            cells = CountedCells.of(self.probabilities, sample.labels, sample.verified)
            c = estimates.frequency(estimates.rates(labels.shape[1]), self.population).of_annotations(labels)[1]
            return sample.of_every_label(alike(cells, estimates.estimate, c[sample.columns]), sample.columns, c)

    def answered(self) -> tuple[questions.ScoredCells, Answers] | None:
        """Return the cells of the sample with scores, and the answers on unannotated ones; None without scores."""
        answers = self.population.answers or Answers.none()
        return None if self.probabilities is None else self.sample.answered(self.probabilities, answers)

    def questions(self, n: int, allowed: np.ndarray | None = None) -> questions.Questions:
        """Draw at most n questions, by `core.frequency.questions.draw`, on cells that are not verified.

        `allowed`: bool, shape (q,): the labels that may be asked about. None: all.
        Raises DataError (labels are annotated in complete label sets only).
        """
        if not self.sample.has_evidence:
            raise DataError("only complete label sets have annotations, so there is nothing to choose questions by")
        sample, probabilities, answered = self.sample, self.probabilities, self.answered()
        assert probabilities is not None and answered is not None
        (cells, answers), truth = answered, None
        if len(answers):
            alone = estimate(probabilities, sample.labels, verified=sample.verified, folds=sample.fold_of_instances)
            truth = questions.fit(cells, answers, alone.c).truth
        if allowed is not None:
            cells = replace(cells, open=cells.open & allowed[cells.columns])
        drawn = questions.draw(cells, n, self._run.seed, truth)
        return replace(drawn, rows=sample.rows[drawn.rows], columns=cells.columns[drawn.columns])


@dataclass(frozen=True)
class Evidence:
    """The evidence used to list missing labels."""

    # ndarray or csr_array of float32, shape (n, q): Pr(y=1 | x) for all instances, out of fold
    probabilities: Predictions
    frequency: LabelFrequency
    _: KW_ONLY
    estimates: Estimates = field(default_factory=Estimates)  # where the frequency comes from
    kin: np.ndarray | None = None  # int, shape (n,): instances with equal numbers stay in one fold; None: all differ
    # The calibration that turned scores into probabilities; None if a model predicts probabilities
    calibration: Calibration | None = None

    @classmethod
    def of_training(cls, result: TrainingResult, problem: Problem) -> "Evidence":
        """Take the predictions from a training that predicted all instances out of fold."""
        chosen, frequency = result.chosen, result.chosen.frequency(problem)
        return cls(result.held_out.probabilities, frequency, estimates=chosen.estimates, kin=result.kin)

    @classmethod
    def of_scores(cls, scores: np.ndarray, problem: Problem, options: Options, run: Run) -> "Evidence":
        """Calibrate out-of-fold scores from any classifier, with c from the options or estimated from the scores.

        Raises DataError (no label is annotated in a cell that is not ignored).
        """
        refuse_two_frequencies(problem, options.c)
        scored = Scored(problem, options, run, scores)
        known = Estimates.given(options.c, scored.population)
        estimates = scored.estimates() if is_estimated(options.c) else known
        rates = estimates.rates(problem.labels.shape[1], options.c)
        frequency = estimates.frequency(rates, problem)
        calibration = calibrated_by(HeldOut(scores, problem.labels, frequency))
        return cls(
            calibration(scores),
            frequency,
            estimates=estimates,
            kin=scored.population.kin,
            calibration=calibration,
        )

    def decision(self, labels: csr_array, criterion: str | float) -> tuple[np.ndarray, ExpectedF1]:
        """Choose the thresholds for these annotated labels of the same cells, and return them with the expected F1."""
        return chosen_thresholds(HeldOut(self.probabilities, labels, self.frequency), criterion)


def calibrated_by(scores: HeldOut) -> Calibration:
    """Return the calibration of the scores; DataError if no label is annotated in a cell that is not ignored."""
    calibration = calibrate(scores)
    if calibration is None:
        raise DataError("every annotated cell is ignored, so there is nothing to calibrate by")
    return calibration
