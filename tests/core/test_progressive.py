import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.sgd import Fold, LearningTask, Settings
from mpu_cli.core.validation import learn
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem, trained

SETTINGS = Settings(cost=5.0, step=2.0, epochs=1)
LAST = np.arange(3, 120, 4)


@pytest.fixture
def problem():
    X, Y = linear_problem(120, 6, kernel(Run()).BLOCK_SIZE + 3)
    return Features.of(as_features(X)), hide(Y, 0.3), LabelFrequency(np.linspace(0.4, 1, Y.shape[1]))


def run(features, labels, c, **options):
    return progressively(LearningTask(features, labels, c, SETTINGS, Run(**options)), LAST)


def progressively(task, last):
    first = np.setdiff1d(np.arange(len(task)), last)
    model, held_out = learn([Fold(task, (first, last), last)])
    return model, held_out.probabilities


def test_the_last_instances_are_predicted_by_a_model_of_the_others(problem):
    features, labels, c = problem
    first = np.setdiff1d(np.arange(120), LAST)
    of_first = trained(features, labels, first, c, Settings(5.0 * 120 / 90, 2.0, 1))
    _, probabilities = run(features, labels, c)
    assert_allclose(probabilities, of_first.probabilities(features[LAST]), rtol=1e-6)


def test_labels_of_the_last_instances_reach_the_model_but_not_their_predictions(problem):
    features, labels, c = problem
    model, probabilities = run(features, labels, c)
    changed = labels.toarray()
    changed[LAST] ^= True
    other, the_same = run(features, as_labels(changed), c)
    assert_array_equal(the_same, probabilities)
    assert np.abs(other.weights - model.weights).max() > 0.1
