"""The values of the RBF kernel."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from mpu_cli.experiment.methods.m3l_rbf import kernel_values, mean_squared_distance
from tests.core.simulated import as_features


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
