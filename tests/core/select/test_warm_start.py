"""A warm start begins where an earlier model ended, with labels and features matched."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score

from mpu_cli.core.data.features import Columns, Features
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.model.stacking import LinearModel, StackedModel
from mpu_cli.core.select.warm_start import WarmStart
from mpu_cli.core.sgd import Settings, default_epochs, initial_bias
from mpu_cli.core.train.algorithm import Options, train
from mpu_cli.core.validation import deal
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem, read_digits
from tests.core.train.test_training import as_bytes


@pytest.fixture
def problem():
    X, Y = linear_problem(120, 6, 4)
    return as_features(X), hide(Y, 0.3)


def quick(**changes) -> Options:
    return Options(**({"folds": 3, "epochs": 2, "c": 0.7, "features": "linear"} | changes))


def test_levels_are_matched_by_label_and_feature():
    """By hand: 3 old features and labels a, b, c; 4 new features, of which 1 is gone, and labels c, d, a."""
    D, q = 3, 3
    old = StackedModel(
        tuple(
            LinearModel(
                np.arange((D + level * q) * q, dtype=np.float32).reshape(-1, q) + 1, np.array([-1, -2, -3], np.float32)
            )
            for level in range(3)
        ),
        scale=0.6,
        thresholds=np.full(q, 0.5, np.float32),
    )
    matrix = as_features([[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3], [1, 0, 1, 0]])
    labels = as_labels([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
    start = WarmStart(old, np.array([2, -1, 0]), Settings())
    cold = initial_bias(labels, LabelFrequency(np.ones(3)).single_precision())
    for number in range(3):
        level = start.level(number, Columns.occurring(matrix), cold, 0.3)
        assert level.weights.dtype == level.bias.dtype == np.float32
        expected = np.zeros((4 + 3 * number, 3))
        for row in (0, 2):  # feature 1 is gone, feature 3 is new
            expected[row, 0], expected[row, 2] = old.levels[number].weights[row, [2, 0]]
        for below in range(number):
            for new, column in ((0, 2), (2, 0)):
                weights = old.levels[number].weights[3 + 3 * below + column]
                expected[4 + 3 * below + new, 0], expected[4 + 3 * below + new, 2] = 2 * weights[2], 2 * weights[0]
        assert_allclose(level.weights, expected, rtol=1e-6)
        assert_allclose(level.bias, [-3, 0, -1], atol=1e-6)  # half of the instances have the new label


def test_without_a_common_label_it_is_a_cold_start(problem):
    old, _ = train(Problem(*problem), quick())
    cold, _ = train(Problem(*problem), quick(cost=30.0, epochs=None))
    start = WarmStart(old, np.full(4, -1), Settings(cost=30.0, step=1.0))
    warm, _ = train(Problem(*problem), quick(epochs=default_epochs(120)), warm_start=start)
    assert as_bytes(warm) == as_bytes(cold)


def test_takes_c_and_step_of_the_model_unless_given(problem):
    old, _ = train(Problem(*problem), quick())
    start = WarmStart(old, np.arange(4), Settings(cost=3.0, step=0.5))
    _, report = train(Problem(*problem), quick(epochs=None), warm_start=start)
    assert report.settings == Settings(3.0, 0.5, default_epochs(120) // 2)
    assert "choose C" not in report.seconds
    _, report = train(Problem(*problem), quick(cost=100.0), warm_start=start)
    assert report.settings == Settings(100.0, 0.5, 2)


def test_predictions_out_of_fold_do_not_depend_on_the_model(problem):
    """It may have seen the labels that a fold holds out."""
    old, _ = train(Problem(*problem), quick())
    forged = StackedModel(
        tuple(LinearModel(level.weights + 5, level.bias - 5) for level in old.levels), old.scale, old.thresholds
    )
    reports = [
        train(Problem(*problem), quick(epochs=1), warm_start=WarmStart(model, np.arange(4), Settings()))[1]
        for model in (old, forged)
    ]
    assert reports[0].level_f1 == reports[1].level_f1


def test_model_is_the_same_bytes_whatever_jobs():
    X, Y = linear_problem(90, 5, kernel(Run()).BLOCK_SIZE + 2)
    X, S = as_features(X), hide(Y, 0.2)
    old, _ = train(Problem(X, S), quick())
    start = WarmStart(old, np.arange(S.shape[1]), Settings())
    one, again, two = (as_bytes(train(Problem(X, S), quick(), Run(jobs=jobs), start)[0]) for jobs in (1, 1, 2))
    assert one == again == two


def test_the_model_is_left_alone(problem):
    old, _ = train(Problem(*problem), quick())
    before = as_bytes(old)
    train(Problem(*problem), quick(), warm_start=WarmStart(old, np.arange(4), Settings()))
    assert as_bytes(old) == before


def test_a_start_at_the_end_of_another_goes_on_from_there():
    """With a step of nothing, the weights stay where they start, but for their decay."""
    rng = np.random.default_rng(0)
    features = Features.of(as_features(rng.normal(size=(20, 4))))
    weights, bias = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    found, found_bias = kernel(Run()).descend(
        kernel(Run()).prepare(features, np.arange(20), 8),
        as_labels(rng.random((20, 3)) < 0.5),
        LabelFrequency(np.ones(3, np.float32)),
        bias,
        step=1e-12,
        bias_step=0.0,
        decay=1.0,
        epochs=3,
        rng=rng,
        weights=weights,
    )
    assert_allclose(found, weights, rtol=1e-5)
    assert_array_equal(found_bias, bias)


@pytest.mark.slow
def test_on_more_digits_fewer_epochs_reach_the_same_f1(digits):
    """The earlier model has seen 80 % of the instances, and lacks a label that came later."""
    X, Y, _, _ = read_digits(digits)
    outer = deal(X.shape[0], 4, 0)[0]
    inner = np.setdiff1d(np.arange(X.shape[0]), outer)
    S = hide(Y, 0.3)
    early, later = inner[: len(inner) * 4 // 5], np.arange(1, Y.shape[1])
    old, _ = train(Problem(X[early], S[early][:, later]), Options(cost=100.0, c=0.7))
    start = WarmStart(old, np.arange(Y.shape[1]) - 1, Settings(cost=100.0))

    def f1(epochs, begin) -> float:
        model, _ = train(Problem(X[inner], S[inner]), Options(cost=100.0, c=0.7, epochs=epochs), warm_start=begin)
        predicted = model.probabilities(X[outer]) >= model.thresholds
        return f1_score(Y[outer].toarray(), predicted, average="micro")

    assert f1(2, start) > f1(2, None) + 0.05
    assert f1(2, start) > f1(5, None)
    assert f1(None, start) > f1(None, None) - 0.01
