"""How time grows with size: the exponent of a power law."""

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
        Of the exponent; 0 with two sizes.
    """

    exponent: float
    factor: float
    standard_error: float

    def __call__(self, n: np.ndarray) -> np.ndarray:
        """Seconds at sizes n."""
        return self.factor * np.asarray(n, float) ** self.exponent


def fit_power_law(sizes: Sequence[float], seconds: Sequence[float]) -> PowerLaw:
    """Fit a line to the logarithms by least squares.

    Parameters
    ----------
    sizes, seconds : sequence of float, length at least 2
        Positive; at least two different sizes.
    """
    line = linregress(np.log(sizes), np.log(seconds))
    return PowerLaw(float(line.slope), float(np.exp(line.intercept)), float(line.stderr))
