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
from scipy.special import expit

from mpu_cli.core.calibration import BinnedCells, Calibration, calibrate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.questions import below_ceiling
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.labels.problem import Answers
from mpu_cli.core.predictions import Predictions
from mpu_cli.people.posterior import log_odds, posterior_at, posterior_blocks

# What d may be, and the standard deviation of its prior about 0.
_DEPTHS = np.arange(-0.3, 0.91, 0.05)
_OF_DEPTH = 0.25
# log kappa ends here in either direction, and log odds from above.
_LARGEST = 20.0


@dataclass(frozen=True)
class ByAnswers:
    """The map from posteriors to probabilities."""

    calibration: Calibration  # from `scores_of` posteriors to Pr(s=1 | u)
    # `log_kappas`, `depths`: float64, shape (3, 1): kappa and d where c is as expected, and at the lower and the upper
    # end of its 90 % interval
    log_kappas: np.ndarray
    depths: np.ndarray

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

        def fitted(c: float) -> tuple[float, float]:
            total = counts.true.sum() * (1 / c - 1)
            kappas = np.array([_of_total(total, depth, unannotated, log_odds) for depth in _DEPTHS])
            r = below_ceiling(kappas[:, None] + (1 - _DEPTHS[:, None]) * of_answers)  # (D, m)
            log_weight = np.log(np.where(answers.true, r, 1 - r)).sum(axis=1) - (_DEPTHS / _OF_DEPTH) ** 2 / 2
            depth = float(np.average(_DEPTHS, weights=np.exp(log_weight - log_weight.max())))
            return _of_total(total, depth, unannotated, log_odds), depth

        forms = np.array([fitted(c) for c in (reviewed.c, *reviewed.interval)])
        return cls(calibration, forms[:, :1], forms[:, 1:])

    def probabilities(self, posterior: np.ndarray) -> np.ndarray:
        """Return probabilities for posteriors by c and by both ends of its interval, shape (3, m); 0 stays 0."""
        log_odds = _log_odds(self.calibration(scores_of(posterior)))
        return np.where(posterior > 0, below_ceiling(self.log_kappas + (1 - self.depths) * log_odds), 0)


def scores_of(posterior: np.ndarray) -> np.ndarray:
    """Return float32 numbers in the same order, by a third of log odds, so that those near 1 are told apart too."""
    scores: np.ndarray = expit(log_odds(posterior.astype(np.float32), _LARGEST, -4 * _LARGEST) / 3)
    return scores


def _scores(probabilities: Predictions, frequency: LabelFrequency) -> Predictions:
    """Return `scores_of` the posteriors of all cells."""
    blocks = (posterior for _, posterior in posterior_blocks(probabilities, frequency))
    scores = np.concatenate([scores_of(one if isinstance(one, np.ndarray) else one.data) for one in blocks])
    if isinstance(probabilities, np.ndarray):
        return scores
    return csr_array((scores, probabilities.indices, probabilities.indptr), shape=probabilities.shape)


def _of_total(total: float, depth: float, cells: np.ndarray, log_odds: np.ndarray) -> float:
    """Return log kappa by which `total` cells are true, of the counts of cells at some log odds."""
    from scipy.optimize import brentq  # is slow to import

    def off(log_kappa: float) -> float:
        return float(cells @ below_ceiling(log_kappa + (1 - depth) * log_odds)) - total

    ends = -_LARGEST, _LARGEST
    if off(ends[0]) >= 0 or off(ends[1]) <= 0:
        return ends[int(off(ends[1]) <= 0)]
    return float(brentq(off, *ends))


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    return log_odds(probabilities.astype(float), _LARGEST, -4 * _LARGEST)
