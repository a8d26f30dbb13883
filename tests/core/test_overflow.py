"""Scores that may overflow are refused, whatever the order in which a BLAS takes their sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli.core import stacking
from mpu_cli.core.features import Features
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import OverflowingError
from tests.core.simulated import as_features, as_labels, linear_problem
from tests.golden import refused

LARGEST = float(np.finfo(np.float32).max)


def features(row: list[float], sparse: bool) -> Features:
    matrix = np.array([row], np.float32)
    if sparse:
        return Features(csr_array(matrix), np.empty((1, 0), np.float32))
    return Features(csr_array((1, 0), dtype=np.float32), matrix)


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
