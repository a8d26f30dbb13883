"""Features of an RBF kernel: what they are, and when they are chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from mpu_cli.core.features import RbfFeatures
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import DataError
from tests.golden import refused
from tests.hypotheses import examples
from tests.slow import slow_uncompiled


def instances(n: int, seed: int = 0) -> np.ndarray:
    """Dense instances of four features of different scales, one of them constant."""
    rng = np.random.default_rng(seed)
    return np.hstack([rng.standard_normal((n, 3)) * [1, 20, 0.1] + [0, 5, 0], np.full((n, 1), 7.0)]).astype(np.float32)


def rings(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Instances whose labels are whether they are far from the middle: no linear function tells."""
    X = instances(n)
    Z = (X[:, :3] - X[:, :3].mean(axis=0)) / X[:, :3].std(axis=0)
    return X, np.stack([np.square(Z[:, :2]).sum(axis=1) > 2, np.square(Z[:, 1:]).sum(axis=1) < 1], axis=1)


@given(n=st.integers(2, 40), gamma=st.sampled_from([0.25, 1.0, 4.0]), seed=st.integers(0, 5))
@settings(max_examples=examples(20))
def test_products_of_features_are_the_kernel_where_all_instances_are_landmarks(n, gamma, seed):
    X = instances(n, seed)
    rbf = RbfFeatures.fit(csr_array(X), gamma, m=n)
    phi = rbf.of(csr_array(X)).toarray()
    deviation = X.std(axis=0)
    deviation[3] = 1
    Z = (X - X.mean(axis=0)) / deviation
    assert phi @ phi.T == pytest.approx(rbf_kernel(Z, gamma=gamma / 4), abs=2e-3)


def test_an_instance_far_from_all_others_has_features_of_zero():
    X = csr_array(instances(50))
    far = csr_array(np.full((1, 4), 1e30, np.float32))
    assert np.abs(RbfFeatures.fit(X, 1.0, m=20).of(far).data).max() == 0


@slow_uncompiled
def test_a_kernel_is_chosen_where_its_expected_f1_is_higher():
    X, Y = rings(460)
    S = Y & (np.random.default_rng(1).random(Y.shape) < 0.7)
    model, report = train(Problem(csr_array(X[:260]), csr_array(S[:260])), Options(c=0.7, levels=1, epochs=5))
    assert model.rbf is not None
    predicted = model.probabilities(csr_array(X[260:])) >= model.thresholds
    f1 = 2 * (predicted & Y[260:]).sum() / (predicted.sum() + Y[260:].sum())
    assert f1 > 0.85
    assert report.expected_f1 == pytest.approx(f1, abs=0.1)


@pytest.mark.slow
def test_linear_features_are_chosen_where_a_kernel_gains_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)).astype(np.float32)
    Y = X @ rng.standard_normal((5, 3)) + rng.standard_normal((300, 3)) > 0.5
    model, _ = train(Problem(csr_array(X), csr_array(Y)), Options(c=1.0, levels=1, epochs=5))
    assert model.rbf is None


@pytest.mark.parametrize("change", ["sparse", "wide", "label features"])
def test_a_kernel_is_refused_where_it_is_not_for_the_data(change):
    rng = np.random.default_rng(0)
    X, Y = rings(60)
    if change == "sparse":
        X = np.where(rng.random((60, 30)) < 0.1, 1.0, 0)
    elif change == "wide":
        X = rng.standard_normal((60, 501))
    of_labels = csr_array(np.eye(2, X.shape[1], dtype=np.float32)) if change == "label features" else None
    problem = Problem(csr_array(X.astype(np.float32)), csr_array(Y), label_features=of_labels)
    with refused(DataError):
        train(problem, Options(features="rbf"))
