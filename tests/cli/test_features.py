"""``--features``: models of the features of an RBF kernel on the command line."""

import json

import numpy as np
import pytest

from mpu_cli import estimate_c
from mpu_cli.errors import MpuWarning
from tests.core.test_features import rings
from tests.svm import lines

QUICK = "--c", 1, "--cost", 30, "--epochs", 30, "--levels", 1


@pytest.fixture(scope="module")
def dense() -> str:
    """Data whose labels tell how far instances are from the middle."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3)) * [1, 20, 0.1]
    far = np.square(X / [1, 20, 0.1])[:, :2].sum(axis=1)
    return "".join(lines(X, np.column_stack([far > 2, far < 1]), form=".4g"))


@pytest.fixture
def trained(made, dense):
    def make(run, folder):
        (folder / "dense.svm").write_text(dense)
        run.ok("train", folder / "dense.svm", "--features", "rbf", *QUICK)
        run.ok("train", folder / "dense.svm", "--features", "linear", *QUICK, "-o", folder / "linear.mpu")

    return made(make)


def test_a_model_is_saved_with_the_features_that_it_was_learned_with(run, trained):
    evaluated = {}
    for model in ("dense.mpu", "linear.mpu"):
        result = run("evaluate", trained / "dense.svm", trained / model, "--json")
        evaluated[model] = json.loads(result.stdout)["micro_f1"]
    assert evaluated["dense.mpu"] > 0.9 > evaluated["linear.mpu"] + 0.1


def test_a_kernel_has_no_weights_that_say_why(run, trained, tmp_path):
    result = run("suggest", trained / "dense.svm", "--features", "rbf", *QUICK, "--why", "-o", tmp_path / "out")
    assert (result.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "has no weights for these" in result.stderr


def test_a_scaling_that_was_asked_for_is_not_explained_by_the_data(run, tiny):
    said = run.ok("train", tiny, "--features", "largest", *QUICK).stdout
    assert "each divided by its largest value\n" in said


@pytest.mark.slow  # five choices of features
def test_every_command_says_the_same_of_dense_data(run, tmp_path):
    """`train`, `estimate-c` and `report` choose the same features, and so have the same c, where a kernel is better."""
    X, Y = rings(200)
    S = Y & (np.random.default_rng(1).random(Y.shape) < 0.6)
    (tmp_path / "rings.svm").write_text("".join(lines(X, S, first=0, form=".9g")))
    arguments = {
        "train": ("-o", tmp_path / "rings.mpu", "--levels", 1),
        "estimate-c": (),
        "report": ("-o", tmp_path / "rings.html"),
    }
    said = {}
    for command, options in arguments.items():
        said[command] = run.json(command, tmp_path / "rings.svm", *options)
    assert said["train"]["rbf_landmarks"] > 0
    assert said["estimate-c"]["c"] == said["train"]["c"] == said["report"]["frequency"]["c"]
    assert said["estimate-c"]["interval"] == said["train"]["c_interval"] == said["report"]["frequency"]["interval"]
    assert said["report"]["missing"]["missing"] == pytest.approx(said["estimate-c"]["missing"], rel=0.1)
    assert said["estimate-c"]["c"] == pytest.approx(S.sum() / Y.sum(), abs=0.12)
    linear = run.json("estimate-c", tmp_path / "rings.svm", "--features", "linear")
    linearly = run.json("train", tmp_path / "rings.svm", "--features", "linear", "--levels", 1)
    assert linear["c"] == linearly["c"] != said["train"]["c"]
    with pytest.warns(MpuWarning, match="unreliable"):  # as the commands do: two features hardly tell the first label
        estimated = estimate_c(X, S)
    assert estimated.c == pytest.approx(said["estimate-c"]["c"], abs=1e-3)
    with pytest.warns(MpuWarning):
        assert estimate_c(X, S, features="linear").c == pytest.approx(linear["c"], abs=1e-3)
