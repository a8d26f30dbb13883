from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.problem import VerifiedLabels
from mpu_cli.core.sgd import Settings, default_epochs, default_step
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, linear_problem, objective, trained

QUICK = Settings(cost=3.0, epochs=2)
BLOCK_SIZE = kernel(Run()).BLOCK_SIZE


def learned(X, Y, c, settings) -> LinearModel:
    return trained(Features.of(as_features(X)), as_labels(Y), np.arange(len(X)), LabelFrequency(c), settings)


@pytest.mark.parametrize("cost", [0.1, 3.0])
def test_complete_labels_converge_to_logistic_regression(cost):
    """The C of scikit-learn is ours: it minimises C * sum of losses + ||w||^2 / 2, our objective times C n."""
    X, Y = linear_problem(400, 5, 3)
    model = learned(X, Y, np.ones(3), Settings(cost, epochs=150))
    for k in range(3):
        fitted = LogisticRegression(C=cost, tol=1e-8, max_iter=1000).fit(X.astype(float), Y[:, k])
        least = objective(np.append(fitted.coef_, fitted.intercept_), X, Y[:, k], 1.0, cost)[0]
        assert objective(np.append(model.weights[:, k], model.bias[k]), X, Y[:, k], 1.0, cost)[0] <= least * 1.01
        assert_allclose(model.weights[:, k], fitted.coef_[0], atol=0.05 * np.abs(fitted.coef_).max())


def test_only_instances_with_labels_are_learned_from_as_if_these_were_complete():
    X, Y = linear_problem(300, 5, 4)
    Y[::2] = False
    Y[::10] = [True, False, False, False]
    verified = VerifiedLabels.of(Y.shape, complete=[4])  # without labels, which is known
    kept = np.flatnonzero(Y.any(axis=1) | (np.arange(300) == 4))
    frequency = LabelFrequency.of(0.4, Y.shape, verified)
    features, labels = Features.of(as_features(X)), as_labels(Y)
    model = trained(features, labels, np.arange(300), frequency, replace(QUICK, labelled_only=True))
    alone = trained(features[kept], labels[kept], np.arange(len(kept)), LabelFrequency(np.ones(4)), QUICK)
    assert_array_equal(model.weights, alone.weights)
    assert_array_equal(model.bias, alone.bias)


def test_rare_labels_converge_with_thinned_gradients_too():
    X, _ = linear_problem(2000, 5, 1)
    Y = np.random.default_rng(0).random((2000, 3)) < expit(2 * X[:, :3] - 6)  # most gradients are small
    exact, thin = (learned(X, Y, np.ones(3), Settings(10.0, epochs=60, thin=thin)) for thin in (False, True))
    assert not np.array_equal(exact.weights, thin.weights)
    for k in range(3):
        least, of_thin = (
            objective(np.append(model.weights[:, k], model.bias[k]), X, Y[:, k], 1.0, 10.0)[0]
            for model in (exact, thin)
        )
        assert of_thin <= least * 1.02


def test_scale_of_the_features_does_not_matter():
    """Features times a, with C / a^2, are the same problem."""
    X, Y = linear_problem(300, 5, 4)
    model = learned(X, Y, np.full(4, 0.7), Settings(4.0, epochs=5))
    for a in (2.0**-10, 2.0**10):
        scaled = learned(X * a, Y, np.full(4, 0.7), Settings(4.0 / a**2, epochs=5))
        assert_allclose(scaled.weights * a, model.weights, rtol=1e-3, atol=1e-4)
        assert_allclose(scaled.bias, model.bias, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("density", [0.1, 1.0], ids=["sparse", "dense"])
def test_a_label_does_not_depend_on_the_labels_beside_it(density):
    X, Y = linear_problem(150, 10, BLOCK_SIZE + 5)
    X *= np.random.default_rng(0).random(X.shape) < density
    c = np.linspace(0.3, 1, Y.shape[1])
    model = learned(X, Y, c, QUICK)
    beside = np.arange(Y.shape[1]) % 3 != 0
    changed = learned(X, Y ^ beside, np.where(beside, 1, c), QUICK)
    assert_array_equal(changed.weights[:, ~beside], model.weights[:, ~beside])
    assert_array_equal(changed.bias[~beside], model.bias[~beside])
    alone = learned(X, Y[:, [BLOCK_SIZE]], c[[BLOCK_SIZE]], QUICK)
    assert_allclose(alone.weights[:, 0], model.weights[:, BLOCK_SIZE], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sign", [1, -1], ids=["positive", "centred"])
def test_many_dense_instances_are_learned(sign):
    """The steps that suit sparse data would throw the weights about: 0.2 of micro-F1 on the first of the two."""
    X, Y = linear_problem(60_000, 30, 3)
    X = np.abs(X) + 1 if sign == 1 else X
    Y = (X - X.mean(axis=0)) @ np.random.default_rng(1).normal(size=(30, 3)) > 1
    features = Features.of(as_features(X))
    epochs = default_epochs(len(X), features.coherence)
    settings = Settings(100.0, default_step(epochs, features.coherence), epochs)
    model = trained(features, as_labels(Y), np.arange(50_000), LabelFrequency(np.ones(3)), settings)
    predicted = model.probabilities(features[50_000:]) >= 0.5
    assert f1_score(Y[50_000:], predicted, average="micro") > 0.9
