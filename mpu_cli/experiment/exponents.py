"""A power law of training time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import linregress


@dataclass(frozen=True)
class PowerLaw:
    """seconds = factor * n ** exponent.

    Attributes
    ----------
    exponent, factor : float
    standard_error : float
        Standard error of the exponent; 0 with two sizes.
    """

    exponent: float
    factor: float
    standard_error: float

    def __call__(self, n: np.ndarray) -> np.ndarray:
        """Return the seconds at sizes n."""
        return self.factor * np.asarray(n, float) ** self.exponent


def fit_power_law(sizes: Sequence[float], seconds: Sequence[float]) -> PowerLaw:
    """Fit a power law by least squares on the logarithms.

    Parameters
    ----------
    sizes, seconds : sequence of float, length at least 2
        Positive numbers, with at least two different sizes.
    """
    line = linregress(np.log(sizes), np.log(seconds))
    return PowerLaw(float(line.slope), float(np.exp(line.intercept)), float(line.stderr))
