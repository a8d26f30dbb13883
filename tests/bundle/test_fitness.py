"""A model that does not fit the data that it is given."""

import re
import subprocess

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.predicting import Fitness

SAYS = "THE MODEL DOES NOT FIT THE DATA"


def lines(n: int, shift: int = 0, scale: float = 1.0) -> str:
    """Instances of labels 1 and 2, whose features are told by the label."""
    return "".join(f"{1 + i % 2} {1 + i % 2 + shift}:{scale} {3 + i % 3 + shift}:{scale}\n" for i in range(n))


def make(run, folder):
    (folder / "x.svm").write_text(lines(60))
    run.ok("train", folder / "x.svm", "--c", 0.5, "--cost", 30, "--epochs", 2, "-q")


@pytest.fixture
def model(copied):
    return copied(make) / "x.mpu"


@pytest.fixture
def said(run, model, tmp_path):
    """Predict data, and evaluate the model on them; both say the same."""

    def warned(text: str) -> str:
        (tmp_path / "new.svm").write_text(text)
        by_predict = run("predict", model, tmp_path / "new.svm", "-q").stderr
        assert (SAYS in by_predict) == (SAYS in run("evaluate", tmp_path / "new.svm", model).stderr)
        return by_predict

    return warned


def test_data_like_those_of_the_training_are_not_warned_of(said):
    assert (said(lines(60)), said(lines(60, scale=2.0))) == ("", "")


def test_empty_instances_few_instances_and_some_unknown_features_are_no_reason(said):
    assert said(lines(20) + "1\n" * 1000) == ""
    for text in ("1\n" * 50, lines(5, shift=100, scale=100), lines(60) + lines(20, shift=100)):
        assert SAYS not in said(text)


def test_a_new_label_or_an_absent_one_is_no_reason(run, model, tmp_path):
    for text in (lines(60) + "9 1:1\n", " 1:1\n" * 60 + "9 1:1\n", lines(60).replace("1 ", "2 ") + "3 1:1\n"):
        (tmp_path / "new.svm").write_text(text)
        assert SAYS not in run("evaluate", tmp_path / "new.svm", model).stderr


def test_few_features_in_common(said):
    warning = said(lines(60, shift=100))
    assert "120 of 120 feature values ignored" in warning
    assert f"{SAYS}, and results mean little: most of the features are unknown to it" in warning


@pytest.mark.parametrize("shift", [-1, 1])
def test_numbers_from_another_base(run, said, model, tmp_path, shift):
    """F1 was .25 in place of .82, and nothing was said."""

    def renumbered(warning: str) -> bytes:
        command = re.search("renumber [a-z ]+: (.*)", warning)[1] + " new.svm"
        return subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=True).stdout

    warning = said(lines(60, shift=shift))
    assert f"features are {1 + shift} to {5 + shift}, and were 1 to 5 in training" in warning
    assert renumbered(warning) == lines(60).encode()
    labels = "".join(f"{1 + i % 2 + shift} {1 + i % 2}:1 {3 + i % 3}:1\n" for i in range(60))
    (tmp_path / "new.svm").write_text(labels + " 5:1\n5:1\n")
    warning = run("evaluate", tmp_path / "new.svm", model).stderr
    assert "30 of 60 true labels unknown to the model: counted as missed" in warning
    assert f"true labels are {1 + shift} to {2 + shift}, and were 1 to 2 in training" in warning
    assert renumbered(warning) == (lines(60) + " 5:1\n5:1\n").replace("1.0", "1").encode()


def test_few_unknown_features_are_no_warning(run, model, tmp_path):
    """News has some every night."""
    (tmp_path / "new.svm").write_text(lines(96) + lines(4, shift=100))
    assert run("predict", model, tmp_path / "new.svm", "-q").stderr == ""
    note = "8 of 200 feature values ignored: their features never occurred in training\n"
    assert run("predict", model, tmp_path / "new.svm").stderr == note
    assert run("evaluate", tmp_path / "new.svm", model).stderr == f"{model}: {note}"
    (tmp_path / "new.svm").write_text(lines(95) + lines(5, shift=100))
    warning = "warning: 10 of" + note.strip().removeprefix("8 of")
    assert run("predict", model, tmp_path / "new.svm", "-q").stderr.startswith(warning)


@pytest.mark.parametrize("scale, times", [(100, "1e+02"), (0.01, "0.01")])
def test_another_scale(said, scale, times):
    assert f"instances are {times} times as long as those it was trained on" in said(lines(60, scale=scale))


def test_a_model_that_does_not_tell_its_scale(run, tmp_path):
    (tmp_path / "x.svm").write_text(lines(60))
    run.ok("train", tmp_path / "x.svm", "--features", "rbf", "--c", 0.5, "--cost", 30, "-q")
    model = bundle.load(tmp_path / "x.mpu")
    features = csr_array(np.full((20, 6), 1000, np.float32))
    assert not [warning for warning in Fitness.of(model, features).warnings(model) if "times as long" in warning]
