import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.sgd import Settings, TrainingSet, train_linear
from mpu_cli.core.validation import Chain, LearningTask, learn
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem

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
    model, held_out = learn(task, [Chain((first, last), last)])
    return model, held_out.probabilities


def test_the_last_instances_are_predicted_by_a_model_of_the_others(problem):
    features, labels, c = problem
    first = np.setdiff1d(np.arange(120), LAST)
    of_first = train_linear(TrainingSet(features, labels, first), c, Settings(5.0 * 120 / 90, 2.0, 1))
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


def test_the_model_is_that_of_one_pass_over_all(monkeypatch):
    """By hand: instance after instance, first the others and then the last ones, with steps that go on decaying."""
    monkeypatch.setattr("mpu_cli.core.sgd.BATCH_SIZE", 1)
    X, Y = linear_problem(12, 4, 2)
    features, labels, c = Features.of(as_features(X)), as_labels(Y), LabelFrequency(np.array([0.6, 1.0]))
    last = np.array([1, 5, 6])
    settings = Settings(cost=0.5, step=1.0)  # a strong decay
    model, _ = progressively(LearningTask(features, labels, c, settings), last)

    from mpu_cli.core.kernels.numpy_kernel import visited
    from mpu_cli.core.loss.pu_logistic import pu_gradient
    from mpu_cli.core.sgd import BIAS_STEP, initial_bias

    first = np.setdiff1d(np.arange(12), last)
    weights, t = np.zeros((4, 2)), 0
    bias = initial_bias(labels[first], c.single_precision()).astype(float)
    decay = 1 / (0.5 * 12)
    for rows in (first, last):
        data = TrainingSet(features, labels, rows)
        step = 1.0 / data.mean_squared_norm
        for i in data.rows[visited(len(rows), 1, np.random.default_rng(0))]:
            gradient = pu_gradient(np.float32(X[i] @ weights + bias), Y[i], np.float32(c.rates))
            shrink = 1 / (1 + decay * step * t)
            weights -= step * shrink * np.outer(X[i], gradient)
            bias -= BIAS_STEP * shrink * gradient
            t += 1
            weights *= (1 + decay * step * (t - 1)) / (1 + decay * step * t)
    assert_allclose(model.weights, weights, rtol=1e-4, atol=1e-5)
    assert_allclose(model.bias, bias, rtol=1e-4, atol=1e-5)


def test_model_is_the_same_bytes_whatever_jobs(problem):
    (one, p), (two, q) = (run(*problem, jobs=jobs) for jobs in (1, 2))
    assert (one.weights.tobytes(), one.bias.tobytes(), p.tobytes()) == (
        two.weights.tobytes(), two.bias.tobytes(), q.tobytes(),
    )  # fmt: skip
