from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logit

from mpu_cli.core.explanation import explain
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.stacking import StackedModel

D, Q = 5, 3


def model(levels: int, sparse: bool = False) -> StackedModel:
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((D + level * Q, Q)).astype(np.float32) for level in range(levels)]
    made = (LinearModel(csr_array(each) if sparse else each, np.zeros(Q, np.float32)) for each in weights)
    return StackedModel(tuple(made), 0.3, np.full(Q, 0.5, np.float32))


def test_a_feature_adds_its_weight_to_the_log_odds_of_the_first_level():
    made = model(levels=1)
    for k in range(Q):
        found = explain(made, k)
        log_odds = logit(made.probabilities(csr_array(np.eye(D, dtype=np.float32)))[:, k])
        np.testing.assert_allclose(found.features, log_odds, rtol=1e-4, atol=1e-5)
        assert found.leans_on is None and found.leaned_on_by is None


def test_a_link_is_what_a_prediction_of_one_adds_to_the_log_odds_of_the_last_level():
    """With biases that make the first level sure, and no features, the log-odds are the sum of the links."""
    made = model(levels=2)
    first, second = made.levels
    for j in range(Q):
        sure = LinearModel(first.weights, np.where(np.arange(Q) == j, 60, -60).astype(np.float32))
        log_odds = logit(replace(made, levels=(sure, second)).probabilities(csr_array((1, D), dtype=np.float32)))[0]
        np.testing.assert_allclose([explain(made, k).leans_on[j] for k in range(Q)], log_odds, rtol=1e-4)
        np.testing.assert_allclose(explain(made, j).leaned_on_by, log_odds, rtol=1e-4)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_sparse_weights_say_the_same(levels):
    made, sparse = model(levels), model(levels, sparse=True)
    for k in range(Q):
        for name, values in vars(explain(made, k)).items():
            np.testing.assert_array_equal(values, getattr(explain(sparse, k), name))
