"""Verified labels go through loss, kernels, initial bias and training."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.loss.pu_logistic import pu_gradient, pu_loss
from mpu_cli.core.sgd import Settings, initial_bias
from mpu_cli.core.stacking import train
from tests import kernels
from tests.core.simulated import as_features, as_labels, linear_problem, trained
from tests.core.test_training import as_bytes
from tests.core.verified import mixed, quick, verified_of
from tests.slow import slow

# Of the whole algorithm, the second kernel is slow.
one_kernel = pytest.mark.parametrize("kernel", [kernels.AVAILABLE[-1], *slow(*kernels.AVAILABLE[:-1])], indirect=True)


@pytest.mark.usefixtures("kernel")
def test_converges_to_the_minimum_of_the_objective():
    X, S, verified, rates, (s, c) = mixed(n=600)
    frequency = LabelFrequency.of(rates, S.shape, verified)
    given = Features.of(as_features(X)), as_labels(S), np.arange(600)
    model = trained(*given, frequency, Settings(1.0, epochs=150))
    for k in range(3):

        def value_and_gradient(v, s=s[:, k], c=c[:, k]):
            z, n = X @ v[:-1] + v[-1], len(X)
            gradient = pu_gradient(z, s, c) / n
            value = pu_loss(z, s, c).mean() + v[:-1] @ v[:-1] / (2 * n)
            return value, np.append(gradient @ X + v[:-1] / n, gradient.sum())

        least = minimize(value_and_gradient, np.zeros(5), jac=True)
        assert value_and_gradient(np.append(model.weights[:, k], model.bias[k]).astype(float))[0] <= least.fun * 1.01
        assert_allclose(model.weights[:, k], least.x[:-1], atol=0.08 * np.abs(least.x).max())


def test_the_bias_starts_at_the_share_of_the_cells_that_count():
    S = as_labels([[1, 1], [1, 1], [1, 0], [0, 0], [1, 1], [0, 0]])
    verdicts = np.array([[0, 3], [0, 3], [2, 3], [1, 3], [3, 3], [0, 3]])
    frequency = LabelFrequency.of(0.5, (6, 2), verified_of(verdicts, complete=[1]))
    # Label 0: 2 for the first, 1 for that of a complete instance, of five cells. Label 1: of no cell.
    assert_allclose(initial_bias(frequency.count(S), frequency.rates), [np.log(0.6 / 0.4), 0], rtol=1e-6)


# The whole algorithm


VARIANTS = {
    "all of it": {},
    "a sample": {"sample": 60},
    "thresholds a label": {"threshold": "per-label", "levels": 1},
    "a given threshold": {"threshold": 0.4, "levels": 1, "cost": 3.0},
    "a single pass": {"epochs": 1, "sample": 40, "cost": 3.0},
}
OTHERS = "a sample", "thresholds a label", "a given threshold"


@one_kernel
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("variant", ["all of it", "a single pass", *slow(*OTHERS)])
def test_with_all_instances_complete_c_is_1(variant):
    X, Y = linear_problem(120, 6, 4)
    X, S = as_features(X), as_labels(Y)
    verified = VerifiedLabels.of(Y.shape, complete=np.arange(120))
    model, report = train(Problem(X, S, verified=verified), quick(**VARIANTS[variant]))
    complete, expected = train(Problem(X, S), quick(**VARIANTS[variant] | {"c": 1.0}))
    assert as_bytes(model) == as_bytes(complete)
    assert (report.expected_f1, report.level_f1, report.chosen.settings) == (
        expected.expected_f1, expected.level_f1, expected.chosen.settings,
    )  # fmt: skip


@one_kernel
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("variant", ["c estimated", "a single pass", *slow("all of it", *OTHERS)])
def test_an_ignored_cell_has_no_influence(variant):
    X, S, verified, rates, _ = mixed(n=100)
    changed = S.copy()
    ignored = verified.ignored()
    changed[ignored] ^= True
    assert len(ignored[0]) > 50
    options = quick(**{"c": rates} | VARIANTS.get(variant, {"c": None}))
    (model, report), (other, of_other) = (
        train(Problem(as_features(X), as_labels(s), verified=verified), options) for s in (S, changed)
    )
    assert as_bytes(model) == as_bytes(other)
    assert_array_equal(report.chosen.c, of_other.chosen.c)
    assert (report.expected_f1, report.level_f1) == (of_other.expected_f1, of_other.level_f1)
    without, _ = train(Problem(as_features(X), as_labels(S)), options)
    assert as_bytes(without) != as_bytes(model)
