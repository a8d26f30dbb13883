"""The compiled kernel does what the NumPy kernel does, to rounding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, random_array

from mpu_cli.experiment.dual import reference

pytest.importorskip("numba")
from mpu_cli.experiment.dual import compiled
from tests.hypotheses import examples

KERNELS = (reference, compiled)


def problem(seed: int, n: int, D: int, q: int) -> tuple[csr_array, np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    matrix = csr_array(random_array((n, D), density=0.4, rng=rng, dtype=np.float32, format="csr"))
    present = rng.random((n, q)) < 0.3
    similar = rng.random((q, q)) / (2 * q)
    prior = (np.eye(q) + similar + similar.T).astype(np.float32)
    return matrix, present, prior, rng


def assert_same(of_numpy, of_numba):
    for expected, actual in zip(of_numpy, of_numba, strict=True):
        assert np.asarray(actual).dtype == np.asarray(expected).dtype
        assert_allclose(actual, expected, rtol=2e-4, atol=2e-5)


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    D=st.integers(1, 12),
    q=st.integers(1, 9),
    cost=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_linear_ascent_agrees_with_numpy(seed, n, D, q, cost):
    matrix, present, prior, rng = problem(seed, n, D, q)
    squared_norms = np.square(matrix.toarray()).sum(axis=1)
    order = rng.permutation(n)
    results = []
    for kernel in KERNELS:
        alpha, weights = np.zeros((n, q), np.float32), np.zeros((D, q), np.float32)
        for _ in range(2):
            sums = kernel.ascend_linear(matrix, squared_norms, order, present, alpha, weights, prior, cost)
        results.append((alpha, weights, *sums))
    assert_same(*results)


@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), q=st.integers(1, 9), cost=st.sampled_from([0.1, 1.0, 10.0]))
def test_batch_ascent_agrees_with_numpy(seed, n, q, cost):
    matrix, present, prior, _ = problem(seed, n, 6, q)
    gram = (matrix @ matrix.T).toarray() + np.eye(n, dtype=np.float32)
    results = []
    for kernel in KERNELS:
        alpha, scores = np.zeros((n, q), np.float32), np.zeros((n, q), np.float32)
        steps, gap, primal = kernel.ascend_batch(scores, gram, present, alpha, prior, cost)
        results.append((alpha, steps, gap, primal))
    assert_same(*results)
