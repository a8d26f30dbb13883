"""Probabilities of suggestions by answers to questions.

The posterior of a suggestion (`posterior`) takes the label frequency of a label for the same at all scores. Where it
comes from answers, the scores can deny that: a label that is annotated in .9 of the highest scores has no c of .6
there. So the posterior u serves as a score alone, for the form in which `core.frequency.questions` takes the answers:
Pr(y=1 | u, s=0) = kappa o^(1 - d), with o the odds of being annotated at u, by isotonic regression of all labels
together. One kappa makes the probabilities add up to the number of labels that c says to be missing; of d
the mean of its posterior is taken. How near that comes: docs/choices/reviews.md, "Probabilities by answers".
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logit

from mpu_cli.core.calibration import BinnedCells, Calibration, calibrate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.questions import below_ceiling
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.predictions import Predictions
from mpu_cli.core.problem import Answers
from mpu_cli.people.posterior import posterior_at, posterior_blocks
from mpu_cli.people.suggestions import ByDecisions, Cells, Count, Z, correction_by_decisions

# What d may be, and the standard deviation of its prior about 0.
_DEPTHS = np.arange(-0.3, 0.91, 0.05)
_OF_DEPTH = 0.25
# Before any answers, how far a line in log odds may be from the form: deviations of its shift and its slope.
_OF_LINE = (1.0, 0.6)
# What the form may be off by beyond what answers tell, as standard deviations of a shift and a slope of log odds.
_MISFIT = (0.4, 0.2)
# log kappa ends here in either direction, and log odds from above.
_LARGEST = 20.0


@dataclass(frozen=True)
class Form:
    """Parameters of the form."""

    # `log_kappa`, `depth`: kappa and d
    log_kappa: float
    depth: float

    def probabilities(self, log_odds: np.ndarray) -> np.ndarray:
        """Return Pr(y=1 | u, s=0) by log o: any shape."""
        return below_ceiling(self.log_kappa + (1 - self.depth) * log_odds)


@dataclass(frozen=True)
class ByAnswers:
    """The map from posteriors to probabilities."""

    calibration: Calibration  # from `scores_of` posteriors to Pr(s=1 | u)
    # `form`, `many`, `few`: where c is as expected, and where it is at the lower and at the upper end of its 90 %
    # interval
    form: Form
    many: Form
    few: Form
    # float64, shape (2, 2): how far a line in log odds may be from these probabilities: of its shift and its slope
    covariance: np.ndarray

    @classmethod
    def of(
        cls,
        probabilities: Predictions,
        labels: csr_array,
        frequency: LabelFrequency,
        answers: Answers,
        reviewed: ReviewedFrequency,
    ) -> "ByAnswers | None":
        """Learn the map.

        `probabilities`: ndarray or csr_array of float32, shape (n, q): calibrated Pr(y=1 | x), out of fold.
        `reviewed`: that comes from these answers.
        Returns: None where no label is annotated by chance.
        """
        scores = _scores(probabilities, frequency)
        annotated = LabelFrequency.of(1.0, labels.shape, frequency.verified and frequency.verified.left_to_chance())
        calibration = calibrate(scores, labels, annotated)
        if calibration is None:
            return None
        counts = BinnedCells.of(scores, labels, annotated)
        there = np.flatnonzero(counts.cells[0])
        unannotated, log_odds = (counts.cells - counts.true)[0, there], _log_odds(calibration.at_edges(there))
        answered = posterior_at(probabilities, frequency, answers.rows, answers.columns)
        of_answers = _log_odds(calibration(scores_of(answered)))

        def fitted(c: float) -> Form:
            total = counts.true.sum() * (1 / c - 1)
            forms = [_of_total(total, depth, unannotated, log_odds) for depth in _DEPTHS]
            r = np.array([form.probabilities(of_answers) for form in forms])  # (D, m)
            log_weight = np.log(np.where(answers.true, r, 1 - r)).sum(axis=1) - (_DEPTHS / _OF_DEPTH) ** 2 / 2
            depth = float(np.average(_DEPTHS, weights=np.exp(log_weight - log_weight.max())))
            return _of_total(total, depth, unannotated, log_odds)

        form, many, few = (fitted(c) for c in (reviewed.c, *reviewed.interval))
        r = form.probabilities(of_answers)
        lines = np.stack([np.ones_like(r), logit(r)])
        information = np.diag(1 / np.square(_OF_LINE)) + lines * (r * (1 - r)) @ lines.T
        return cls(calibration, form, many, few, np.linalg.inv(information) + np.diag(np.square(_MISFIT)))

    def corrected(self, posterior: np.ndarray) -> np.ndarray:
        """Return probabilities for posteriors, in the same precision; 0 stays 0."""
        r = self.form.probabilities(self._log_odds(posterior))
        return np.where(posterior > 0, r, 0).astype(posterior.dtype)

    def expected_right(self, listed: Cells, posterior: np.ndarray) -> Count:
        """Estimate how many of a subset of the suggestions, with these posteriors, are right.

        The 90 % interval covers the interval of c, what the answers leave open of the probabilities, and chance.
        """
        r, expected = listed.probabilities.astype(float), float(listed.probabilities.sum(dtype=float))
        usual, *others = (form.probabilities(self._log_odds(posterior)) for form in (self.form, self.many, self.few))
        lines = np.stack([np.ones_like(r), logit(r)])
        by_line = lines @ (r * (1 - r))
        # The line that changes the sum most, of those as probable; r near 1 can fall, and hardly rise.
        farthest = Z * self.covariance @ by_line / max(np.sqrt(by_line @ self.covariance @ by_line), 1e-300) @ lines
        chance = Z**2 * (r * (1 - r)).sum()

        def distance(sign: int) -> float:
            of_line = float(expit(lines[1] + sign * farthest).sum()) - expected
            of_c = max(sign * float((other - usual).sum()) for other in others)
            return float(np.sqrt(of_line**2 + max(of_c, 0.0) ** 2 + chance))

        return Count(expected, max(expected - distance(-1), 0.0), min(expected + distance(1), float(len(listed))))

    def _log_odds(self, posterior: np.ndarray) -> np.ndarray:
        return _log_odds(self.calibration(scores_of(posterior)))


@dataclass(frozen=True)
class Corrections:
    """What people have decided corrects posteriors: first answers to questions, then decisions on suggestions."""

    by_answers: ByAnswers | None
    by_decisions: ByDecisions | None

    @classmethod
    def of(
        cls,
        probabilities: Predictions,
        labels: csr_array,
        frequency: LabelFrequency,
        answers: Answers | None,
        reviewed: ReviewedFrequency | None,
        origins: csr_array | None = None,
    ) -> "Corrections":
        """Learn from what is decided; parameters as of `ByAnswers.of`, where c does not come from answers None.

        `origins`: as of `correction_by_decisions`.
        """
        by_answers = None
        if answers is not None and reviewed is not None and reviewed.answers:
            by_answers = ByAnswers.of(probabilities, labels, frequency, answers, reviewed)
        learned_from = None if by_answers is None else answers
        decided = probabilities, frequency.verified, labels, frequency
        return cls(by_answers, correction_by_decisions(*decided, by_answers, learned_from, origins))

    def corrected(self, claimed: np.ndarray) -> np.ndarray:
        """Return probabilities for posteriors."""
        for correction in (self.by_answers, self.by_decisions):
            claimed = claimed if correction is None else correction.corrected(claimed)
        return claimed


def scores_of(posterior: np.ndarray) -> np.ndarray:
    """Return float32 numbers in the same order, by a third of log odds, so that those near 1 are told apart too."""
    with np.errstate(divide="ignore"):
        scores: np.ndarray = expit(logit(posterior.astype(np.float32)).clip(-4 * _LARGEST, _LARGEST) / 3)
    return scores


def _scores(probabilities: Predictions, frequency: LabelFrequency) -> Predictions:
    """Return `scores_of` the posteriors of all cells."""
    blocks = (posterior for _, posterior in posterior_blocks(probabilities, frequency))
    scores = np.concatenate([scores_of(one if isinstance(one, np.ndarray) else one.data) for one in blocks])
    if isinstance(probabilities, np.ndarray):
        return scores
    return csr_array((scores, probabilities.indices, probabilities.indptr), shape=probabilities.shape)


def _of_total(total: float, depth: float, cells: np.ndarray, log_odds: np.ndarray) -> Form:
    """Return the form by which `total` cells are true, of the counts of cells at some log odds."""
    from scipy.optimize import brentq  # is slow to import

    def off(log_kappa: float) -> float:
        return float(cells @ Form(log_kappa, depth).probabilities(log_odds)) - total

    ends = -_LARGEST, _LARGEST
    if off(ends[0]) >= 0 or off(ends[1]) <= 0:
        return Form(ends[int(off(ends[1]) <= 0)], depth)
    return Form(float(brentq(off, *ends)), depth)


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        log_odds: np.ndarray = logit(probabilities.astype(float)).clip(-4 * _LARGEST, _LARGEST)
    return log_odds
