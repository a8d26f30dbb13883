"""What missing labels are listed by: probabilities out of fold, of a model or of any classifier, and their c."""

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.predictions import Predictions
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.model.calibration import Calibration, calibrate
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.options import Options
from mpu_cli.core.select.hyper_parameters import Estimates, estimate_frequency, refuse_two_frequencies
from mpu_cli.core.select.sample import Sample, draw_labels, usual_folds
from mpu_cli.core.train.instances import Instances
from mpu_cli.errors import DataError
from mpu_cli.methods import Fitted
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class Evidence:
    """What missing labels are listed by.

    Attributes
    ----------
    probabilities : ndarray or csr_array of float32, shape (n, q)
        Pr(y=1 | x), of all instances, out of fold.
    frequency : LabelFrequency
    reviewed : ReviewedFrequency or None
        Where the frequency comes from, if from what people have decided.
    blocks : int
        Of so many probabilities that were calibrated by themselves.
    warnings : tuple of str
    calibration : Calibration or None
        What made probabilities of scores; None where a model predicts probabilities.
    """

    probabilities: Predictions
    frequency: LabelFrequency
    _: KW_ONLY
    blocks: int
    warnings: tuple[str, ...] = ()
    calibration: Calibration | None = None
    reviewed: ReviewedFrequency | None = None

    @classmethod
    def of_fitted(cls, fitted: Fitted, problem: Problem) -> "Evidence":
        """Take a model of the method mpu and its predictions of all instances out of fold."""
        model, held_out = fitted.model, fitted.out_of_fold
        assert isinstance(model, StackedModel) and held_out is not None
        # Of about as many true labels each; the map of a stratum has some more.
        blocks = 1 if model.calibration is None else min(len(of_one.actual) for of_one in model.calibration.maps)
        frequency = LabelFrequency.of(fitted.c, problem.labels.shape, problem.verified, fitted.groups)
        return cls(
            probabilities=held_out,
            frequency=frequency,
            reviewed=fitted.reviewed,
            blocks=blocks,
            warnings=fitted.warnings,
        )

    @classmethod
    def of_scores(cls, scores: np.ndarray, problem: Problem, options: Options, run: Run) -> "Evidence":
        """Calibrate out-of-fold scores of any classifier, by c of the options or as it is estimated by them.

        Raises
        ------
        DataError
            No label is annotated in a cell that is not ignored.
        """
        n, q = problem.labels.shape
        population = Instances.of(problem, run.empty)
        refuse_two_frequencies(population, options)
        estimates = Estimates()
        if options.c is None:
            drawn = draw_labels(population.annotations, run.seed)
            folds = options.folds or usual_folds(n, q)
            with run.step("estimate c"):
                sample = Sample(population, options.sample, folds, run, drawn)
                estimates = estimate_frequency(population, sample, run, scores=scores)
        groups = problem.groups and replace(problem.groups, rates=estimates.group_rates)
        c = estimates.c if options.c is None else options.c
        frequency = LabelFrequency.of(c, (n, q), problem.verified, groups)
        calibration = calibrated_by(scores, problem.labels, frequency)
        return cls(
            calibration(scores),
            frequency,
            blocks=len(calibration.actual),
            warnings=tuple(estimates.warnings()),
            calibration=calibration,
            reviewed=estimates.reviewed,
        )


def calibrated_by(scores: np.ndarray, labels: csr_array, frequency: LabelFrequency) -> Calibration:
    """Learn what makes probabilities of scores; DataError where no label is annotated in a cell that is not ignored."""
    learned = calibrate(scores, labels, frequency)
    if learned is None:
        raise DataError("no label is annotated in a cell that is not ignored, so there is nothing to calibrate by")
    return learned
