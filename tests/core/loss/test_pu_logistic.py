from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mpu_cli.core.loss.pu_logistic import pu_gradient, pu_loss

scores = st.floats(-30, 30)
frequencies = st.floats(1e-6, 1)
FREQUENCIES = [1e-6, 0.1, 0.4, 0.9, 1 - 1e-7, 1.0]
Z = np.concatenate([np.linspace(-100, 100, 81), [-1e-3, 1e-3, -17, 17]])


def exact(z: float, s: bool, c: float) -> tuple[float, float]:
    """Loss and derivative in sixty digits, from the definitions."""
    with localcontext(prec=60):
        z, c = Decimal(float(z)), Decimal(float(c))
        sigma, complement = 1 / (1 + (-z).exp()), 1 / (1 + z.exp())
        if s:
            return float(-sigma.ln()), float(-complement)
        unlabelled = (1 - c) + c * complement
        return float(-unlabelled.ln()), float(c * sigma * complement / unlabelled)


@pytest.mark.parametrize("c", FREQUENCIES)
@pytest.mark.parametrize("s", [False, True])
@pytest.mark.parametrize("as_array", [False, True], ids=["number", "array"])
@pytest.mark.parametrize(("dtype", "rtol", "atol"), [(np.float32, 2e-6, 2e-7), (np.float64, 1e-12, 1e-15)])
def test_exact_in_either_precision(dtype, rtol, atol, as_array, s, c):
    z = Z.astype(dtype)
    frequency = np.array([c], dtype) if as_array else c
    loss, gradient = np.array([exact(score, s, frequency[0] if as_array else c) for score in z]).T
    assert pu_gradient(z, s, np.array([c], dtype)).dtype == dtype
    assert_allclose(pu_loss(z, s, frequency), loss, rtol=rtol, atol=atol)
    # The gradient has no absolute error to allow for but that of scores cut off where sigma is 0 or 1 to rounding.
    assert_allclose(pu_gradient(z, s, frequency), gradient, rtol=rtol, atol=1e-27)


@given(st.floats(-1e4, 1e4), st.booleans(), st.floats(2**-126, 1, width=32), st.sampled_from([np.float32, np.float64]))
def test_finite_and_within_bounds_at_any_score(z, s, c, dtype):
    z, c = dtype(z), dtype(c)
    assert 0 <= pu_loss(z, s, c) < np.inf
    assert -1 <= pu_gradient(z, s, c) <= 0 if s else 0 <= pu_gradient(z, s, c) <= 1


@given(scores, st.floats(0, 1), frequencies)
def test_between_annotated_and_not_the_gradient_is_their_mixture(z, s, c):
    z = np.float64(z)
    mixture = s * pu_gradient(z, True, c) + (1 - s) * pu_gradient(z, False, c)
    assert_allclose(pu_gradient(z, s, c), mixture, rtol=1e-12, atol=1e-15)


# What docs/paper.md says of the formulas that the paper prints

C = np.array([0.1, 0.5, 0.9, 1.0])


@pytest.mark.parametrize(("s", "constant"), [(1, np.log(C)), (-1, 0)])
def test_the_logarithm_of_the_one_line_for_both_is_our_loss_but_for_a_constant(s, constant):
    z = np.linspace(-6, 6, 25)[:, None]
    printed = C / (1 + np.exp(-s * z)) + (1 - s) * (1 - C) / 2
    assert_allclose(-np.log(printed), pu_loss(z, np.array(s > 0), C) - constant, rtol=1e-10)


def test_the_loss_of_what_is_not_annotated_is_not_convex():
    curvature = np.diff(pu_loss(np.linspace(-6, 6, 25)[:, None], np.array(False), C), n=2, axis=0)
    assert (curvature.min(axis=0) < -1e-3).tolist() == [True, True, True, False]
