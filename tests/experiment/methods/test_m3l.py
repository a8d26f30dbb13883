"""M3L from annotations to a model; its optimum: by the duality gap, by a general solver, by scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logit
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from mpu_cli.core import predictions
from mpu_cli.errors import MpuError, OverflowingError, TooLargeError
from mpu_cli.experiment.methods import m3l_linear, m3l_rbf
from mpu_cli.experiment.methods.m3l_linear import Dual, LinearSpace, correlation_prior, duality_gap, solve
from mpu_cli.experiment.methods.m3l_rbf import KernelSpace
from tests.core.simulated import as_features, as_labels, linear_problem, read_digits
from tests.slow import slow_uncompiled

METHODS = [m3l_linear.Method, m3l_rbf.Method]


def fit(method, X, Y, **options):
    made = method(**options)
    made.fit(as_features(X), as_labels(Y))
    return made


@slow_uncompiled
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


@pytest.mark.parametrize("cost", [0.05, 0.5])
def test_independent_labels_are_support_vector_machines_of_liblinear(cost, monkeypatch):
    """LIBLINEAR regularises the weight of its constant feature too; the C of M3L counts a wrong label twice."""
    monkeypatch.setattr(m3l_linear, "TOLERANCE", 1e-5)
    X, Y = linear_problem(60, 4, 3)
    X += 0.5  # far from the origin, so that a bias matters
    found = fit(m3l_linear.Method, X, Y, cost=cost, label_correlation=0).predict(as_features(X))
    machine = LinearSVC(loss="hinge", C=2 * cost, tol=1e-7, max_iter=10**6)
    expected = np.column_stack([machine.fit(X, y).decision_function(X) for y in Y.T])
    assert_allclose(logit(found), expected, atol=0.01 * np.abs(expected).max())


@pytest.mark.parametrize("module", [m3l_linear, m3l_rbf])
def test_cost_is_chosen_on_a_sample(module, monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 40)
    X, Y = linear_problem(90, 30, 3)
    predicted = fit(module.Method, X, Y, folds=3).predict(as_features(X))
    assert predicted.shape == (90, 3)
    assert f1_score(Y, predicted > 0.5, average="micro") > 0.7


@pytest.mark.parametrize(("method", "size"), [(METHODS[0], "864 bytes"), (METHODS[1], "1,600 bytes")])
def test_what_does_not_fit_in_memory_is_refused(method, size, monkeypatch):
    monkeypatch.setattr(predictions, "available_memory", lambda: 500)
    with pytest.raises(TooLargeError, match=size):
        fit(method, *linear_problem(20, 29, 4))


@pytest.mark.parametrize("gamma", [1e-300, 1e300])
def test_a_kernel_width_beyond_32_bits_is_refused(gamma):
    with pytest.raises(OverflowingError):
        fit(m3l_rbf.Method, np.eye(2), np.eye(2), cost=1.0, gamma=gamma)


def solve_dual(gram: np.ndarray, Y: np.ndarray, prior: np.ndarray, cost: float) -> tuple[np.ndarray, float]:
    """Scores <z_l, phi(x_i)> of all instances (n x q), and the dual objective, by a general solver."""
    sign = np.where(Y, 1.0, -1.0)

    def scores(alpha: np.ndarray) -> np.ndarray:
        return gram @ (alpha.reshape(Y.shape) * sign) @ prior

    def negative_dual(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        margin = (sign * scores(alpha)).ravel()
        return alpha @ margin / 2 - alpha.sum(), margin - 1

    found = minimize(
        negative_dual,
        np.zeros(Y.size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, cost)] * Y.size,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 50_000},
    )
    return scores(found.x), -float(found.fun)


def ascend(space, Y, rho=0.5, cost=1.0, tolerance=1e-5):
    prior = correlation_prior(as_labels(Y), rho)
    return *solve(Dual(space, Y, np.arange(len(Y)), prior, cost), tolerance, seed=0), prior


@pytest.mark.parametrize("kind", ["linear", "rbf"])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_optimum_is_that_of_a_general_solver(kind, rho):
    X, Y = linear_problem(25, 20, 3)
    gram = X @ X.T if kind == "linear" else rbf_kernel(X, X, 0.1)
    space = LinearSpace(as_features(X)) if kind == "linear" else KernelSpace(gram)
    weights, alpha, prior = ascend(space, Y, rho)
    scores, dual = solve_dual(gram.astype(float), Y, prior, 1.0)
    assert_allclose(space.scores(weights, np.arange(25)), scores, atol=1e-2)
    gap, primal = duality_gap(Dual(space, Y, np.arange(25), prior, 1.0), alpha, weights)
    assert_allclose(primal - gap, dual, rtol=1e-4)
    assert_allclose(primal, dual, rtol=1e-4)
    assert alpha.min() >= 0 and alpha.max() <= 1


@pytest.mark.parametrize(("scale", "cost"), [(1e25, 1.0), (1.0, 1e38)])
def test_what_is_beyond_32_bit_numbers_is_an_error(scale, cost):
    X, Y = linear_problem(20, 3, 2)
    with pytest.raises(MpuError, match="32-bit"):
        ascend(LinearSpace(as_features(X * scale)), Y, cost=cost)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.99])
def test_the_prior_is_positive_definite_also_where_labels_are_the_same_or_absent(rho):
    Y = np.random.default_rng(1).random((40, 6)) < 0.3
    Y[:, 5] = Y[:, 4]
    Y[:, 3] = False
    prior = correlation_prior(as_labels(Y), rho)
    assert np.linalg.eigvalsh(prior).min() >= 1 - rho - 1e-9
    assert_allclose(np.diagonal(prior), 1)
    assert_allclose(prior[4, 5], rho)
