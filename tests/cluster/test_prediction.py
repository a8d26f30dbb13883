"""Predicting files on a cluster."""

import subprocess
import sys
from pathlib import Path

import pytest

from mpu_cli.cli.actions.predict import predict_files
from mpu_cli.cli.actions.train import train as train_here
from mpu_cli.core.options import Options
from mpu_cli.errors import InputError
from mpu_cli.inputs.training_data import TrainingFiles
from mpu_cli.svmlight.streams import Files
from tests.cluster.conftest import write_parts
from tests.folders import contents
from tests.slow import slow


def make(_run, folder: Path) -> None:
    options = Options(c=0.7, cost=10.0, epochs=2, features="linear", loss="pu-logistic", eta0=1.0)
    train_here(TrainingFiles(Files(write_parts(folder))), folder / "news.mpu", options)


@pytest.fixture
def model(made) -> Path:
    return made(make) / "news.mpu"


@pytest.mark.parametrize("given", [[], *slow(["--format", "scores"])], ids=len)
def test_predictions_are_those_of_one_machine(run, model, files, cluster, tmp_path, given):
    here, there = tmp_path / "here", tmp_path / "there"
    run.ok("predict", model, *files, "-o", here, *given)
    command = ["predict", model, *files, "-o", there, *given, "--cluster", cluster, "--quiet"]
    # In a process of its own, nor does anything else there say a word.
    done = subprocess.run([sys.executable, "-m", "mpu_cli", *map(str, command)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert contents(there) == contents(here)
    assert len(contents(there)) == len(files)


@pytest.fixture
def targets(files, tmp_path) -> dict[str, Path]:
    (tmp_path / "out").mkdir()
    return {path: tmp_path / "out" / Path(path).name for path in files}


def test_a_worker_that_dies_changes_nothing(run, model, files, targets, on, processes, tmp_path):
    killed = []

    def kill_once():
        if not killed:
            killed.append(processes.kill_worker())

    assert predict_files(model, targets, on=on, tick=kill_once).instances == 400
    run.ok("predict", model, *files, "-o", tmp_path / "here")
    assert contents(tmp_path / "out") == contents(tmp_path / "here")


def test_a_bad_line_is_told_by_file_and_line(model, files, targets, on):
    with Path(files[1]).open("a") as file:
        file.write("1 1:x\n")
    with pytest.raises(InputError, match=r"part-1\.svm:101: "):
        predict_files(model, targets, on=on)
    assert not targets[files[1]].exists()
