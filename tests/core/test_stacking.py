import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import f1_score

from mpu_cli.core import stacking
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import StackedModel, train
from tests.core.simulated import as_features, hide
from tests.slow import slow, slow_uncompiled


def random_model(D=4, q=3, levels=3) -> StackedModel:
    rng = np.random.default_rng(0)
    linear = [
        LinearModel(rng.normal(size=(D + level * q, q)).astype(np.float32), rng.normal(size=q).astype(np.float32))
        for level in range(levels)
    ]
    return StackedModel(tuple(linear), 0.7, np.full(q, 0.5, np.float32))


@pytest.mark.parametrize("density", [0.1, 1.0], ids=["sparse", "dense"])
def test_probabilities_run_through_the_levels(density):
    model = random_model()
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(30, 4)) * (rng.random((30, 4)) < density)).astype(np.float32)
    extended = X
    for level in model.levels:
        expected = expit(extended @ level.weights + level.bias)
        extended = np.hstack([extended, 0.7 * expected])
    probabilities = model.probabilities(as_features(X))
    assert probabilities.dtype == np.float32
    assert_allclose(probabilities, expected, rtol=1e-5)
    assert model.n_features == 4


def test_features_unknown_to_the_model_are_ignored_and_missing_ones_are_zero():
    model = random_model()
    X = np.random.default_rng(1).normal(size=(10, 6)).astype(np.float32)
    assert_array_equal(model.probabilities(as_features(X)), model.probabilities(as_features(X[:, :4])))
    X[:, 2:] = 0
    assert_allclose(model.probabilities(as_features(X[:, :2])), model.probabilities(as_features(X[:, :4])), rtol=1e-6)
    assert model.probabilities(as_features(np.empty((0, 4)))).shape == (0, 3)


def quadrants(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Right half, upper half, both, exactly one of the two: the last two are no linear functions of the place."""
    X = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    right, upper = (X > 0).T
    return X, np.column_stack([right, upper, right & upper, right ^ upper])


@slow_uncompiled
@pytest.mark.parametrize("missing", [0.5, *slow(0.0)])
def test_levels_learn_labels_from_labels(monkeypatch, missing):
    """`Both` is linear in the first two labels, and so takes two levels; `exactly one` needs `both` and takes three."""
    monkeypatch.setattr(stacking, "STACK_SCALE", 1.0)
    X, Y = quadrants(1500, 0)
    test_X, test_Y = quadrants(1500, 1)
    both, one = [], []
    for levels in (1, 2, 3):
        options = Options(levels=levels, c=1 - missing, cost=3000.0, threshold="per-label")
        model, _ = train(Problem(as_features(X), hide(Y, missing)), options)
        predicted = model.probabilities(as_features(test_X)) >= model.thresholds
        both.append(f1_score(test_Y[:, 2], predicted[:, 2]))
        one.append(f1_score(test_Y[:, 3], predicted[:, 3]))
    assert both[0] < 0.8 < 0.93 < both[1]
    assert max(one[0], one[1]) < 0.85 < 0.93 < one[2]
