"""The squared hinge, max(0, 1 - z)^2 if s = 1, else max(0, 1 + z)^2, weighted by the label frequency.

The weights come from the convex bound of the unbiased risk (Qaraei, Schultheis, Gupta and Babbar, "Convex surrogates
for unbiased loss functions in extreme classification with missing labels", WWW 2021): an annotated label counts
2 / c - 1 times, for itself and for similar labels that look like negatives.
"""

import numpy as np

from mpu_cli.core.loss import Loss


def cell_weights(s: np.ndarray, c: np.ndarray | float) -> np.ndarray:
    """Return the weights of cells; s is bool, and c = 0, for an ignored cell, which is not annotated, gives 0.

    >>> cell_weights(np.array([True, False, False]), np.array([0.5, 0.5, 0.0]))
    array([3., 1., 0.])
    """
    with np.errstate(divide="ignore"):
        return np.where(s, 2 / np.asarray(c) - 1, np.not_equal(c, 0))


LOSS = Loss(cost=0.3, epochs=10)
