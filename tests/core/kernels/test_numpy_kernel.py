import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import Batches
from mpu_cli.core.kernels.numpy_kernel import descend
from tests.core.simulated import as_features, as_labels, linear_problem

OPTIONS = {"step": 0.3, "bias_step": 0.05, "decay": 0.02}
C = np.array([0.3, 0.7, 1.0], np.float32)
# Which instances to learn from, in which order: all but a few of 30.
ROWS = np.random.default_rng(2).permutation(30)[:23]


def problem(sparse_columns: int) -> tuple[np.ndarray, Features, np.ndarray]:
    """Half-empty features, the first ones as sparse columns, and three labels."""
    X, S = linear_problem(30, 6, 3)
    X *= np.random.default_rng(1).random(X.shape) < 0.5
    return X, Features(as_features(X[:, :sparse_columns]), X[:, sparse_columns:]), S


def plain_sgd(X, S, c, bias, *, batch_size, step, bias_step, decay, epochs, rng):
    """The formulas, one instance after the other, in double precision."""
    n, D = X.shape
    W, b = np.zeros((D, S.shape[1])), bias.astype(float)
    batches = [range(start, min(start + batch_size, n)) for start in range(0, n, batch_size)]
    after_epoch = []
    t = 0
    for _ in range(epochs):
        for index in rng.permutation(len(batches)):
            eta, bias_eta = (e / (1 + decay * step * t) for e in (step, bias_step))
            W_start, b_start = W.copy(), b.copy()
            for i in batches[index]:
                sigma = expit(X[i] @ W_start + b_start)
                gradient = np.where(S[i], sigma - 1, c * sigma * (1 - sigma) / (1 - c * sigma))
                W -= eta * np.outer(X[i], gradient)
                b -= bias_eta * gradient
            for _ in batches[index]:
                W /= 1 + decay * step / (1 + decay * step * t)  # the step of an instance later by one each time
                t += 1
        after_epoch.append((W.copy(), b.copy()))
    last = after_epoch[epochs // 2 :]
    return np.mean([W for W, _ in last], axis=0), np.mean([b for _, b in last], axis=0)


@pytest.mark.parametrize("epochs", [1, 2, 5])
@pytest.mark.parametrize("batch_size", [1, 4, 23, 64])
@pytest.mark.parametrize("sparse_columns", [0, 3, 6], ids=["dense", "mixed", "sparse"])
def test_equals_plain_stochastic_gradient_descent(sparse_columns, batch_size, epochs):
    X, features, S = problem(sparse_columns)
    bias = np.array([-1, 0, 0.5], np.float32)
    options = OPTIONS | {"epochs": epochs}
    weights, final_bias = descend(
        Batches(features, ROWS, batch_size),
        as_labels(S),
        LabelFrequency(C),
        bias,
        rng=np.random.default_rng(3),
        **options,
    )
    expected_weights, expected_bias = plain_sgd(
        X[ROWS].astype(float), S[ROWS], C, bias, batch_size=batch_size, rng=np.random.default_rng(3), **options
    )
    assert weights.dtype == final_bias.dtype == np.float32
    assert_allclose(weights, expected_weights, rtol=1e-4, atol=1e-5)
    assert_allclose(final_bias, expected_bias, rtol=1e-4, atol=1e-5)
    assert_array_equal(bias, [-1, 0, 0.5])


@pytest.mark.parametrize("sparse_columns", [0, 3, 6], ids=["dense", "mixed", "sparse"])
def test_goes_on_where_it_stopped(sparse_columns):
    """Two halves are the whole: one instance a batch, so that only the order of the batches matters."""
    _, features, S = problem(sparse_columns)
    start = np.array([-1, 0, 0.5], np.float32)

    class InOrder:
        def permutation(self, n):
            return np.arange(n)

    def descended(rows, bias, **options):
        options |= OPTIONS | {"epochs": 1, "rng": InOrder()}
        return descend(Batches(features, rows, 1), as_labels(S), LabelFrequency(C), bias, **options)

    weights, bias = descended(ROWS[:11], start)
    assert_allclose(
        np.vstack(descended(ROWS[11:], bias, weights=weights, seen=11)),
        np.vstack(descended(ROWS, start)),
        rtol=1e-4,
        atol=1e-5,
    )
