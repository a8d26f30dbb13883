"""Unusual data and options: everything that comes out must be finite."""

import numpy as np
import pytest

from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.core.stacking import train
from mpu_cli.errors import MpuError
from tests.core.simulated import as_features, as_labels, linear_problem
from tests.golden import refused

X, Y = linear_problem(40, 3, 4)
SPARSE = X * (np.random.default_rng(0).random((40, 3)) < 0.15)


def without(rows) -> np.ndarray:
    """The features, some instances of which have none."""
    changed = X.copy()
    changed[rows] = 0
    return changed


DATA = {
    "usual": (X, Y),
    "sparse": (SPARSE, Y),
    "a label on every instance": (X, np.column_stack([Y, np.ones(40)])),
    "only labels on every instance": (X, np.ones((40, 2))),
    "one label": (X, Y[:, :1]),
    "a label on one instance": (X, np.arange(40)[:, None] == [3, 17]),
    "one instance": (X[:1], [[True, True]]),
    "one instance, nothing in it": (np.zeros((1, 2)), [[True]]),
    "two instances": (X[:2], np.eye(2)),
    "fewer instances than folds": (X[:4], np.eye(4)),
    "an instance without features": (without([0]), Y),
    "no features in any instance": (without(slice(None)), Y),
    "no feature at all": (np.empty((40, 0)), Y),
    "one feature": (X[:, :1], Y),
    "instances without labels": (X, Y & (np.arange(40) % 2 == 0)[:, None] | (np.arange(40)[:, None] == 0)),
    "a constant feature": (np.hstack([X, np.ones((40, 1))]), Y),
    "duplicate instances": (X[np.arange(40) % 2], np.tile(np.eye(2, 4) + np.eye(2, 4, 2), (20, 1))),
    "contradicting duplicates": (np.ones((40, 3)), Y),
    "huge values": (X * 1e12, Y),
    "tiny values": (X * 1e-12, Y),
    "values near the end of 32 bits": (X * 1e37, Y),
    "one huge value": (np.where(np.arange(40)[:, None] == 5, 1e6, X), Y),
    "one value near the end of 32 bits": (np.where(np.arange(40)[:, None] == 5, 1e38, X), Y),
}
OPTIONS = {
    "default": {},
    "c 1": {"c": 1.0, "cost": 1.0},
    "c small": {"c": 1e-6, "cost": 1.0},
    "c beyond 32 bits": {"c": 1e-300, "cost": 1.0},
    "c a label": {"c": "vector", "cost": 1.0, "threshold": "per-label"},
    "three levels": {"levels": 3, "cost": 1.0, "c": 0.5},
    "one level": {"levels": 1, "threshold": 0.5, "c": 0.5},
    "two folds": {"folds": 2, "cost": 1e5, "threshold": "per-label"},
    "sampled": {"sample": 10, "cost": 1e-3, "c": 0.5},
    "chosen by a sample": {"sample": 10, "c": 0.5},
}


@pytest.mark.parametrize(
    ("data", "options"),
    [
        # Data with one set of options each, an eighth of them also with default options; what is left is slow.
        pytest.param(
            data, options, id=f"{data}-{options}", marks=[pytest.mark.slow] if (i - j) % (9 if j else 8) else []
        )
        for i, data in enumerate(DATA)
        for j, options in enumerate(OPTIONS)
    ],
)
def test_everything_is_finite(data, options):
    values, annotated = (np.asarray(part) for part in DATA[data])
    matrix, labels = as_features(values), as_labels(annotated)
    n, q = labels.shape
    chosen = dict(OPTIONS[options])
    if chosen.get("c") == "vector":
        chosen["c"] = np.linspace(0.3, 1, q)
    model, report = train(Problem(matrix, labels), Options(**({"epochs": 2} | chosen)))
    for level in model.levels:
        assert np.isfinite(level.weights).all()
        assert np.isfinite(level.bias).all()
    assert np.isfinite(model.scale)
    probabilities = model.probabilities(matrix)
    assert probabilities.shape == (n, q)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert ((model.thresholds >= 0) & (model.thresholds <= 1)).all()
    assert ((report.chosen.c > 0) & (report.chosen.c <= 1)).all()
    assert np.isfinite([*report.level_f1, report.expected_f1]).all()
    assert report.expected_f1 >= 0


@pytest.mark.parametrize("scale", [1e-38, 1e-44], ids=["near the start of 32 bits", "of few bits"])
def test_values_that_take_weights_beyond_32_bits_are_an_error(scale):
    with refused(MpuError):
        train(Problem(as_features(X * scale), as_labels(Y)), Options(c=0.5, cost=1.0))


def test_a_sample_without_any_label_is_an_error():
    with refused(MpuError):
        train(Problem(as_features(X), as_labels(np.arange(40)[:, None] == 3)), Options(sample=10))


def test_a_label_on_every_instance_is_predicted_everywhere():
    model, _ = train(Problem(as_features(X), as_labels(np.column_stack([Y, np.ones(40)]))), Options(c=1.0))
    assert (model.probabilities(as_features(X))[:, 4] >= model.thresholds[4]).all()
