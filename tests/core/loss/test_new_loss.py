"""A loss is one file: a toy that is added is found everywhere."""

import json

import pytest

from tests.added import NUMPY, Copy

TOY = '''
"""The squared error of Pr(s=1 | x) = c sigma(z)."""

from scipy.special import expit

from mpu_cli.core.loss import Loss


def value(z, s, c):
    """Half of (c sigma(z) - s)^2."""
    return (c * expit(z) - s) ** 2 / 2


def gradient(z, s, c):
    """Differentiate `value` in z."""
    sigma = expit(z)
    return (c * sigma - s) * c * sigma * (1 - sigma)


LOSS = Loss(cost=100.0, gradient=gradient)
'''


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("toy"), "core/loss/toy.py", TOY)


def test_help(run):
    assert "--loss [auto|pu-logistic|squared-hinge|toy]" in run("-m", "mpu_cli", "train", "--help")


def test_a_saved_model_and_its_predictions(run):
    run("-m", "mpu_cli", "train", "data.svm", "--loss", "toy", "--c", "1", "--levels", "1", "-q", *NUMPY)
    assert json.loads((run.folder / "data.mpu" / "manifest.json").read_text())["options"]["loss"] == "toy"
    assert run("-m", "mpu_cli", "predict", "data.mpu", "data.svm", *NUMPY) == "1\n2\n1,2\n\n" * 5


@pytest.mark.slow
def test_the_estimator_minimises_the_loss(run):
    script = """
import numpy as np
from mpu_cli import MPUClassifier
from mpu_cli.core.loss.toy import value
rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(100, 2)) / 2 > 0
X[0], Y[0] = 5 * X[0], ~Y[0]  # an outlier, for which the logistic loss gives much
for loss in "toy", "pu-logistic":
    model = MPUClassifier(loss=loss, c=1.0, C=1000.0, epochs=20, eta0=8.0, levels=1, kernel="numpy").fit(X, Y)
    level = model._model.predictor.levels[0]
    print(value(X @ level.weights + level.bias, Y, 1.0).sum(), model.record_["loss"])
"""
    by_value = sorted(run("-c", script).splitlines(), key=lambda line: float(line.split()[0]))
    assert [line.split()[1] for line in by_value] == ["toy", "pu-logistic"]
