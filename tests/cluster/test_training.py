"""Training on a cluster of real processes, some of which die."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from dask import config
from sklearn.metrics import f1_score

from mpu_cli import bundle
from mpu_cli.cli.actions.train import train
from mpu_cli.cluster import Address, connected
from mpu_cli.core.options import Options
from mpu_cli.errors import ClusterError, DataError, InputError
from mpu_cli.inputs.training_data import TrainingFiles
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import Files
from tests import svm
from tests.cluster.conftest import LARGE, OPTIONS, at, write_parts
from tests.cluster.processes import Processes, wait, worker_of_another_version
from tests.core.simulated import as_features, hide, linear_problem
from tests.core.steps import Steps
from tests.folders import model_files
from tests.slow import slow

PHASES = ["reading data", "estimating c", "choosing settings", "learning level 0", "writing the model"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[bytes]:
    """What these files give by one worker in this process, which nothing disturbs."""
    folder = tmp_path_factory.mktemp("expected")
    sources, on = TrainingFiles(Files(write_parts(folder))), Address(workers=1)
    assert train(sources, folder / "news.mpu", OPTIONS, on=on)["cluster"] == {"parts": 4, "workers": 1}
    return learned(folder / "news.mpu")


def learned(path: Path) -> list[bytes]:
    levels = bundle.load(path).predictor.levels
    return [array.tobytes() for level in levels for array in (level.weights, level.bias)]


def test_the_model_is_the_same_whatever_workers(sources, files, on, tmp_path, monkeypatch, expected):
    monkeypatch.chdir(tmp_path)  # files are those of the present directory, and that of the workers is another
    here = replace(sources, file=Files([Path(path).name for path in files]))
    report = train(here, tmp_path / "news.mpu", OPTIONS, on=on, run=Run(step=(steps := Steps())))
    assert report["cluster"] == {"parts": 4, "workers": 2}
    assert [name for name in steps.announced if name.startswith("learning")] == ["learning level 0", "learning level 1"]
    assert (report["instances"], report["labels"]) == (400, 5)
    assert learned(tmp_path / "news.mpu") == expected


@pytest.mark.parametrize("options", [Options(levels=1, epochs=1), *slow(Options(epochs=1), Options(epochs=3))])
def test_it_predicts_as_well_as_a_model_of_one_machine(tmp_path, options):
    """Also where instances are sorted, so that each file has other labels."""
    X, Y = linear_problem(4000, 10, 6, 0, slope=4.0)
    order = np.argsort(Y[:2000, 0], kind="stable")
    annotated = hide(Y[:2000], 0.3)[order].toarray()
    files = [tmp_path / f"{number}.svm" for number in range(8)]
    for file, rows in zip(files, np.split(np.arange(2000), 8), strict=True):
        file.write_text("".join(svm.lines(X[order[rows]], annotated[rows], first=0)))
    sources, test = TrainingFiles(Files(map(str, files))), as_features(X[2000:])
    options = replace(options, c=0.7, sample=500)
    f1 = []
    for name, on in {"here": None, "there": Address(workers=2)}.items():
        train(sources, tmp_path / f"{name}.mpu", options, on=on)
        model = bundle.load(tmp_path / f"{name}.mpu")
        predicted = model.predictor.probabilities(test) >= model.predictor.thresholds
        f1.append(f1_score(Y[2000:], predicted, average="micro"))
    assert f1[1] == pytest.approx(f1[0], abs=0.02)
    assert f1[0] > 0.8


def test_a_file_may_be_empty_but_not_all(files, on, tmp_path):
    (tmp_path / "a.svm").write_bytes(b"# nothing\n")
    sources = TrainingFiles(Files([str(tmp_path / "a.svm"), *files]))
    assert train(sources, tmp_path / "news.mpu", OPTIONS, on=on)["instances"] == 400
    with pytest.raises(InputError, match=r"a\.svm: no instance has a label"):
        train(TrainingFiles(str(tmp_path / "a.svm")), tmp_path / "news.mpu", OPTIONS, on=on)


def test_a_feature_that_dominates_is_told_by_its_number(on, tmp_path):
    files = [tmp_path / f"{number}.svm" for number in range(2)]
    for file in files:
        lines = (f"{i % 3} {10 + 10 * (i % 7)}:{i % 3} 999:{1000 + i}\n" for i in range(100))
        file.write_text("".join(lines))
    report = train(TrainingFiles(Files(map(str, files))), tmp_path / "a.mpu", OPTIONS, on=on)
    assert [text for text in report["warnings"] if text.startswith("feature 999 has ")]


def test_more_labels_than_a_cluster_learns_are_refused(on, tmp_path):
    (tmp_path / "many.svm").write_text("".join(f"{label} 1:1\n" for label in range(501)))
    with pytest.raises(DataError, match="there are 501 labels, and a cluster learns at most 500"):
        train(TrainingFiles(str(tmp_path / "many.svm")), tmp_path / "a.mpu", OPTIONS, on=on)


def test_a_local_cluster_is_not_reached_from_elsewhere():
    with connected(Address(workers=2)):
        listening = [one.laddr.ip for one in psutil.Process().net_connections() if one.status == psutil.CONN_LISTEN]
    assert set(listening) <= {"127.0.0.1"}


@pytest.mark.slow
def test_few_instances_are_learned_by_one_worker_as_by_a_single_machine(sources, on, tmp_path):
    options = Options(levels=1, features="linear")
    train(sources, tmp_path / "cluster.mpu", options, on=on)
    train(sources, tmp_path / "here.mpu", options)
    assert model_files(tmp_path / "cluster.mpu") == model_files(tmp_path / "here.mpu")


@pytest.mark.parametrize("phase", ["learning level 1", *slow(*PHASES)])
def test_a_worker_that_dies_changes_nothing(sources, on, processes, tmp_path, phase, expected):
    train(sources, tmp_path / "news.mpu", OPTIONS, on=on, run=at(phase, processes.kill_worker))
    assert learned(tmp_path / "news.mpu") == expected


@pytest.mark.slow
def test_a_worker_that_joins_changes_nothing(sources, on, processes, tmp_path, expected):
    train(sources, tmp_path / "news.mpu", OPTIONS, on=on, run=at("learning level 0", processes.exchange))
    assert learned(tmp_path / "news.mpu") == expected


LOST = {
    "the workers": (lambda of: [of.kill_worker() for _ in range(2)], "has had no worker for 2 seconds", "no worker"),
    "the scheduler": (Processes.kill_scheduler, None, "no Dask cluster answers"),
}


@pytest.mark.slow
@pytest.mark.parametrize("lost", LOST)
def test_without_workers_or_a_scheduler_it_waits_and_then_gives_up(sources, on, processes, tmp_path, lost):
    lose, said, afterwards = LOST[lost]
    with config.set({"mpu.timeout": 2}), pytest.raises(ClusterError, match=said):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=on, run=at("learning level 0", partial(lose, processes)))
    assert not (tmp_path / "a.mpu").exists()
    with config.set({"mpu.timeout": 1}), pytest.raises(ClusterError, match=afterwards):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=on)


@pytest.mark.parametrize("when", ["before", *slow("meanwhile")])
def test_a_worker_of_another_version_is_refused_by_name(sources, on, processes, tmp_path, when):
    join = partial(processes.exchange, worker_of_another_version)
    if when == "before":
        join()
    with pytest.raises(ClusterError, match=r"worker tcp://127.0.0.1:\d+ has mpu 0\.0\.1"):
        run = at("learning level 0" if when == "meanwhile" else "", join)
        train(sources, tmp_path / "a.mpu", OPTIONS, on=on, run=run)


@pytest.mark.parametrize("how", slow("changes", "vanishes"))
def test_a_file_that_is_another_when_it_is_read_again_is_refused(sources, files, on, processes, tmp_path, how):
    def other():
        for path in files:
            Path(path).unlink()
            if how == "changes":
                Path(path).write_text("0 1:1\n" * 100)
        processes.exchange()  # for one that has to read all of them

    with pytest.raises(InputError, match=r"part-\d\.svm: "):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=on, run=at("learning level 0", other))
    assert not (tmp_path / "a.mpu").exists()


@pytest.mark.slow  # a process of its own
def test_an_interrupted_client_leaves_no_work_behind(tmp_path, processes):
    files = write_parts(tmp_path, 40)
    command = ["train", *files, "-o", str(tmp_path / "a.mpu"), "--cluster", str(processes.file), *LARGE]
    process = subprocess.Popen([sys.executable, "-m", "mpu_cli", *command], stderr=subprocess.PIPE, text=True)
    wait(lambda: processes.tasks() >= 3 or process.poll() is not None)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "interrupted" in said
    wait(lambda: processes.tasks() == 0)
    assert not (tmp_path / "a.mpu").exists()
