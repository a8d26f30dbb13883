import pytest
from numpy.testing import assert_array_equal

from mpu_cli.core import stacking
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from tests.core.simulated import as_features, hide, linear_problem, read_digits

GIVEN = {"c": 0.7, "cost": 3.0, "eta0": 1.0, "epochs": 3, "folds": 4}


def assert_same_model(one, other) -> None:
    assert len(one.levels) == len(other.levels)
    for left, right in zip(one.levels, other.levels, strict=True):
        assert_array_equal(left.weights, right.weights)
    assert_array_equal(one.thresholds, other.thresholds)
    for left, right in zip(one.calibrations, other.calibrations, strict=True):
        assert_array_equal(left.actual, right.actual)


@pytest.mark.parametrize("threshold", ["pu-f1", "per-label", "macro-f1"])
@pytest.mark.parametrize(("scale", "expected"), [(0.1, 2), (30.0, 1)])
def test_the_level_with_the_larger_expected_f1_is_the_last(monkeypatch, scale, expected, threshold):
    monkeypatch.setattr(stacking, "STACK_SCALE", scale)
    X, Y = linear_problem(200, 6, 4)
    matrix, labels = as_features(X), hide(Y, 0.3)

    def learn(levels: int | None):
        return train(Problem(matrix, labels), Options(**GIVEN, levels=levels, threshold=threshold))

    model, report = learn(None)
    assert (report.level_f1[1] < report.level_f1[0]) == (expected == 1)
    fixed, of_fixed = learn(expected)
    assert_same_model(model, fixed)
    assert report.expected_f1 == of_fixed.expected_f1
    assert_array_equal(report.held_out.probabilities, of_fixed.held_out.probabilities)


def test_labels_that_depend_on_each_other_get_two_levels(digits):
    X, Y, _, _ = read_digits(digits)
    model, _ = train(Problem(X, hide(Y, 0.3)), Options(**GIVEN, levels=None))
    assert len(model.levels) == 2
