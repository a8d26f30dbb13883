"""The RBF kernel and models made of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.methods.baselines import rbf
from mpu_cli.methods.baselines.rbf import KernelModel, mean_squared_distance, rbf_kernel
from tests.core.simulated import as_features


def by_definition(X, Z, gamma):
    return np.exp(-gamma * np.square(X[:, None, :] - Z[None, :, :]).sum(axis=2))


def test_kernel_values_of_matrices_of_different_width():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(7, 5)), rng.normal(size=(4, 8))
    X[2] = 0
    values = rbf_kernel(as_features(X), as_features(Z), 0.3)
    assert values.dtype == np.float32
    assert_allclose(values, by_definition(np.pad(X, ((0, 0), (0, 3))), Z, 0.3), atol=1e-6)


def test_a_huge_index_costs_no_memory():
    matrix = csr_array((np.ones(2, np.float32), [3, 2**31 - 2], [0, 1, 2]), shape=(2, 2**31 - 1))
    assert_allclose(rbf_kernel(matrix, matrix, 0.5), [[1, np.exp(-1)], [np.exp(-1), 1]], rtol=1e-6)
    assert mean_squared_distance(matrix) == 1.0


def test_instances_without_any_feature_are_all_the_same():
    nothing = csr_array((3, 4), dtype=np.float32)
    assert_allclose(rbf_kernel(nothing, nothing, 1.0), 1)
    assert mean_squared_distance(nothing) == 1.0


def test_mean_squared_distance_of_all_pairs():
    X = np.random.default_rng(1).normal(1, 2, (20, 6)).astype(np.float32)
    expected = np.square(X[:, None, :] - X[None, :, :]).sum(axis=2).mean()
    assert_allclose(mean_squared_distance(as_features(X)), expected, rtol=1e-5)
    assert mean_squared_distance(as_features(np.full((50, 3), 0.1))) == 1.0


@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("numbers", [1, 12, 1 << 24])
def test_a_model_predicts_slice_by_slice(monkeypatch, numbers, constant):
    monkeypatch.setattr(rbf, "_SLICE", numbers)
    rng = np.random.default_rng(2)
    support, X = rng.normal(size=(5, 4)), rng.normal(size=(9, 4))
    coefficients = rng.normal(size=(5, 3)).astype(np.float32)
    model = KernelModel(as_features(support), coefficients, 0.2, np.full(3, 0.5, np.float32), constant)
    probabilities = model.probabilities(as_features(X))
    assert probabilities.dtype == np.float32
    assert_allclose(probabilities, expit((by_definition(X, support, 0.2) + constant) @ coefficients), rtol=1e-5)
    assert model.n_features == 4
    assert model.probabilities(as_features(X[:0])).shape == (0, 3)
