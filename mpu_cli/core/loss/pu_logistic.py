"""The loss of one cell (instance, label) if a missing label looks like a negative.

In the PU loss (Kong et al. 2014, Section 2.1), Pr(y=1 | x) = sigma(z), so that Pr(s=1 | x) = c sigma(z).
"""

import numpy as np
from scipy.special import log_expit

from mpu_cli.core.loss import Loss

# exp of larger scores may overflow in float32; beyond this, sigma is 0 or 1 up to rounding.
_LARGEST_SCORE = 80.0


def pu_loss(z: np.ndarray, s: np.ndarray, c: np.ndarray | float) -> np.ndarray:
    """Return the negative log likelihood of the annotations, without the constant -log c of annotated labels.

    s = 1: -log sigma(z). s = 0: -log(1 - c sigma(z)) = -log((1 - c) + c sigma(-z)).

    `z`: scores.
    `s`: bool, broadcastable to z: whether the label is annotated.
    `c`: broadcastable to z: label frequency, 0 < c <= 1. With c = 1 this is the logistic loss. c = 0, for an ignored
    cell, which counts as not annotated, gives 0.
    Returns: non-negative, same shape as z.

    A score of 3 (a probability of 0.95) without an annotation costs less if half of the true labels are annotated.

    >>> z = np.array([3.0])
    >>> pu_loss(z, False, c=1.0).round(2), pu_loss(z, False, c=0.5).round(2)
    (array([3.05]), array([0.65]))
    """
    with np.errstate(divide="ignore"):  # logaddexp needs log(1 - c) = -inf at c = 1
        unlabelled = -np.logaddexp(np.log1p(-np.asarray(c)), np.log(c) + log_expit(-z))
    return np.where(s, -log_expit(z), np.maximum(unlabelled, 0))  # rounding may put it just below zero


def pu_gradient(z: np.ndarray, s: np.ndarray, c: np.ndarray | float) -> np.ndarray:
    """Return the derivative of `pu_loss` in z, in the precision of z.

    s = 1: sigma - 1. s = 0: c sigma (1 - sigma) / (1 - c sigma), written as c sigma / (1 + (1 - c) e^z): this has no
    difference of nearly equal numbers, is sigma itself at c = 1, and, with z limited to +-80, does not overflow in
    float32. The result is in [-1, 1].
    """
    odds = np.exp(np.clip(z, -_LARGEST_SCORE, _LARGEST_SCORE))
    negative = 1 / (1 + odds)  # sigma(-z)
    unlabelled = c * odds * negative / (1 + (1 - c) * odds)
    s = np.asarray(s, z.dtype)
    return (1 - s) * unlabelled - s * negative


LOSS = Loss(cost=30.0, cost_of_many=300.0, gradient=pu_gradient)
