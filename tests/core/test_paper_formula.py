"""What docs/paper.md says of the formulas that the paper prints."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit

from mpu_cli.core.loss.pu_logistic import pu_loss

Z, C = np.linspace(-6, 6, 25)[:, None], np.array([0.1, 0.5, 0.9, 1.0])


def printed(s: int) -> np.ndarray:
    """The probability of s, -1 or 1, in the one line that the paper has for both."""
    return C / (1 + np.exp(-s * Z)) + (1 - s) * (1 - C) / 2


def test_the_one_line_is_right_for_both():
    assert_allclose(printed(1), C * expit(Z), rtol=1e-12)
    assert_allclose(printed(1) + printed(-1), 1, rtol=1e-12)


def test_its_logarithm_is_our_loss_but_for_a_constant():
    assert_allclose(-np.log(printed(1)), pu_loss(Z, np.array(True), C) - np.log(C), rtol=1e-10)
    assert_allclose(-np.log(printed(-1)), pu_loss(Z, np.array(False), C), rtol=1e-10)


def test_the_loss_of_what_is_not_annotated_is_not_convex():
    curvature = np.diff(pu_loss(Z, np.array(False), C), n=2, axis=0)
    assert (curvature.min(axis=0) < -1e-3).tolist() == [True, True, True, False]
