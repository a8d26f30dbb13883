"""What every loss promises."""

import pytest

from mpu_cli.core.loss import LOSSES, loss_named
from mpu_cli.core.sgd import COSTS


@pytest.mark.parametrize("name", LOSSES)
def test_c_to_begin_with_is_one_that_is_tried(name):
    loss = loss_named(name)
    assert {loss.cost, loss.cost_of_many or loss.cost} <= set(COSTS)
