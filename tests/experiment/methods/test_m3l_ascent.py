"""Dual coordinate ascent finds the optimum: by the duality gap, by a general solver, by scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from mpu_cli.errors import MpuError
from mpu_cli.experiment.methods.m3l_linear import Dual, LinearSpace, correlation_prior, duality_gap, solve
from mpu_cli.experiment.methods.m3l_rbf import KernelSpace
from tests.core.simulated import as_features, as_labels, linear_problem


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


def fit(space, Y, rho=0.5, cost=1.0, tolerance=1e-5, **options):
    prior = correlation_prior(as_labels(Y), rho)
    return *solve(Dual(space, Y, np.arange(len(Y)), prior, cost), tolerance, seed=0, **options), prior


@pytest.mark.parametrize("kind", ["linear", "rbf"])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_optimum_is_that_of_a_general_solver(kind, rho):
    X, Y = linear_problem(25, 20, 3)
    gram = X @ X.T if kind == "linear" else rbf_kernel(X, X, 0.1)
    space = LinearSpace(as_features(X)) if kind == "linear" else KernelSpace(gram)
    weights, alpha, prior = fit(space, Y, rho)
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
        fit(LinearSpace(as_features(X * scale)), Y, cost=cost)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.99])
def test_the_prior_is_positive_definite_also_where_labels_are_the_same_or_absent(rho):
    Y = np.random.default_rng(1).random((40, 6)) < 0.3
    Y[:, 5] = Y[:, 4]
    Y[:, 3] = False
    prior = correlation_prior(as_labels(Y), rho)
    eigenvalues = np.linalg.eigvalsh(prior)
    assert eigenvalues.min() >= 1 - rho - 1e-9
    assert_allclose(np.diagonal(prior), 1)
    assert_allclose(prior[4, 5], rho)
