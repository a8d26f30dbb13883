from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit, logit
from sklearn.metrics import f1_score

from mpu_cli.core import stacking
from mpu_cli.core.explanation import explain
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.core.stacking import StackedModel, train
from tests.core.simulated import as_features, hide, linear_problem
from tests.core.test_training import as_bytes
from tests.slow import slow, slow_uncompiled

D, Q = 4, 3
GIVEN = {"c": 0.7, "cost": 3.0, "eta0": 1.0, "epochs": 3, "folds": 4}


def random_model(levels=3, form=np.asarray) -> StackedModel:
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=(D + level * Q + 1, Q)).astype(np.float32) for level in range(levels)]
    linear = tuple(LinearModel(form(of_level[1:]), of_level[0]) for of_level in drawn)
    return StackedModel(linear, 0.7, np.full(Q, 0.5, np.float32))


@pytest.mark.parametrize("density", [0.1, 1.0], ids=["sparse", "dense"])
def test_probabilities_run_through_the_levels(density):
    model = random_model()
    rng = np.random.default_rng(1)
    X = extended = (rng.normal(size=(30, 4)) * (rng.random((30, 4)) < density)).astype(np.float32)
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


@pytest.mark.parametrize("threshold", ["pu-f1", "per-label", "macro-f1"])
@pytest.mark.parametrize(("scale", "expected"), [(0.1, 2), (30.0, 1)])
def test_the_level_with_the_larger_expected_f1_is_the_last(monkeypatch, scale, expected, threshold):
    monkeypatch.setattr(stacking, "STACK_SCALE", scale)
    X, Y = linear_problem(200, 6, 4)
    matrix, labels = as_features(X), hide(Y, 0.3)

    def learn(levels: int | None):
        return train(Problem(matrix, labels), Options(**GIVEN, levels=levels, threshold=threshold))

    model, report = learn(None)
    assert (report.level_f1[1] < report.level_f1[0]) == (expected == 1)
    fixed, of_fixed = learn(expected)
    assert as_bytes(model) == as_bytes(fixed)
    for found, of_level in zip(model.calibrations, fixed.calibrations, strict=True):
        assert_array_equal(found.actual, of_level.actual)
    assert report.expected_f1 == of_fixed.expected_f1
    assert_array_equal(report.held_out.probabilities, of_fixed.held_out.probabilities)


def test_a_feature_adds_its_weight_to_the_log_odds_of_the_first_level():
    made = random_model(levels=1)
    of_features = logit(made.probabilities(as_features(np.eye(D)))) - made.levels[0].bias
    for k in range(Q):
        found = explain(made, k)
        assert_allclose(found.features, of_features[:, k], rtol=1e-4, atol=1e-5)
        assert found.leans_on is None and found.leaned_on_by is None


def test_a_link_is_what_a_prediction_of_one_adds_to_the_log_odds_of_the_last_level():
    """Where biases make the first level sure, and there are no features, what is not the bias is the sum of links."""
    made = random_model(levels=2)
    first, second = made.levels
    for j in range(Q):
        sure = LinearModel(first.weights, np.where(np.arange(Q) == j, 60, -60).astype(np.float32))
        log_odds = logit(replace(made, levels=(sure, second)).probabilities(as_features(np.zeros((1, D)))))[0]
        log_odds -= second.bias
        assert_allclose([explain(made, k).leans_on[j] for k in range(Q)], log_odds, rtol=1e-4, atol=1e-5)
        assert_allclose(explain(made, j).leaned_on_by, log_odds, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_sparse_weights_say_the_same(levels):
    made, sparse = random_model(levels), random_model(levels, csr_array)
    for k in range(Q):
        for name, values in vars(explain(made, k)).items():
            assert_array_equal(values, getattr(explain(sparse, k), name))
