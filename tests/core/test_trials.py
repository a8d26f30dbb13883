from dataclasses import replace

import numpy as np
import pytest

from mpu_cli.core.calibration import HeldOut
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.selection import Trial, choose_settings
from mpu_cli.core.sgd import LearningTask, Settings
from mpu_cli.core.thresholds import estimated_macro_f1, pooled_threshold
from mpu_cli.core.validation import deal, dense_out_of_fold
from tests.core.simulated import as_features, hide, linear_problem


def problem(start=Settings(30.0, epochs=3), slope=4.0, n=240, D=8, q=3) -> Trial:  # noqa: B008
    X, Y = linear_problem(n, D, q, slope=slope)
    labels = hide(Y, 0.3)
    task = LearningTask(Features.of(as_features(X)), labels, LabelFrequency(np.full(q, 0.7)), start)
    return Trial(task, deal(n, 3, 0))


def noisy(start=Settings(30.0, epochs=3)) -> Trial:  # noqa: B008
    """Ten times as many features as the labels need: little regularisation is bad."""
    return problem(start, slope=2.0, D=80)


def estimate(trial, settings) -> float:
    task = replace(trial.task, settings=settings)
    return pooled_threshold(HeldOut(dense_out_of_fold(task, trial.fold_rows), task.labels, task.frequency))[1]


@pytest.mark.parametrize(
    ("make", "start", "gain"),
    [(problem, Settings(1e-3, 0.25, epochs=3), 0.05), (noisy, Settings(3e5, 4.0, epochs=3), 0.01)],
    ids=["too much regularisation", "too little"],
)
def test_leaves_a_bad_start(make, start, gain):
    f1, settings, _ = choose_settings(trial := make(start))
    assert f1 > estimate(trial, start) + gain
    assert settings.epochs == 3


def test_settings_for_macro_f1_are_chosen_by_it():
    trial = problem(Settings(1e-3, 0.25, epochs=3))
    labels, c = trial.task.labels, trial.task.frequency
    micro, macro = (choose_settings(trial, criterion=by) for by in ("pu-f1", "macro-f1"))
    assert macro.f1 == pytest.approx(estimated_macro_f1(HeldOut(macro.probabilities, labels, c)))
    assert macro.f1 > estimated_macro_f1(HeldOut(dense_out_of_fold(trial.task, trial.fold_rows), labels, c))
    assert micro.f1 == pytest.approx(estimate(trial, micro.settings))


@pytest.mark.parametrize("make", [problem, noisy])
def test_climb_finds_what_a_grid_would(make):
    grid = [Settings(cost, eta0, epochs=3) for cost in (1e-2, 0.1, 1.0, 10.0, 100.0, 1e3) for eta0 in (0.25, 1.0, 4.0)]
    chosen = choose_settings(trial := make())
    assert chosen.f1 > max(estimate(trial, settings) for settings in grid) - 0.01


def test_names_of_many_labels_are_learned_with_no_larger_steps():
    """The few labels of a sample do not show what a larger eta0 makes of all others."""
    trial = problem(start := Settings(30.0, 0.25, epochs=3, thin=True))
    for free, is_larger in ((("eta0",), True), (("eta0", "prior"), False)):
        assert (choose_settings(trial, free).settings.eta0 > start.eta0) == is_larger
