"""What out-of-fold predictions say, of a model or of any classifier: c, probabilities, thresholds."""

from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.calibration import Calibration, HeldOut, calibrate
from mpu_cli.core.frequency.label_frequency import EarlierEstimate, LabelFrequency, is_estimated
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import Predictions
from mpu_cli.core.sample import Instances, draw_sample
from mpu_cli.core.selection import Estimates, TrainingResult, estimate_frequency, refuse_two_frequencies
from mpu_cli.core.thresholds import ExpectedF1, chosen_thresholds, expected_f1
from mpu_cli.errors import DataError
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class Evidence:
    """What missing labels are listed by."""

    # ndarray or csr_array of float32, shape (n, q): Pr(y=1 | x), of all instances, out of fold
    probabilities: Predictions
    frequency: LabelFrequency
    _: KW_ONLY
    estimates: Estimates = field(default_factory=Estimates)  # where the frequency comes from
    kin: np.ndarray | None = None  # int, shape (n,): instances with equal numbers stay in one fold; None: all differ
    # What made probabilities of scores; None where a model predicts probabilities
    calibration: Calibration | None = None

    @classmethod
    def of_training(cls, result: TrainingResult, problem: Problem) -> "Evidence":
        """Take the predictions of a training that has predicted all instances out of fold."""
        chosen, frequency = result.chosen, result.chosen.frequency(problem)
        return cls(result.held_out.probabilities, frequency, estimates=chosen.estimates, kin=result.kin)

    @classmethod
    def of_scores(cls, scores: np.ndarray, problem: Problem, options: Options, run: Run) -> "Evidence":
        """Calibrate out-of-fold scores of any classifier, by c of the options or as it is estimated by them.

        Raises DataError (no label is annotated in a cell that is not ignored).
        """
        population = replace(Instances.of(problem), label_features=None)
        refuse_two_frequencies(population, options)
        earlier = options.c if isinstance(options.c, EarlierEstimate) else None
        estimates = Estimates(earlier=earlier, repeated=population.share_repeated)
        if is_estimated(options.c):
            with run.step("estimating c"):
                sample = draw_sample(population, options, run)
                estimates = estimate_frequency(population, sample, run, probabilities=sample.part_of(scores))
                estimates = replace(estimates, dominating=None)  # scores do not come from these features
        rates = estimates.rates(problem.labels.shape[1], options.c)
        frequency = estimates.frequency(rates, problem)
        calibration = calibrated_by(scores, problem.labels, frequency)
        return cls(
            calibration(scores),
            frequency,
            estimates=estimates,
            kin=population.kin,
            calibration=calibration,
        )

    def decision(self, labels: csr_array, criterion: str | float) -> tuple[np.ndarray, ExpectedF1]:
        """Choose the thresholds of these annotated labels, as of the same cells; return the F1 to expect, too."""
        held_out = HeldOut(self.probabilities, labels, self.frequency)
        thresholds, _ = chosen_thresholds(held_out, criterion)
        return thresholds, expected_f1(held_out, thresholds)


def calibrated_by(scores: np.ndarray, labels: csr_array, frequency: LabelFrequency) -> Calibration:
    """Return what calibrates scores; DataError where no label is annotated in a cell that is not ignored."""
    calibration = calibrate(HeldOut(scores, labels, frequency))
    if calibration is None:
        raise DataError("every annotated cell is ignored, so there is nothing to calibrate by")
    return calibration
