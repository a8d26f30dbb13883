"""Training with each loss, and the choice between them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import f1_score

from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.loss import LOSSES
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import DataError
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem
from tests.golden import refused

PU_LOGISTIC, SQUARED_HINGE = "pu-logistic", "squared-hinge"


def problem(n=240):
    X, Y = linear_problem(n, 6, 4)
    return as_features(X), hide(Y, 0.3)


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_predicts_what_is_true(loss):
    X, Y = linear_problem(600, 6, 4)
    model, report = train(
        Problem(as_features(X[:400]), hide(Y[:400], 0.4)), Options(loss=loss, c=0.6, epochs=10, features="linear")
    )
    assert report.chosen.settings.loss == loss
    f1 = f1_score(Y[400:], model.probabilities(as_features(X[400:])) >= model.thresholds, average="micro")
    assert f1 > 0.6  # of labels with much noise: 0.65 where none is missing
    assert report.expected_f1 == pytest.approx(f1, abs=0.08)


def test_auto_takes_the_loss_with_the_larger_estimate():
    def estimate(loss: str | None):
        _, report = train(Problem(*problem()), Options(loss=loss, levels=1, c=0.7, folds=4, features="linear"))
        return report.chosen.settings, report.level_f1[0]

    found = dict(estimate(loss)[::-1] for loss in (PU_LOGISTIC, SQUARED_HINGE))
    settings, f1 = estimate(None)
    assert f1 == max(found)
    assert settings == found[f1]


@pytest.mark.parametrize("given", [{"cost": 3.0}, {"eta0": 1.0}, {"sample": 100}], ids=lambda given: next(iter(given)))
def test_auto_is_pu_logistic_where_its_settings_are_given_or_the_data_are_large(given):
    _, report = train(Problem(*problem()), Options(levels=1, c=0.7, folds=2, epochs=2, **given))
    assert report.chosen.settings.loss == PU_LOGISTIC


def test_c_of_the_squared_hinge_can_be_given_and_does_not_depend_on_threads():
    options = Options(loss=SQUARED_HINGE, cost=0.5, c=0.7, folds=4)
    models = [train(Problem(*problem()), options, Run(jobs=jobs)) for jobs in (1, 2)]
    assert models[0][1].chosen.settings.cost == 0.5
    for one, other in zip(models[0][0].levels, models[1][0].levels, strict=True):
        assert_array_equal(one.weights, other.weights)


def test_many_labels_are_refused_before_anything_is_learned():
    labels = as_labels(np.ones((3, 501), bool))
    with refused(DataError):
        train(Problem(as_features(np.ones((3, 2))), labels), Options(loss=SQUARED_HINGE, c=1.0))
