"""What every loss promises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mpu_cli.core.loss import LOSSES, loss_named
from mpu_cli.core.sgd import COSTS

Z = np.linspace(-4, 4, 41)[:, np.newaxis] + 1e-3  # beside where a hinge bends
CELLS = [(True, 0.3), (True, 1.0), (False, 0.3), (False, 1.0), (False, 0.0)]


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_is_the_derivative(name):
    loss, h = loss_named(name), 1e-6
    s, c = (np.array(column) for column in zip(*CELLS, strict=True))
    difference = (loss.value(Z + h, s, c) - loss.value(Z - h, s, c)) / (2 * h)
    assert_allclose(loss.gradient(Z, s, c), difference, atol=1e-6)
    assert (loss.gradient(Z, s, c)[:, -1] == 0).all()  # of ignored cells
    assert loss.gradient(Z.astype(np.float32), s, c.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", LOSSES)
def test_c_to_begin_with_is_one_that_is_tried(name):
    loss = loss_named(name)
    assert {loss.cost, loss.cost_of_many or loss.cost} <= set(COSTS)
