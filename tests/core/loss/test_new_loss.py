"""A loss is one file: a toy that is added is found everywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mpu_cli
from mpu_cli.core.loss import LOSSES, loss_named
from mpu_cli.core.sgd import COSTS

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
def folder(tmp_path_factory):
    """A copy of the package with the toy, and small data."""
    folder = tmp_path_factory.mktemp("toy")
    shutil.copytree(Path(mpu_cli.__file__).parent, folder / "mpu_cli", ignore=shutil.ignore_patterns("*.nb?"))
    (folder / "mpu_cli" / "core" / "loss" / "toy.py").write_text(TOY)
    (folder / "data.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n 3:1\n" * 5)
    return folder


@pytest.fixture
def run(folder):
    """Run Python there; give what it prints."""
    environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"}
    how = {"cwd": folder, "env": environment, "text": True, "check": True}
    return lambda *arguments: subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, **how).stdout


@pytest.mark.parametrize("name", LOSSES)
def test_c_to_begin_with_is_one_that_is_tried(name):
    loss = loss_named(name)
    assert {loss.cost, loss.cost_of_many or loss.cost} <= set(COSTS)


def test_help_a_saved_model_and_its_predictions(run, folder):
    script = """
from mpu_cli.cli.commands import mpu
mpu(["train", "--help"], standalone_mode=False)
mpu("train data.svm --loss toy --c 1 --levels 1 -q --kernel numpy".split(), standalone_mode=False)
mpu("predict data.mpu data.svm --kernel numpy".split())
"""  # of a copy, all kernels would have to be compiled
    said = run("-c", script)
    assert "--loss [auto|pu-logistic|squared-hinge|toy]" in said
    assert said.endswith("\n" + "1\n2\n1,2\n\n" * 5)
    assert json.loads((folder / "data.mpu" / "manifest.json").read_text())["options"]["loss"] == "toy"


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
