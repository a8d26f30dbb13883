"""The most probable labels of instances, by weights of which some rows are dense and others sparse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, random_array
from scipy.special import expit

from mpu_cli.core.features import Features
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import LEAST, Top
from mpu_cli.runtime.run import KERNELS, Run
from tests.hypotheses import examples

KERNELS = [
    pytest.param(name, marks=() if Run().compiled or name == "numpy" else pytest.mark.skip("no numba"))
    for name in KERNELS
]


def draw(seed: int, n: int, D: int, q: int, densities) -> tuple[csr_array, csr_array, np.ndarray]:
    """Draw features, weights whose rows have all these densities, and biases."""
    rng = np.random.default_rng(seed)
    matrix = csr_array(random_array((n, D), density=0.4, rng=rng, dtype=np.float32))
    there = rng.random((D, q)) < np.resize(densities, D)[:, None]
    weights = csr_array(np.where(there, rng.normal(size=(D, q)), 0).astype(np.float32))
    return matrix, weights, rng.normal(-1, 1, q).astype(np.float32)


def largest(probabilities: np.ndarray, top: Top) -> list[list[int]]:
    """Return what is to be kept of each row, the plain way."""
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, : top.most]
    return [sorted(k for k in row if p[k] >= top.least) for row, p in zip(order.tolist(), probabilities, strict=True)]


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 8),
    D=st.integers(1, 12),
    q=st.sampled_from([1, 7, 8, 63, 64, 65, 200]),
    densities=st.sampled_from([(0.02, 0.9), (0.1,), (1.0,), (0.0, 0.5, 1.0), (0.0,)]),
    top=st.sampled_from([Top(1, 0.5), Top(5, 0.1), Top(20, 0.3), Top(300, LEAST)]),
    as_array=st.booleans(),
)
def test_the_largest_are_those_of_all_scores(kernel, seed, n, D, q, densities, top, as_array):
    matrix, weights, bias = draw(seed, n, D, q, densities)
    model = LinearModel(weights.toarray() if as_array else weights, bias)
    found = model.top(Features.of(matrix), top, Run(kernel=kernel))

    probabilities = expit((matrix.astype(float) @ weights.astype(float)).toarray() + bias)
    assert found.shape == (n, q)
    assert [found[[i]].indices.tolist() for i in range(n)] == largest(probabilities, top)
    rows = np.repeat(np.arange(n), np.diff(found.indptr))
    assert_allclose(found.data, probabilities[rows, found.indices], rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_of_equals_the_first_are_kept(kernel):
    model = LinearModel(csr_array((3, 150), dtype=np.float32), np.zeros(150, np.float32))
    found = model.top(Features.of(csr_array((2, 3), dtype=np.float32)), Top(4, 0.5), Run(kernel=kernel))
    assert_array_equal(found.indices, [0, 1, 2, 3] * 2)
    assert_array_equal(found.data, np.float32(0.5))
