"""A method is one file: a toy that is added is found everywhere."""

import json

import pytest

from tests.added import NUMPY, Copy

TOY = '''
"""toy: every label has the same probability everywhere."""

from dataclasses import dataclass

from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.runtime.options import PROBABILITY, option


@dataclass(frozen=True, kw_only=True)
class Options:
    """The option of the toy."""

    luck: float = option(PROBABILITY, 0.25, "Probability of every label.")


def fit(task: Task) -> Fitted:
    """Learn nothing."""
    import numpy as np
    from scipy.special import logit

    from mpu_cli.core.model.stacking import LinearModel
    from mpu_cli.core.model.stacking import StackedModel

    q, D = task.problem.labels.shape[1], task.problem.features.shape[1]
    level = LinearModel(np.zeros((D, q), np.float32), np.full(q, logit(task.options.luck), np.float32))
    return Fitted(StackedModel((level,), 0.0, np.full(q, 0.5, np.float32)), {"learned": "nothing"}, np.ones(q))


METHODS = (Method("toy", "Every label has the same probability.", Options, fit),)
'''


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("toy"), "methods/toy.py", TOY)


def test_help(run):
    text = " ".join(run("-m", "mpu_cli", "train", "--help").split())
    assert "|toy]" in text
    assert "toy: Every label has the same probability." in text
    assert "--luck NUMBER toy only. Probability of every label. [default: 0.25; from 0 to 1]" in text


def test_a_saved_model_and_its_predictions(run):
    run("-m", "mpu_cli", "train", "data.svm", "--method", "toy", "--luck", "0.75", "-q", *NUMPY)
    manifest = json.loads((run.folder / "data.mpu" / "manifest.json").read_text())
    assert manifest["method"] == "toy"
    assert manifest["options"] == {"luck": 0.75, "seed": 0, "learned": "nothing"}
    assert run("-m", "mpu_cli", "predict", "data.mpu", "data.svm", *NUMPY) == "1,2\n" * 20
    assert "luck=0.75, method='toy'" in run("-c", "import mpu_cli; print(mpu_cli.load('data.mpu'))")


@pytest.mark.slow  # its server compiles the kernels of this copy
def test_an_experiment(run):
    summary = run(
        *("-m", "mpu_cli", "experiment", "data.svm", "--out", "out", "--folds", "2", "--missing-rates", "0.5"),
        *("--methods", "toy:luck=0.9,toy", *NUMPY),
    )
    assert "toy:luck=0.9" in summary
    assert "fail" not in summary


@pytest.mark.slow
def test_the_estimator(run):
    script = """
from mpu_cli import MPUClassifier
model = MPUClassifier(method="toy", luck=0.5).fit([[1.0], [2.0]], [[1, 0], [0, 1]])
print(model, model.predict_proba([[1.0]]).tolist(), "luck : float" in MPUClassifier.__doc__)
"""
    assert run("-c", script) == "MPUClassifier(luck=0.5, method='toy') [[0.5, 0.5]] True\n"
