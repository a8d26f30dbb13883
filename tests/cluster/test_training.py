"""Training on a cluster of real processes, some of which die."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mpu_cli import bundle
from mpu_cli.cluster.distributed_problem import DistributedProblem, learn, read_files
from mpu_cli.commands.train import train
from mpu_cli.errors import ClusterError, InputError
from mpu_cli.runtime.parallel import InProcess
from mpu_cli.runtime.run import DEFAULT_RUN
from mpu_cli.svmlight.grammar import DEFAULT_READING
from mpu_cli.svmlight.streams import Files
from tests.cluster.conftest import OPTIONS, at, write_parts
from tests.cluster.processes import OTHER_VERSION
from tests.endurance.commands import model_files
from tests.slow import slow

PHASES = ["read", "estimate c", "choose C", "level 0", "write"]


def expected(files, n_shards=4, options=OPTIONS):
    """What these parts and shards give, whoever computes."""
    collection = read_files(InProcess(), files, DEFAULT_READING, DEFAULT_RUN)
    return learn(DistributedProblem(collection, collection.ids), options, DEFAULT_RUN, n_shards)[0]


def learned(path: Path) -> list[bytes]:
    levels = bundle.load(path).predictor.levels
    return [array.tobytes() for level in levels for array in (level.weights, level.bias)]


def arrays(model) -> list[bytes]:
    return [array.tobytes() for level in model.levels for array in (level.weights, level.bias)]


def test_the_model_is_that_of_the_same_parts_and_shards_anywhere(sources, files, on, tmp_path):
    report = train(sources, tmp_path / "news.mpu", OPTIONS, on=on)
    assert report.cluster is not None
    moved = report.cluster.pop("moved_bytes")
    assert report.cluster == {"parts": 4, "shards": 4, "rounds": 1, "workers": 2}
    assert moved > sum(len(array) for array in learned(tmp_path / "news.mpu"))  # which came here
    assert (report.instances, report.labels) == (400, 5)
    assert learned(tmp_path / "news.mpu") == arrays(expected(files))


def test_one_part_gives_the_model_of_a_single_machine(sources, files, on, tmp_path):
    one = replace(sources, file=files[0])
    options = replace(OPTIONS, sample=40)
    train(one, tmp_path / "cluster.mpu", options, on=on)
    train(one, tmp_path / "here.mpu", options=options)
    assert model_files(tmp_path / "cluster.mpu") == model_files(tmp_path / "here.mpu")


def test_few_instances_are_learned_by_one_worker_as_by_a_single_machine(sources, on, tmp_path):
    train(sources, tmp_path / "cluster.mpu", on=on)
    train(sources, tmp_path / "here.mpu")
    assert model_files(tmp_path / "cluster.mpu") == model_files(tmp_path / "here.mpu")


@pytest.mark.parametrize("phase", ["level 1", *slow(*PHASES)])
def test_a_worker_that_dies_changes_nothing(sources, files, on, processes, tmp_path, phase):
    train(sources, tmp_path / "news.mpu", OPTIONS, on=on, run=at(phase, processes.kill_worker))
    assert learned(tmp_path / "news.mpu") == arrays(expected(files))


@pytest.mark.slow
def test_a_worker_that_joins_changes_nothing(sources, files, on, processes, tmp_path):
    def replaced():
        processes.add()
        processes.client.wait_for_workers(3, timeout=60)
        processes.kill_worker()

    train(sources, tmp_path / "news.mpu", OPTIONS, on=on, run=at("level 0", replaced))
    assert learned(tmp_path / "news.mpu") == arrays(expected(files))


def test_without_workers_it_waits_and_then_gives_up(sources, on, processes, tmp_path):
    def none_left():
        processes.kill_worker()
        processes.kill_worker()

    with pytest.raises(ClusterError, match="has had no worker for 2 seconds"):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=replace(on, timeout=2), run=at("level 0", none_left))
    assert not (tmp_path / "a.mpu").exists()
    with pytest.raises(ClusterError, match="no worker"):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=replace(on, timeout=1))


def test_a_scheduler_that_is_gone_is_told(sources, on, processes, tmp_path):
    with pytest.raises(ClusterError):
        train(
            sources,
            tmp_path / "a.mpu",
            OPTIONS,
            on=replace(on, timeout=3),
            run=at("level 0", processes.kill_scheduler),
        )
    assert not (tmp_path / "a.mpu").exists()
    with pytest.raises(ClusterError, match="no scheduler answers"):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=replace(on, timeout=1))


@pytest.mark.parametrize("when", ["before", *slow("meanwhile")])
def test_a_worker_of_another_version_is_refused_by_name(sources, on, processes, tmp_path, when):
    def join():
        processes.add(OTHER_VERSION)
        processes.client.wait_for_workers(3, timeout=60)
        for _ in range(2):
            processes.kill_worker()

    with pytest.raises(ClusterError, match=r"worker tcp://127.0.0.1:\d+ has mpu 0\.0\.1"):
        if when == "before":
            join()
            train(sources, tmp_path / "a.mpu", OPTIONS, on=on)
        else:
            train(sources, tmp_path / "a.mpu", OPTIONS, on=on, run=at("level 0", join))


@pytest.mark.parametrize("how", slow("changes", "vanishes"))
def test_a_file_that_is_another_when_it_is_read_again_is_refused(sources, files, on, processes, tmp_path, how):
    def other():
        for path in files:
            if how == "changes":
                Path(path).write_text("0 1:1\n" * 100)
            else:
                Path(path).unlink()
        processes.add()  # which has to read all of them
        processes.client.wait_for_workers(3, timeout=60)
        for _ in range(2):
            processes.kill_worker()

    with pytest.raises(InputError, match=r"part-\d\.svm: "):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=on, run=at("level 0", other))
    assert not (tmp_path / "a.mpu").exists()


def test_files_are_those_of_the_present_directory(sources, files, on, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # that of the workers is another
    train(replace(sources, file=Files([Path(path).name for path in files])), Path("a.mpu"), OPTIONS, on=on)
    assert learned(tmp_path / "a.mpu") == arrays(expected(files))


def test_a_bad_line_is_told_by_file_and_line(sources, files, on, tmp_path):
    with Path(files[2]).open("a") as file:
        file.write("1 1:x\n")
    with pytest.raises(InputError, match=r"part-2\.svm:101: "):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=on)


def command(files, model, processes, *more) -> list[str]:
    given = [
        "--cluster",
        str(processes.file),
        "--epochs",
        "1",
        "--folds",
        "2",
        "--sample",
        "100",
        "--levels",
        "2",
        *more,
    ]
    return [sys.executable, "-m", "mpu_cli", "train", *files, "-o", str(model), *given]


def begun(processes, *arguments) -> subprocess.Popen:
    """Start a training, and return when its first units have run."""
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while processes.tasks() < 3 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    return process


def test_an_interrupted_client_leaves_no_work_behind(tmp_path, processes):
    files = write_parts(tmp_path, 40)
    process = begun(processes, files, tmp_path / "a.mpu", processes)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "interrupted" in said
    end = time.monotonic() + 60
    while processes.tasks() and time.monotonic() < end:
        time.sleep(0.1)
    assert processes.tasks() == 0
    assert not (tmp_path / "a.mpu").exists()
