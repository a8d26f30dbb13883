import csv
import json
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import numpy as np
import pytest

from mpu_cli.cli.actions.experiment import dataset_name
from mpu_cli.runtime.files import locked_directory
from tests.cli.training import message
from tests.experiment.small import problem
from tests.folders import contents
from tests.slow import slow
from tests.svm import write

QUICK = "epochs=1:cost=10:folds=2"
METHODS = f"br:{QUICK},mpu:c=0.5:levels=1:{QUICK}"


@pytest.fixture
def data(tmp_path):
    """Sixty instances with four labels."""
    instances = problem()
    return write(tmp_path / "small.svm", instances.features.toarray(), instances.labels.toarray(), form=".4g")


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    """Draw no figures, which takes longer than all else, but where they are the point."""
    monkeypatch.setattr("mpu_cli.cli.actions.experiment.find_spec", lambda name: None)


@pytest.fixture
def compare(run, data, tmp_path):
    """Run ``mpu experiment`` on the data, or on other files, two folds, into a folder of a name."""

    def go(*options, out="out", methods=METHODS, files=(data,), jobs=1):
        options = "--out", tmp_path / out, "--methods", methods, "--folds", 2, "-j", jobs, *options
        return run("experiment", *files, *options)

    return go


def rows(folder) -> list[dict]:
    with (folder / "results.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def outcomes(folder) -> dict:
    """What does not depend on the clock."""
    keys = ("method", "missing_rate", "fold", "instances")
    return {tuple(row[key] for key in keys): (row["micro_f1"], row["macro_f1"], row["c"]) for row in rows(folder)}


def test_results_summary_and_settings(compare, tmp_path):
    result = compare("--missing-rates", "0,0.5", "-v")
    assert result.exit_code == 0
    out = tmp_path / "out"
    table = rows(out)
    assert (len(table), {row["dataset"] for row in table}) == (2 * 2 * 2, {"small"})
    assert {row["instances"] for row in table} == {"60"}
    assert all(0 < float(row["micro_f1"]) <= 1 and not row["error"] for row in table)
    assert result.stdout == (out / "summary.md").read_text()
    assert "| br:" in result.stdout
    assert json.loads((out / "experiment.json").read_text())["settings"]["missing_rates"] == [0.0, 0.5]
    assert "training and testing: " in result.stderr


@pytest.mark.slow
def test_figures_or_a_warning_that_names_the_package(compare, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    result = compare("--missing-rates", "0,0.5")
    assert "warning: no figures: matplotlib is not installed; install it with: pip install matplotlib" in result.stderr
    assert not list((tmp_path / "out").glob("*_f1.*"))
    assert (tmp_path / "out" / "summary.md").exists()
    monkeypatch.undo()
    result = compare("--missing-rates", "0,0.5")
    assert "figures micro_f1.png, micro_f1.svg, macro_f1.png, macro_f1.svg" in result.stderr
    figures = {"micro_f1.png", "micro_f1.svg", "macro_f1.png", "macro_f1.svg"}
    assert {path.name for path in (tmp_path / "out").glob("*_f1.*")} == figures


def test_data_that_are_incomplete_themselves(compare, tmp_path):
    """Half of the labels of a thousand instances, of labels that the features tell apart."""
    rng = np.random.default_rng(0)
    cluster, kept = np.eye(4)[rng.integers(4, size=1000)], rng.random((1000, 1)) < 0.5
    source = write(tmp_path / "half.svm", cluster, cluster * kept, form="g")
    result = compare("--missing-rates", "0", files=[source])
    assert "warning: before any are removed, an estimated 5" in result.stderr
    assert "% of the true labels are annotated in these data: " in result.stderr
    assert "## Micro-F1 corrected for c, " in result.stdout
    for row in rows(tmp_path / "out"):
        if row["method"].startswith("mpu"):
            assert float(row["corrected_micro_f1"]) > float(row["micro_f1"]) + 0.2


@pytest.mark.slow  # it starts processes
def test_jobs_change_nothing(compare, tmp_path):
    for jobs in (1, 2):
        compare("--missing-rates", "0.5", "--run-folds", 1, out=f"out{jobs}", jobs=jobs)
    assert outcomes(tmp_path / "out1") == outcomes(tmp_path / "out2")


def test_goes_on_where_it_stopped(compare, tmp_path):
    compare("--missing-rates", "0,0.5")
    out, whole = tmp_path / "out", outcomes(tmp_path / "out")
    kept = (out / "results.csv").read_bytes().splitlines()[:4]
    record = json.loads((out / "experiment.json").read_text())
    (out / "experiment.json").write_text(json.dumps(record | {"rows": record["rows"][:3]}))
    assert "3 of 8 training runs already done" in compare("--missing-rates", "0,0.5", "-v").stderr
    assert (out / "results.csv").read_bytes().splitlines()[:4] == kept
    assert outcomes(out) == whole


def test_other_options_in_the_same_folder_are_an_error(compare, tmp_path):
    compare("--missing-rates", "0.5")
    before = contents(tmp_path / "out")
    result = compare("--missing-rates", "0.1,0.2", "--seed", 1, "-v")
    assert "(missing_rates, seed)" in message(result)
    assert "estimating c" not in result.stderr  # before anything is learned
    assert contents(tmp_path / "out") == before


def test_two_at_a_time_in_one_folder_are_an_error(compare, tmp_path):
    with locked_directory(tmp_path / "out", "busy"):
        result = compare("--missing-rates", "0.5")
    assert (result.exit_code, result.stdout) == (75, "")
    assert "another --out" in result.stderr
    assert compare("--missing-rates", "0.5").exit_code == 0


@pytest.mark.slow  # it starts processes
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_experiment_can_go_on(compare, data, tmp_path, how, jobs):
    out = tmp_path / "out"
    lasting = f"mpu:c=0.5:levels=1:{QUICK},br:epochs=3000:cost=10:folds=2"
    options = ["--missing-rates", "0.5", "--folds", "2", "--methods", lasting, "-j", str(jobs)]
    command = [sys.executable, "-m", "mpu_cli", "experiment", data, "--out", out, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (out / "results.csv").exists() or len(rows(out)) < 1:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(how)
    stdout, stderr = process.communicate()  # which waits until no process has the pipes
    assert stdout == ""
    if how == signal.SIGINT:
        assert (process.returncode, stderr) == (130, "interrupted\n")
        assert {path.name for path in out.iterdir()} == {"results.csv", "experiment.json"}
    kept = rows(out)
    result = compare("--missing-rates", "0.5", methods=lasting)
    assert f"{len(kept)} of 4 training runs already done" in result.stderr
    assert all(row in rows(out) for row in kept)
    assert len(rows(out)) == 4
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.slow  # it starts processes
@pytest.mark.filterwarnings("always")
def test_a_full_disk_is_one_error(compare, monkeypatch):
    no_room = Mock(side_effect=OSError(28, "No space left on device", "out"))
    monkeypatch.setattr("mpu_cli.cli.actions.experiment.save", no_room)
    result = compare("--missing-rates", "0,0.2,0.4,0.6", jobs=2)
    assert "warning" not in result.stderr
    assert "No space left" in message(result)


_KILLS_ONCE = """
import os, pathlib, signal

class Method:
    def __init__(self, mark):
        self.mark = pathlib.Path(mark)

    def fit(self, X, S):
        self.q = S.shape[1]
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def predict(self, X):
        return [[1] * self.q] * X.shape[0]
"""


@pytest.mark.slow  # it starts processes
def test_a_process_that_is_killed_ends_the_command_which_can_go_on(compare, tmp_path):
    (tmp_path / "kills.py").write_text(_KILLS_ONCE)
    options = {"methods": f"br:{QUICK},{tmp_path}/kills.py:mark={tmp_path}/mark", "jobs": 2}
    assert "a training process was killed, perhaps for lack of" in message(compare("--missing-rates", "0.5", **options))
    assert compare("--missing-rates", "0.5", **options).exit_code == 0
    assert len(rows(tmp_path / "out")) == 4


@pytest.mark.parametrize("jobs", [1, *slow(2)])  # the second starts processes
def test_a_cell_that_fails_is_recorded_and_the_others_run(compare, tmp_path, jobs):
    few = tmp_path / "few.svm"
    few.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(1, 9)))
    options = {"methods": f"br:{QUICK},mpu:c=0.5:{QUICK}", "files": [few], "jobs": jobs}
    result = compare("--missing-rates", "0,0.9", **options)
    assert result.exit_code == 1
    assert "error: " in result.stderr
    assert "4 of 8 training runs failed" in result.stderr
    errors = {(row["missing_rate"], row["error"]) for row in rows(tmp_path / "out")}
    assert errors == {("0.0", ""), ("0.9", "no label is left in the training part")}
    assert "no label is left in the training part" in result.stdout
    assert (tmp_path / "out" / "summary.md").read_text() == result.stdout
    again = compare("--missing-rates", "0,0.9", **options)  # runs them again
    assert "4 of 8 training runs already done" in again.stderr
    assert "4 of 8 training runs failed" in again.stderr


@pytest.mark.parametrize("name", ["link", "link/out"])
def test_a_link_to_nothing_is_refused_as_one(compare, tmp_path, name):
    (tmp_path / "link").symlink_to("nothing")
    assert "broken link" in message(compare(out=name))


def test_no_cell_that_can_be_run_is_an_error(compare, tmp_path):
    message(compare("--missing-rates", "0.999", methods=f"br:{QUICK}"))
    assert "no label is left in the training part" in (tmp_path / "out" / "summary.md").read_text()


def test_files_are_pooled(compare, data, tmp_path):
    parts = tmp_path / "part-train.svm", tmp_path / "part-test.svm"
    rows_of_data = data.read_text().splitlines(keepends=True)
    for part, some in zip(parts, (rows_of_data[:25], rows_of_data[25:]), strict=True):
        part.write_text("".join(some))
    compare("--missing-rates", "0.5", out="whole")
    compare("--missing-rates", "0.5", out="parts", files=parts)
    assert outcomes(tmp_path / "whole") == outcomes(tmp_path / "parts")
    assert {row["dataset"] for row in rows(tmp_path / "parts")} == {"part"}


def test_sizes_and_run_folds(compare, tmp_path):
    compare("--instances", "10,20,40", "--run-folds", 1, "--missing-rates", "0.5")
    found = [row for row in rows(tmp_path / "out") if row["method"].startswith("br")]
    assert [(row["instances"], row["fold"]) for row in found] == [("10", "0"), ("20", "0"), ("40", "0")]
    assert "exponent" in (tmp_path / "out" / "summary.md").read_text()


def test_data_are_called_after_their_files():
    for sources in (["a/news.svm.gz"], ["news-train.svm", "b/news-test.svm.gz"], ["news.svm", "bibtex.svm"]):
        assert dataset_name(sources) == "news"
    assert dataset_name(["news-train.svm"]) == "news-train"
    assert dataset_name(["news-a-train.svm", "news-a-test.svm"]) == "news-a"
