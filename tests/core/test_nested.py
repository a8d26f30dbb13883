import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.sgd import LearningTask, Settings
from mpu_cli.core.validation import deal, out_of_fold, predict_nested
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, linear_problem, trained

LOSSES = [Settings(3.0, epochs=2), Settings(0.3, epochs=2, loss="squared-hinge")]
FREQUENCY = LabelFrequency.of(0.7, (60, 3))


def problem() -> tuple[Features, csr_array, list[np.ndarray]]:
    X, Y = linear_problem(60, 5, 3)
    return Features.of(as_features(X)), as_labels(Y), deal(60, 5, 0)


def nested(features, labels, fold_rows, settings, outer=5, run=None) -> list[np.ndarray]:
    task = LearningTask(features, labels, FREQUENCY, settings, run or Run())
    return predict_nested(task, fold_rows, outer, out_of_fold(task, fold_rows))


@pytest.mark.parametrize("settings", LOSSES, ids=lambda settings: settings.loss)
def test_predictions_are_those_of_models_without_either_fold(settings):
    features, labels, fold_rows = problem()
    found = nested(features, labels, fold_rows, settings)
    for i, j in (0, 3), (4, 1), (2, 2):
        rest = np.setdiff1d(np.arange(60), np.concatenate([fold_rows[i], fold_rows[j]]))
        model = trained(features, labels, rest, FREQUENCY, settings)
        assert_allclose(found[i][fold_rows[j]], model.probabilities(features[fold_rows[j]]), rtol=1e-6)
