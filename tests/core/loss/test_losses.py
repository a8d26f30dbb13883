"""What every loss promises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mpu_cli.core.loss import LOSSES, loss_named
from mpu_cli.core.loss.pu_logistic import pu_gradient, pu_loss
from mpu_cli.core.sgd import COSTS


def test_the_gradient_of_the_pu_loss_is_its_derivative():
    z, h = np.linspace(-4, 4, 41)[:, np.newaxis], 1e-6
    s, c = np.array([True, True, False, False, False]), np.array([0.3, 1.0, 0.3, 1.0, 0.0])
    difference = (pu_loss(z + h, s, c) - pu_loss(z - h, s, c)) / (2 * h)
    assert_allclose(pu_gradient(z, s, c), difference, atol=1e-6)
    assert (pu_gradient(z, s, c)[:, -1] == 0).all()  # of ignored cells
    assert pu_gradient(z.astype(np.float32), s, c.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", LOSSES)
def test_c_to_begin_with_is_one_that_is_tried(name):
    loss = loss_named(name)
    assert {loss.cost, loss.cost_of_many or loss.cost} <= set(COSTS)
