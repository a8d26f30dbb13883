"""The convex bound of the unbiased risk: its solution, its link to probabilities, its choices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.metrics import f1_score

from mpu_cli.errors import DataError
from mpu_cli.methods.baselines import Qaraei21Options
from mpu_cli.methods.baselines.qaraei21 import train
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem

LOSSES = {
    "logistic": (lambda z: np.logaddexp(0, -z), lambda z: -1 / (1 + np.exp(z))),
    "squared-hinge": (lambda z: np.maximum(0, 1 - z) ** 2, lambda z: -2 * np.maximum(0, 1 - z)),
}


def by_definition(X: np.ndarray, s: np.ndarray, c: float, cost: float, loss: str) -> np.ndarray:
    """Scores that minimise ||w||^2 / 2 + C sum of (2/c - 1) s l(z) + (1 - s) l(-z), with a regularised bias."""
    value, slope = LOSSES[loss]
    X = np.column_stack([X, np.ones(len(X))])
    sign, weight = np.where(s, 1.0, -1.0), cost * np.where(s, 2 / c - 1, 1.0)

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = sign * (X @ w)
        return w @ w / 2 + weight @ value(z), w + X.T @ (weight * sign * slope(z))

    return X @ minimize(objective, np.zeros(X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-7}).x


def probability(z: np.ndarray, c: float, loss: str) -> np.ndarray:
    """p that the odds of the weighted problem at a score stand for, cut off at 1."""
    with np.errstate(divide="ignore"):
        odds = np.exp(z) if loss == "logistic" else np.clip(1 + z, 0, 2) / np.clip(1 - z, 0, 2)
        return np.minimum(1 / (c + (2 - c) / odds), 1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("c", "cost"), [(0.3, 0.5), (0.7, 5.0), (1.0, 1.0)])
def test_the_model_is_the_minimum_of_the_definition(c, cost, loss):
    X, Y = linear_problem(150, 5, 3)
    model, report = train(as_features(X), as_labels(Y), Qaraei21Options(c=c, cost=cost, bounded_loss=loss))
    assert (report.cost, report.f1, report.caution) == (cost, None, None)
    expected = np.column_stack([probability(by_definition(X, s, c, cost, loss), c, loss) for s in Y.T])
    assert_allclose(model.probabilities(as_features(X)), expected, atol=3e-3)
    decided = np.abs(expected - 0.5) > 0.01
    predicted = model.probabilities(as_features(X)) >= model.thresholds
    assert (predicted == (expected >= 0.5))[decided].all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("c", [0.25, 0.6, 1.0])
def test_probabilities_are_those_of_the_true_label(c, loss):
    """Groups of instances: the share of the true labels of each is known, and part of them is annotated."""
    shares = np.array([0.05, 0.2, 0.45, 0.55, 0.8, 0.95])
    group = np.repeat(np.arange(6), 20_000)
    annotated = np.zeros(len(group), bool)
    for g, share in enumerate(shares):
        annotated[np.flatnonzero(group == g)[: round(20_000 * c * share)]] = True
    model, _ = train(
        as_features(np.eye(6)[group]),
        as_labels(annotated[:, None]),
        Qaraei21Options(c=c, cost=100.0, bounded_loss=loss),
    )
    assert_allclose(model.probabilities(as_features(np.eye(6)))[:, 0], shares, atol=0.005)


@pytest.mark.parametrize("loss", LOSSES)
def test_missing_labels_cost_less_than_taken_for_negatives(loss):
    X, Y = linear_problem(900, 6, 4)
    S = hide(Y[:600], 0.6)
    aware, naive = (
        train(as_features(X[:600]), S, Qaraei21Options(c=c, bounded_loss=loss), Run(jobs=1))[0] for c in (0.4, 1.0)
    )
    f1 = [
        f1_score(Y[600:], model.probabilities(as_features(X[600:])) >= 0.5, average="micro") for model in (aware, naive)
    ]
    assert f1[0] > f1[1] + 0.1


def test_c_and_cost_are_chosen_and_the_micro_f1_is_told():
    X, Y = linear_problem(3000, 6, 4, slope=8)
    model, report = train(as_features(X[:2000]), hide(Y[:2000], 0.4), Qaraei21Options(), Run(jobs=1))
    assert report.c == pytest.approx(np.full(4, 0.6), abs=0.08)
    reached = f1_score(Y[2000:], model.probabilities(as_features(X[2000:])) >= model.thresholds, average="micro")
    assert report.f1 == pytest.approx(reached, abs=0.06)


def test_one_frequency_for_each_label():
    X, Y = linear_problem(150, 5, 3)
    c = np.array([0.2, 0.5, 0.9])
    model, _ = train(as_features(X), as_labels(Y), Qaraei21Options(c=c, cost=1.0, bounded_loss="logistic"))
    expected = np.column_stack(
        [probability(by_definition(X, s, ck, 1.0, "logistic"), ck, "logistic") for s, ck in zip(Y.T, c, strict=True)]
    )
    assert_allclose(model.probabilities(as_features(X)), expected, atol=3e-3)
    with pytest.raises(DataError, match="the squared hinge takes one c"):
        train(as_features(X), as_labels(Y), Qaraei21Options(c=c, cost=1.0))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_label_that_all_have(loss):
    X, Y = linear_problem(40, 3, 2)
    model, _ = train(as_features(X), as_labels(Y | [True, False]), Qaraei21Options(c=0.5, bounded_loss=loss, folds=2))
    assert (model.probabilities(as_features(X))[:, 0] > 0.5).all()


def test_scores_beyond_one_do_not_tie():
    X = np.linspace(-2, 2, 41)[:, None]
    model, _ = train(as_features(X), as_labels(X > 0), Qaraei21Options(c=0.5, cost=1.0))
    scores = X[:, 0] * model.levels[0].weights[0, 0] + model.levels[0].bias[0]
    assert np.abs(scores).max() > 1.5
    assert (np.diff(model.probabilities(as_features(X))[:, 0]) > 0).all()
