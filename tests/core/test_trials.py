from dataclasses import replace

import numpy as np
import pytest

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.selection import STEPS, Trial, choose_settings
from mpu_cli.core.sgd import Settings
from mpu_cli.core.thresholds import estimated_macro_f1, pooled_threshold
from mpu_cli.core.validation import deal, out_of_fold, split
from tests.core.simulated import as_features, hide, linear_problem


def problem(slope=4.0, n=240, D=8, q=3):
    X, Y = linear_problem(n, D, q, slope=slope)
    labels = hide(Y, 0.3)
    features = Features.of(as_features(X))
    return [split(features, labels, rows) for rows in deal(n, 3, 0)], labels, LabelFrequency(np.full(q, 0.7))


def noisy():
    """Ten times as many features as the labels need: little regularisation is bad."""
    return problem(slope=2.0, D=80)


def estimate(folds, labels, c, settings) -> float:
    return pooled_threshold(out_of_fold(folds, labels.shape, c, settings), labels, c)[1]


@pytest.mark.parametrize(
    ("make", "start", "gain"),
    [(problem, Settings(1e-3, 0.25, epochs=3), 0.05), (noisy, Settings(3e5, 4.0, epochs=3), 0.01)],
    ids=["too much regularisation", "too little"],
)
def test_leaves_a_bad_start(make, start, gain):
    folds, labels, c = make()
    f1, (settings, _) = choose_settings(Trial(folds, labels, c), start)
    assert f1 > estimate(folds, labels, c, start) + gain
    assert settings.epochs == 3


def test_settings_for_macro_f1_are_chosen_by_it():
    folds, labels, c = problem()
    start = Settings(1e-3, 0.25, epochs=3)
    micro, macro = (choose_settings(Trial(folds, labels, c), start, criterion=by) for by in ("pu-f1", "macro-f1"))
    (micro_f1, (settings, _)), (macro_f1, (_, probabilities)) = micro, macro
    assert macro_f1 == pytest.approx(estimated_macro_f1(probabilities, labels, c))
    assert macro_f1 > estimated_macro_f1(out_of_fold(folds, labels.shape, c, start), labels, c)
    assert micro_f1 == pytest.approx(estimate(folds, labels, c, settings))


@pytest.mark.parametrize("make", [problem, noisy])
def test_climb_finds_what_a_grid_would(make):
    folds, labels, c = make()
    grid = [Settings(cost, step, epochs=3) for cost in (1e-2, 0.1, 1.0, 10.0, 100.0, 1e3) for step in (0.25, 1.0, 4.0)]
    f1, _ = choose_settings(Trial(folds, labels, c), Settings(30.0, epochs=3))
    assert f1 > max(estimate(folds, labels, c, settings) for settings in grid) - 0.01


def test_chosen_step_is_a_top():
    folds, labels, c = problem()
    f1, (settings, _) = choose_settings(Trial(folds, labels, c), Settings(1e-3, 0.25, epochs=3))
    for step in STEPS:
        neighbour = replace(settings, step=step)
        if abs(STEPS.index(step) - STEPS.index(settings.step)) == 1:
            assert estimate(folds, labels, c, neighbour) < f1 + 1e-3


def test_names_of_many_labels_are_learned_with_no_larger_steps():
    """The few labels of a sample do not show what a larger step makes of all others."""
    folds, labels, c = problem()
    start = Settings(30.0, 0.25, epochs=3, thin=True)
    for free, is_larger in ((("step",), True), (("step", "prior"), False)):
        _, (settings, _) = choose_settings(Trial(folds, labels, c), start, free)
        assert (settings.step > start.step) == is_larger
