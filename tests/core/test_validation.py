"""Predictions out of fold, in passing and by halves: of each instance by models that have not seen it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.core.sgd import LearningTask, Settings, Split
from mpu_cli.core.stacking import train
from mpu_cli.core.validation import LARGER_STEPS, deal, dense_out_of_fold, predict_nested, train_splits
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem, trained

N = 120
ONE_PASS = Settings(cost=5.0, eta0=2.0, epochs=1)
LOSSES = [Settings(3.0, epochs=2), Settings(0.3, epochs=2, loss="squared-hinge")]
HALVES = deal(N, 2, 0)
LAST = np.arange(3, N, 4)
FIRST = np.setdiff1d(np.arange(N), LAST)


@pytest.fixture(scope="module")
def problem():
    """Features, annotations of two blocks of labels, and frequencies."""
    X, Y = linear_problem(N, 6, kernel(Run()).BLOCK_SIZE + 3)
    return Features.of(as_features(X)), hide(Y, 0.3), LabelFrequency(np.linspace(0.4, 1, Y.shape[1]))


@given(st.integers(1, 60), st.integers(1, 12), st.integers(0, 2**32))
def test_folds_are_a_partition_into_equal_parts(n, m, seed):
    folds = deal(n, m, seed)
    assert (len(folds), sorted(np.concatenate(folds))) == (min(n, m), list(range(n)))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    assert all((np.diff(fold) > 0).all() for fold in folds)
    for fold, again in zip(folds, deal(n, m, seed), strict=True):
        assert_array_equal(fold, again)


def test_few_sets_make_folds_of_about_one_size():
    kin = np.repeat(np.arange(6), [50, 40, 30, 20, 10, 10])
    folds = deal(160, 3, 0, kin)
    assert sorted(map(len, folds)) == [50, 50, 60]
    assert all(len(np.intersect1d(kin[rows], kin[np.setdiff1d(np.arange(160), rows)])) == 0 for rows in folds)
    one_each = deal(160, 6, 0, kin)
    assert sorted(np.unique(kin[rows]).tolist() for rows in one_each) == [[k] for k in range(6)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_instance_is_predicted_by_a_model_of_the_others(problem, jobs):
    features, labels, c = problem
    rows, ticks = deal(N, 4, 0), []
    predicted = dense_out_of_fold(
        LearningTask(features, labels, c, LOSSES[0], Run(jobs=jobs, seed=5)), rows, lambda: ticks.append(1)
    )
    assert predicted.dtype == np.float32
    for held_out in rows:
        rest = np.setdiff1d(np.arange(N), held_out)
        model = trained(features[rest], labels[rest], np.arange(len(rest)), c, LOSSES[0], run=Run(seed=5))
        assert_array_equal(predicted[held_out], model.probabilities(features[held_out]))
    assert len(ticks) == 4


@pytest.mark.parametrize("settings", LOSSES, ids=lambda settings: settings.loss)
def test_nested_predictions_are_those_of_models_without_either_fold(problem, settings):
    features, labels, c = problem
    fold_rows, task = deal(N, 5, 0), LearningTask(features, labels, c, settings)
    found = predict_nested(task, fold_rows, 5, dense_out_of_fold(task, fold_rows))
    for i, j in (0, 3), (4, 1), (2, 2):
        rest = np.setdiff1d(np.arange(N), np.concatenate([fold_rows[i], fold_rows[j]]))
        model = trained(features, labels, rest, c, settings)
        assert_allclose(found[i][fold_rows[j]], model.probabilities(features[fold_rows[j]]), rtol=1e-6)


# In passing: the last instances are predicted before the model learns from them


def in_passing(features, labels, c):
    model, held_out = train_splits([Split(LearningTask(features, labels, c, ONE_PASS), (FIRST, LAST), LAST)])
    return model, held_out.probabilities


def test_the_last_instances_are_predicted_by_a_model_of_the_others(problem):
    features, labels, c = problem
    of_first = trained(features, labels, FIRST, c, replace(ONE_PASS, cost=ONE_PASS.cost * N / len(FIRST)))
    _, probabilities = in_passing(*problem)
    assert_allclose(probabilities, of_first.probabilities(features[LAST]), rtol=1e-6)


def test_labels_of_the_last_instances_reach_the_model_but_not_their_predictions(problem):
    features, labels, c = problem
    model, probabilities = in_passing(*problem)
    changed = labels.toarray()
    changed[LAST] ^= True
    other, the_same = in_passing(features, as_labels(changed), c)
    assert_array_equal(the_same, probabilities)
    assert np.abs(other.weights - model.weights).max() > 0.1


# By halves: two models, each with the predictions of the other half, and their mean


def test_the_model_is_the_mean_of_models_of_halves_with_larger_steps(problem):
    features, labels, c = problem
    settings = replace(ONE_PASS, eta0=LARGER_STEPS * ONE_PASS.eta0)
    first, second = (trained(features, labels, rows, c, settings) for rows in HALVES)
    task = LearningTask(features, labels, c, ONE_PASS)
    model, found = train_splits([Split(task, (rest,), held_out) for held_out, rest in (HALVES, HALVES[::-1])])
    assert_allclose(model.weights, (first.weights + second.weights) / 2, rtol=1e-5, atol=1e-6)
    assert_allclose(model.bias, (first.bias + second.bias) / 2, rtol=1e-5)
    for learned, held_out in (first, HALVES[1]), (second, HALVES[0]):
        assert_allclose(found.probabilities[held_out], learned.probabilities(features[held_out]), rtol=1e-5)


@pytest.mark.parametrize(("folds", "levels", "halved"), [(2, 2, True), (3, 2, False), (2, 1, False)])
def test_a_level_that_the_next_learns_from_is_learned_by_halves(monkeypatch, folds, levels, halved):
    """The last level needs few predictions, which cost nothing in passing."""
    used = []

    def remembered(folds, *arguments):
        used.append(len(folds) == 2)
        return train_splits(folds, *arguments)

    monkeypatch.setattr("mpu_cli.core.validation.train_splits", remembered)
    X, Y = linear_problem(300, 6, 4)
    options = Options(levels=levels, folds=folds, epochs=1, c=np.full(4, 0.7), cost=3.0, eta0=2.0, sample=100)
    model, _ = train(Problem(as_features(X), hide(Y, 0.3)), options)
    assert (len(model.levels), any(used)) == (levels, halved)
