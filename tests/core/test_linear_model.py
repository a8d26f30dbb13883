"""Linear models: scores that may overflow are refused, whatever the order in which a BLAS takes their sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core import stacking
from mpu_cli.core.features import Features
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import LEAST, Top
from mpu_cli.core.problem import Problem
from mpu_cli.core.stacking import train
from mpu_cli.errors import OverflowingError
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, linear_problem
from tests.golden import refused
from tests.hypotheses import examples

LARGEST = float(np.finfo(np.float32).max)


def features(row: list[float], sparse: bool) -> Features:
    matrix = np.array([row], np.float32)
    return Features(as_features(matrix), matrix[:, :0]) if sparse else Features(as_features(matrix[:, :0]), matrix)


def model(weights: list[float], bias: float = 0.0) -> LinearModel:
    return LinearModel(np.array(weights, np.float32)[:, None], np.array([bias], np.float32))


OVERFLOWING = {
    "terms of one sign": ([3e38, 3e38], [1, 1], 0),
    "terms that cancel": ([3e38, -3e38, 3e38, -3e38], [1, 1, 1, 1], 0),
    "products that cancel": ([1e30, 1e30], [1e30, -1e30], 0),
    "the bias": ([1, 1], [1, 1], 3e38),
    "weights": ([2, 2], [3e38, -3e38], 0),
    "a single product": ([1e20, 0], [1e20, 0], 0),
}


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize(("row", "weights", "bias"), OVERFLOWING.values(), ids=OVERFLOWING)
def test_scores_that_may_overflow_are_refused(kernel, row, weights, bias, sparse):
    with refused(OverflowingError):
        model(weights, bias).probabilities(features(row, sparse))


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_large_values_whose_weights_are_small_are_computed_with(kernel, sparse):
    found = model([1e-38, 0, 5], 0.5).probabilities(features([1e38, 3e38, 0.1], sparse))
    assert found == pytest.approx(1 / (1 + np.exp(-2)))


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 1e-38, 1e19, -1e19, 1e20, 1e37, -1e38, LARGEST, -LARGEST])


@given(st.data(), st.booleans(), st.integers(1, 12))
@settings(deadline=None)
def test_what_is_not_refused_is_finite_in_any_order(data, sparse, D):
    row, weights = (np.array(data.draw(st.lists(NUMBERS, min_size=D, max_size=D)), np.float32) for _ in range(2))
    order = np.array(data.draw(st.permutations(range(D))))
    found = []
    for places in (np.arange(D), order):
        try:
            found.append(model(weights[places]).probabilities(features(row[places], sparse))[0, 0])
        except OverflowingError:
            found.append(None)
    assert (found[0] is None) == (found[1] is None)
    if found[0] is not None:
        with np.errstate(under="ignore"):
            assert np.isfinite(np.cumsum(row[order] * weights[order])).all()
        assert all(0 <= p <= 1 for p in found)


def test_a_weight_of_predictions_beyond_32_bits_is_refused(monkeypatch):
    monkeypatch.setattr(stacking, "STACK_SCALE", 1e6)
    X, Y = linear_problem(40, 3, 4)
    with pytest.raises(OverflowingError):
        train(Problem(as_features(X * 1e37), as_labels(Y)), Options(c=1.0, cost=1.0, epochs=2))


# The most probable labels of instances, by sparse weights


@pytest.mark.usefixtures("kernel")
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
def test_the_largest_are_those_of_all_scores(seed, n, D, q, densities, top, as_array):
    rng = np.random.default_rng(seed)
    matrix = csr_array(rng.random((n, D), np.float32) * (rng.random((n, D)) < 0.4))
    there = rng.random((D, q)) < np.resize(densities, D)[:, None]
    weights = csr_array(np.where(there, rng.normal(size=(D, q)), 0).astype(np.float32))
    bias = rng.normal(-1, 1, q).astype(np.float32)
    found = LinearModel(weights.toarray() if as_array else weights, bias).top(Features.of(matrix), top, Run())

    probabilities = expit((matrix.astype(float) @ weights.astype(float)).toarray() + bias)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, : top.most].tolist()
    largest = [sorted(k for k in row if p[k] >= top.least) for row, p in zip(order, probabilities, strict=True)]
    assert (found.shape, [found[[i]].indices.tolist() for i in range(n)]) == ((n, q), largest)
    rows = np.repeat(np.arange(n), np.diff(found.indptr))
    assert_allclose(found.data, probabilities[rows, found.indices], rtol=1e-4)


@pytest.mark.usefixtures("kernel")
def test_of_equals_the_first_are_kept():
    without_weights = LinearModel(csr_array((3, 150), dtype=np.float32), np.zeros(150, np.float32))
    found = without_weights.top(Features.of(csr_array((2, 3), dtype=np.float32)), Top(4, 0.5), Run())
    assert_array_equal(found.indices, [0, 1, 2, 3] * 2)
    assert_array_equal(found.data, np.float32(0.5))
