"""Probabilities of suggestions, corrected by the decisions of people on a part of the suggestions.

Suggestions that were decided, from the top of a list or in part, are taken for a sample of what was claimed at the same
probability. Claims r, as log odds, are corrected by a line,

    logit Pr(y=1 | x, s=0) = a + b logit r,    a ~ N(0, 1), b ~ N(1, 0.6^2),

the most probable one (Platt 1999, with a prior at which nothing is corrected, so that few answers correct little). Of
the top of a list alone, the priors share out what is wrong between shift and slope: mostly slope, since claims that are
too sure are wrong by less where they claim less. Where claims were too high none is raised, where too low none lowered.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit

from mpu_cli.runtime.report import Count, Interval

# Deviations of the priors of a and b; the line rises, so that the order stays.
SHIFT, SLOPE, _LEAST_SLOPE = 1.0, 0.6, 0.1
# Log odds of claims end here.
_LARGEST = 12.0
# Of the normal distribution, outside which 5 % lie.
_Z = 1.96


@dataclass(frozen=True)
class Judged:
    """What was decided of suggestions, and the line that corrects claims.

    Attributes
    ----------
    answered, yes : int
    claimed : float
        The mean probability of those decided, as it was claimed.
    interval : tuple of two floats
        95 % interval of the share that is true, if those decided are a sample (Wilson, JASA 1927).
    shift : float
        a, by which log odds are shifted.
    slope : float
        b.
    """

    answered: Count
    yes: Count
    claimed: float
    interval: Interval
    shift: float
    slope: float

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
        from scipy.optimize import minimize  # is slow to import

        z = _log_odds(claimed)

        def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
            shift, slope = line
            log_odds = shift + slope * z
            off = expit(log_odds) - true
            value = -np.where(true, log_expit(log_odds), log_expit(-log_odds)).sum()
            value += ((shift / SHIFT) ** 2 + ((slope - 1) / SLOPE) ** 2) / 2
            return value, np.array([off.sum() + shift / SHIFT**2, off @ z + (slope - 1) / SLOPE**2])

        bounds = [(None, None), (_LEAST_SLOPE, None)]
        shift, slope = minimize(loss, np.array([0.0, 1.0]), jac=True, method="L-BFGS-B", bounds=bounds).x
        n, share = len(true), float(true.mean())
        middle, width = share + _Z**2 / (2 * n), _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        low, high = np.clip(np.array([middle - width, middle + width]) / (1 + _Z**2 / n), 0, 1).tolist()
        return cls(n, int(true.sum()), float(claimed.mean()), (low, high), float(shift), float(slope))

    def corrected(self, claimed: np.ndarray) -> np.ndarray:
        """Return corrected probabilities, in the precision of those claimed; 0 stays 0."""
        line = expit(self.shift + self.slope * _log_odds(claimed)).astype(claimed.dtype)
        nearer = np.minimum if self.yes < self.claimed * self.answered else np.maximum
        return np.where(claimed > 0, nearer(claimed, line), 0)


def _log_odds(claimed: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return logit(claimed.astype(float)).clip(-_LARGEST, _LARGEST)
