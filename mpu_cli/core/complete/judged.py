"""Probabilities of suggestions, corrected by the decisions of people on a part of the suggestions.

Suggestions that were decided, from the top of a list or in part, are taken for a sample of what was claimed at the same
probability. Either claims r hold, with a prior probability of 0.2, or they do not, and then

    logit Pr(y=1 | x, s=0) = a + b (z - z'),    a ~ N(1, 2^2),    b ~ N(0.15, 0.2^2) between 0.05 and 1,

where z is logit r, hardly rising above 3, and z' the mean of z over what was decided: at the top of a list differences
between claims say little of what is right, and what was decided says much. From 2 below the least z decided on, the
line fades within 4 to what is claimed. The result is the mean over all of these, by what was decided (Bayes' rule, on
a grid): few decisions tell whether claims can be trusted, and more replace them near by. Where claims were too high
none is raised, where too low none lowered. How near that comes: docs/choices/reviews.md, "Questions and c".
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, log_expit, logit

from mpu_cli.runtime.report import HIDDEN

# How probably claims hold.
_HOLD = 0.2
# The grid of a and b, where they do not, with means and deviations of their prior.
_SHIFTS, _OF_SHIFT = np.arange(-7.0, 7.1, 0.25), (1.0, 2.0)
_SLOPES, _OF_SLOPE = np.append(0.05, np.arange(0.1, 1.01, 0.1)), (0.15, 0.2)
# Log odds of claims rise by so much less above this; how far below those decided on the line reaches, and then fades.
_SURE, _RISE, _REACH, _FADES = 3.0, 0.05, 2.0, 4.0
# Log odds of claims end here, and are tabulated.
_LARGEST = 12.0
_TABULATED = np.linspace(-_LARGEST, _LARGEST, 481)
# No claim is taken for surely right, or wrong.
_DOUBT = 0.005
# Of the normal distribution, outside which 5 % lie.
_Z = 1.96


@dataclass(frozen=True)
class Judged:
    """What was decided of suggestions, and how that corrects claims.

    Attributes
    ----------
    answered, yes : int
    claimed : float
        The mean probability of those decided, as it was claimed.
    interval : tuple of two floats
        95 % interval of the share that is true, if those decided are a sample (Wilson, JASA 1927).
    hold : float
        How probably claims hold, by what was decided.
    otherwise : ndarray of float64
        Pr(y=1 | x, s=0) if they do not, at log odds of claims from -12 to 12 in equal steps.
    """

    answered: int
    yes: int
    claimed: float
    interval: tuple[float, float]
    hold: float
    otherwise: np.ndarray = field(metadata=HIDDEN)

    @classmethod
    def of(cls, claimed: np.ndarray, true: np.ndarray) -> "Judged | None":
        """Learn from decisions.

        Parameters
        ----------
        claimed : ndarray of float, shape (m,)
            Pr(y=1 | x, s=0) by models that have not seen the instances.
        true : ndarray of bool, shape (m,)

        Returns
        -------
        Judged or None
            None where nothing was refused: people may write down only what they accept, which is no sample.
        """
        if true.all():
            return None
        z = _bent(_log_odds(claimed))
        centre, least = z.mean(), z.min() - _REACH
        shift, slope = (values.reshape(-1, 1) for values in np.meshgrid(_SHIFTS, _SLOPES, indexing="ij"))
        log_prior = -(((shift - _OF_SHIFT[0]) / _OF_SHIFT[1]) ** 2 + ((slope - _OF_SLOPE[0]) / _OF_SLOPE[1]) ** 2) / 2
        line = shift + slope * (z - centre)  # (lines, m)
        log_weight = log_prior[:, 0] + np.where(true, log_expit(line), log_expit(-line)).sum(axis=1)
        log_weight += np.log((1 - _HOLD) / np.exp(log_prior).sum())
        doubted = np.clip(claimed.astype(float), _DOUBT, 1 - _DOUBT)
        log_hold = float(np.log(np.where(true, doubted, 1 - doubted)).sum() + np.log(_HOLD))
        most = max(float(log_weight.max()), log_hold)
        weight, hold = np.exp(log_weight - most), float(np.exp(log_hold - most))
        at = _bent(_TABULATED)
        lines = shift + slope * (np.maximum(at, least) - centre)
        off = shift + slope * (least - centre) - least  # that fades below, as far as claims stay in order
        fading = (1 - (least - at) / np.maximum(_FADES, -off / 0.95)).clip(0, 1)
        lines = np.where(at < least, at + off * fading, lines)
        otherwise = weight @ expit(lines) / weight.sum()

        n, share = len(true), float(true.mean())
        middle, width = share + _Z**2 / (2 * n), _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        low, high = np.clip(np.array([middle - width, middle + width]) / (1 + _Z**2 / n), 0, 1).tolist()
        hold /= hold + float(weight.sum())
        return cls(n, int(true.sum()), float(claimed.mean()), (low, high), hold, otherwise)

    def corrected(self, claimed: np.ndarray) -> np.ndarray:
        """Return corrected probabilities, in the precision of those claimed; 0 stays 0."""
        otherwise = np.interp(_log_odds(claimed), _TABULATED, self.otherwise)
        mean = (self.hold * claimed + (1 - self.hold) * otherwise).astype(claimed.dtype)
        nearer = np.minimum if self.yes < self.claimed * self.answered else np.maximum
        return np.where(claimed > 0, nearer(claimed, mean), 0)


def _bent(log_odds: np.ndarray) -> np.ndarray:
    """Return z of log odds of claims: any shape."""
    return np.minimum(log_odds, _SURE) + _RISE * np.maximum(log_odds - _SURE, 0)


def _log_odds(claimed: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return logit(claimed.astype(float)).clip(-_LARGEST, _LARGEST)
