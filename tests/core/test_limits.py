"""What would not fit in memory is refused before the work, with its size; tests of fewer labels are with training."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.core import limits
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import TooLargeError
from mpu_cli.experiment.methods import elkan08
from tests.golden import refused

Q = 600
QUICK = Options(c=1.0, cost=1.0, eta0=1.0, epochs=1, folds=2)


def problem(D: int) -> tuple[csr_array, csr_array]:
    """Return two instances: one has all features, both have all labels."""
    features = csr_array((np.ones(D, np.float32), (np.zeros(D, int), np.arange(D))), shape=(2, D))
    return features, csr_array(np.ones((2, Q), bool))


@pytest.mark.parametrize(("levels", "features", "size"), [(1, "100,000", "51,200,000"), (2, "100,600", "51,507,200")])
def test_a_block_of_many_labels_is_refused_with_its_size(monkeypatch, levels, features, size):
    monkeypatch.setattr(limits, "machine_memory", lambda: 51_000_000)
    with pytest.raises(TooLargeError, match=rf"{features} features x 64 labels, .* take {size} bytes .*drop rare feat"):
        train(Problem(*problem(100_000)), replace(QUICK, levels=levels))


def test_many_labels_are_not_refused_for_what_all_of_their_weights_would_take(monkeypatch):
    monkeypatch.setattr(limits, "machine_memory", lambda: 4 * Q * 1000 - 1)
    model, _ = train(Problem(*problem(1000)), replace(QUICK, levels=1))
    assert model.levels[0].weights.shape == (1000, Q)


@pytest.mark.parametrize("memory", [7_000_000, 10_000])
def test_elkan08_needs_all_weights_and_predictions_of_many_labels_too(monkeypatch, memory):
    monkeypatch.setattr(limits, "machine_memory", lambda: memory)
    with refused(TooLargeError):
        elkan08.Method(cost=1.0, epochs=1).fit(*problem(1000 if memory > 10_000 else 1))
