"""Models of two halves, each with the predictions of the other, and their mean."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.sgd import Fold, LearningTask, Settings
from mpu_cli.core.stacking import train
from mpu_cli.core.validation import LARGER_STEPS, deal, learn
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, hide, linear_problem, trained

SETTINGS = Settings(cost=5.0, step=2.0, epochs=1)
HALVES = deal(120, 2, 0)


@pytest.fixture
def problem():
    X, Y = linear_problem(120, 6, kernel(Run()).BLOCK_SIZE + 3)
    return Features.of(as_features(X)), hide(Y, 0.3), LabelFrequency(np.linspace(0.4, 1, Y.shape[1]))


def run(features, labels, c, **options):
    task = LearningTask(features, labels, c, SETTINGS, Run(**options))
    model, held_out = learn([Fold(task, (rest,), held_out) for held_out, rest in (HALVES, HALVES[::-1])])
    return model, held_out.probabilities


def test_the_model_is_the_mean_of_models_of_halves_with_larger_steps(problem):
    features, labels, c = problem
    settings = replace(SETTINGS, step=LARGER_STEPS * SETTINGS.step)
    first, second = (trained(features, labels, rows, c, settings) for rows in HALVES)
    model, probabilities = run(features, labels, c)
    assert_allclose(model.weights, (first.weights + second.weights) / 2, rtol=1e-5, atol=1e-6)
    assert_allclose(model.bias, (first.bias + second.bias) / 2, rtol=1e-5)
    for learned, held_out in (first, HALVES[1]), (second, HALVES[0]):
        assert_allclose(probabilities[held_out], learned.probabilities(features[held_out]), rtol=1e-5)


@pytest.mark.parametrize(("folds", "levels", "halved"), [(2, 2, True), (3, 2, False), (2, 1, False)])
def test_a_level_that_the_next_learns_from_is_learned_by_halves(monkeypatch, folds, levels, halved):
    """The last level needs few predictions, which cost nothing in passing."""
    used = []

    def remembered(folds, *arguments):
        if len(folds) == 2:
            used.append(True)
        return learn(folds, *arguments)

    monkeypatch.setattr("mpu_cli.core.stacking.learn", remembered)
    X, Y = linear_problem(300, 6, 4)
    options = Options(levels=levels, folds=folds, epochs=1, c=np.full(4, 0.7), cost=3.0, eta0=2.0, sample=100)
    model, _ = train(Problem(as_features(X), hide(Y, 0.3)), options)
    assert len(model.levels) == levels
    assert bool(used) == halved
