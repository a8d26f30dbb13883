"""M3L from annotations to a model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import logit
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from mpu_cli.core import limits
from mpu_cli.errors import OverflowingError, TooLargeError
from mpu_cli.experiment.methods import m3l_linear, m3l_rbf
from mpu_cli.experiment.methods.m3l_rbf import kernel_values, mean_squared_distance
from tests.core.simulated import as_features, as_labels, linear_problem, read_digits

METHODS = [m3l_linear.Method, m3l_rbf.Method]


def fit(method, X, Y, **options):
    made = method(**options)
    made.fit(as_features(X), as_labels(Y))
    return made


@pytest.mark.parametrize(("method", "cost", "least"), [(METHODS[0], 0.2, 0.85), (METHODS[1], 10.0, 0.94)])
def test_digits_are_learned(method, cost, least, digits):
    features, labels, test_features, test_labels = read_digits(digits)
    made = method(cost=cost)
    made.fit(features[:500], labels[:500])
    predicted = made.predict(test_features) >= made.threshold
    assert f1_score(test_labels.toarray(), predicted, average="micro") > least


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_which_one_implies_another_help_each_other(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20)).astype(np.float32)
    first = X[:, 0] > 1
    second = first & (rng.random(200) < 0.5)
    Y = np.column_stack([first, second])
    together, apart = (
        fit(method, X, Y, cost=0.01, label_correlation=rho).predict(as_features(X)) for rho in (0.9, 0.0)
    )
    assert np.corrcoef(together[:, 1], X[:, 0])[0, 1] > np.corrcoef(apart[:, 1], X[:, 0])[0, 1]


@pytest.mark.parametrize("method", METHODS)
def test_an_instance_without_features_has_a_label_that_most_have(method):
    X, Y = linear_problem(50, 5, 2)
    made = fit(method, X, Y | [True, False], cost=1.0)
    assert (made.predict(as_features(np.zeros((1, 5)))) >= made.threshold)[0, 0]


@pytest.mark.parametrize("cost", [0.05, 0.5])
def test_independent_labels_are_support_vector_machines_of_liblinear(cost, monkeypatch):
    """LIBLINEAR regularises the weight of its constant feature too; the C of M3L counts a wrong label twice."""
    monkeypatch.setattr(m3l_linear, "TOLERANCE", 1e-5)
    X, Y = offset_problem()
    found = fit(m3l_linear.Method, X, Y, cost=cost, label_correlation=0).predict(as_features(X))
    expected = np.column_stack([liblinear(2 * cost).fit(X, y).decision_function(X) for y in Y.T])
    assert_allclose(logit(found), expected, atol=0.01 * np.abs(expected).max())


def offset_problem() -> tuple[np.ndarray, np.ndarray]:
    """Instances far from the origin, so that a bias matters."""
    X, Y = linear_problem(60, 4, 3)
    return (X + 0.5).astype(np.float32), Y


def liblinear(cost: float) -> LinearSVC:
    return LinearSVC(loss="hinge", C=cost, tol=1e-7, max_iter=10**6)


@pytest.mark.parametrize("module", [m3l_linear, m3l_rbf])
def test_cost_is_chosen_on_a_sample(module, monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 40)
    X, Y = linear_problem(90, 30, 3)
    predicted = fit(module.Method, X, Y, folds=3).predict(as_features(X))
    assert predicted.shape == (90, 3)
    assert f1_score(Y, predicted > 0.5, average="micro") > 0.7


@pytest.mark.parametrize("method", METHODS)
def test_one_instance_is_enough(method):
    made = fit(method, [[1.0, 0, 2]], [[1, 1]])
    assert (made.predict(as_features([[1.0, 0, 2]])) >= made.threshold).all()


@pytest.mark.parametrize(("method", "size"), [(METHODS[0], "864 bytes"), (METHODS[1], "1,600 bytes")])
def test_what_does_not_fit_in_memory_is_refused(method, size, monkeypatch):
    monkeypatch.setattr(limits, "available_memory", lambda: 500)
    with pytest.raises(TooLargeError, match=size):
        fit(method, *linear_problem(20, 29, 4))


@pytest.mark.parametrize("numbers", [1, 12, 1 << 24])
def test_a_kernel_predicts_slice_by_slice(numbers, monkeypatch):
    X, Y = linear_problem(30, 4, 3)
    made = fit(m3l_rbf.Method, X, Y, cost=1.0)
    expected = made.predict(as_features(X))
    monkeypatch.setattr(m3l_rbf, "_SLICE", numbers)
    assert_allclose(made.predict(as_features(X)), expected, rtol=1e-5)


def test_scores_beyond_32_bits_are_refused():
    made = m3l_rbf.Method(gamma=1.0)
    made.support, made.coefficients = csr_array(np.eye(2, dtype=np.float32)), np.full((2, 1), 3e38, np.float32)
    with pytest.raises(OverflowingError):
        made.predict(made.support)


@pytest.mark.parametrize("gamma", [1e-300, 1e300])
def test_a_kernel_width_beyond_32_bits_is_refused(gamma):
    with pytest.raises(OverflowingError):
        fit(m3l_rbf.Method, np.eye(2), np.eye(2), cost=1.0, gamma=gamma)


def by_definition(X, Z, gamma):
    return np.exp(-gamma * np.square(X[:, None, :] - Z[None, :, :]).sum(axis=2))


def test_kernel_values_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(7, 5)), rng.normal(size=(4, 5))
    X[2] = 0
    values = kernel_values(as_features(X), as_features(Z), 0.3)
    assert values.dtype == np.float32
    assert_allclose(values, by_definition(X, Z, 0.3), atol=1e-6)


def test_instances_without_any_feature_are_all_the_same():
    nothing = csr_array((3, 4), dtype=np.float32)
    assert_allclose(kernel_values(nothing, nothing, 1.0), 1)
    assert mean_squared_distance(nothing) == 1.0


def test_mean_squared_distance_of_all_pairs():
    X = np.random.default_rng(1).normal(1, 2, (20, 6)).astype(np.float32)
    expected = np.square(X[:, None, :] - X[None, :, :]).sum(axis=2).mean()
    assert_allclose(mean_squared_distance(as_features(X)), expected, rtol=1e-5)
    assert mean_squared_distance(as_features(np.full((50, 3), 0.1))) == 1.0
