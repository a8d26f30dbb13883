"""A method of another package: one file, with an entry point."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.added import NUMPY
from tests.methods.test_new_method import TOY

EXAMPLE = Path(__file__).parents[2] / "examples" / "centroid_method.py"
UNSAVED = TOY.replace('"toy", "', '"unsaved", "').replace("fit),)", "fit, saved=False),)")
WRONG = (
    TOY.replace('"toy", "', '"wrong", "')
    .replace("StackedModel((level,), 0.0", "Other((level,), 0.0")
    .replace("    q, D =", "    class Other(StackedModel):\n        pass\n\n    q, D =")
)
CLASHING = TOY.replace('"toy", "', '"clashing", "').replace("luck", "cost")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A package that is installed beside mpu, with methods that can be used and some that cannot."""
    folder = tmp_path_factory.mktemp("outside")
    files = {"outside_toy": TOY, "outside_unsaved": UNSAVED, "outside_wrong": WRONG, "outside_clashing": CLASHING}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text.replace("METHODS = (", "METHOD = (").replace(",)\n", ",)[0]\n"))
    shutil.copy(EXAMPLE, folder)
    info = folder / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    points = "".join(f"{name.removeprefix('outside_')} = {name}:METHOD\n" for name in files)
    points += "centroid = centroid_method:METHOD\n"
    (info / "entry_points.txt").write_text(f"[mpu.methods]\n{points}gone = outside_gone:METHOD\nnone = json:loads\n")
    (folder / "data.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n 3:1\n" * 5)
    return folder


def mpu(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "mpu_cli", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


def test_a_saved_model_and_its_predictions(folder):
    trained = mpu(folder, "train", "data.svm", "--method", "toy", "--luck", "0.75", "-q", *NUMPY)
    assert trained.returncode == 0, trained.stderr
    assert json.loads((folder / "data.mpu" / "manifest.json").read_text())["method"] == "toy"
    assert mpu(folder, "predict", "data.mpu", "data.svm", *NUMPY).stdout == "1,2\n" * 20


def test_the_example_learns(folder):
    trained = mpu(folder, "train", "data.svm", "--method", "centroid", "--sharpness", "8", "-o", "centroid.mpu", *NUMPY)
    assert trained.returncode == 0, trained.stderr
    evaluated = mpu(folder, "evaluate", "data.svm", "centroid.mpu", "--json", *NUMPY)
    assert json.loads(evaluated.stdout)["micro_f1"] == 1


def test_what_cannot_be_used_is_said_and_left_out(folder):
    result = mpu(folder, "train", "--help")
    assert "|toy|" in result.stdout
    assert "clashing" not in result.stdout
    for said in (
        "the method outside_clashing:METHOD is left out: mpu declares the option cost in another way",
        "the method outside_gone:METHOD is left out: No module named 'outside_gone'",
        "the method json:loads is left out: it is a function, and no mpu_cli.methods.Method",
    ):
        assert said in result.stderr


def test_what_cannot_be_saved_is_told_before_training(folder):
    result = mpu(folder, "train", "nowhere.svm", "--method", "unsaved")
    assert result.returncode == 1
    assert "error: models of unsaved cannot be saved: compare it by `mpu experiment`" in result.stderr


def test_a_model_of_an_unknown_type_is_an_error_and_leaves_nothing(folder):
    result = mpu(folder, "train", "data.svm", "--method", "wrong", "-o", "wrong.mpu", *NUMPY)
    assert result.returncode == 1
    assert "error: a model of the type Other cannot be saved" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (folder / "wrong.mpu" / "manifest.json").exists()


@pytest.mark.slow
def test_an_experiment(folder):
    options = ("--out", "out", "--folds", "2", "--missing-rates", "0.5", "--methods", "toy:luck=0.9,unsaved", *NUMPY)
    result = mpu(folder, "experiment", "data.svm", *options)
    assert result.returncode == 0, result.stderr
    assert "fail" not in result.stdout
