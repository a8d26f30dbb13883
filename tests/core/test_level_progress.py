"""How far a level is: what a training announces, and what it counts, while it learns one."""

import pytest

from mpu_cli.core.kernels import kernel
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, hide, linear_problem
from tests.core.steps import Steps


def counted(found: Steps) -> dict[str, int]:
    """The ticks of the levels that are learned; all that were announced."""
    levels = {name: ticks for name, ticks in found.ticks.items() if name in ("level 0", "level 1")}
    assert levels == {name: found.announced[name] for name in levels}
    return levels


@pytest.mark.parametrize(
    ("how", "more"),
    [
        ({"epochs": 2}, 1),
        ({"epochs": 1, "folds": 2, "sample": 400}, 2),  # by halves
        ({"epochs": 1, "sample": 50}, 1),  # predicted in passing
    ],
    ids=["fit", "halves", "in passing"],
)
def test_a_level_counts_its_blocks_of_labels(how, more):
    X, Y = linear_problem(400, 6, 2 * kernel(Run()).BLOCK_SIZE + 3)
    found = Steps()
    options = Options(c=0.7, cost=5.0, loss="pu-logistic", levels=2, **how)
    train(Problem(as_features(X), hide(Y, 0.3)), options, Run(observe=found))
    ticks = counted(found)
    assert ticks.keys() == {"level 0", "level 1"}
    assert max(ticks.values()) == 3 * more


def test_groups_of_a_negative_sample_are_counted():
    X, Y = linear_problem(21_000, 4, 3, slope=4.0)
    found = Steps()
    labels = hide(Y, 0.3)
    many = 600  # so many labels are learned by negative sampling
    labels.resize((labels.shape[0], many))
    labels = labels.tolil()
    labels[range(many), range(many)] = True
    options = Options(c=0.7, cost=5.0, levels=1, epochs=1, sample=200)
    train(Problem(as_features(X), labels.tocsr()), options, Run(observe=found))
    assert counted(found)["level 0"] > 1
