"""``mpu train --cluster``."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster.conftest import write_parts


def train(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "mpu_cli", "train", *map(str, arguments)], capture_output=True, text=True
    )


@pytest.fixture
def files(tmp_path) -> list[str]:
    return write_parts(tmp_path)


def test_a_cluster_on_this_machine(files, tmp_path):
    large = ("--folds", "2", "--epochs", "1", "--sample", "100", "--shards", "2", "--c", "0.7")
    done = train(*files, "-o", tmp_path / "news.mpu", "--cluster", "local:2", *large, "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["cluster"] == {"parts": 4, "shards": 2, "workers": 2}
    assert (report["instances"], report["labels"]) == (400, 5)
    again = train(*files, "-o", tmp_path / "two.mpu", "--cluster", "local:1:2", *large)
    assert again.returncode == 0
    assert "cluster    4 parts, 2 shards, 1 worker\n" in again.stdout
    models = [sorted(path.name for path in (tmp_path / name).glob("*.npz")) for name in ("news.mpu", "two.mpu")]
    assert models[0] == models[1]  # their names have checksums


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--cluster", "nowhere"), "'nowhere' is no cluster"),
        (("--cluster", "local", "--reviewed", "a.tsv"), "--reviewed cannot be had with --cluster"),
        (("--cluster", "local", "--oof", "oof.txt"), "--oof cannot be had with --cluster"),
        (("--cluster", "local", "--method", "br"), "--method cannot be had with --cluster"),
        (("--cluster", "local", "--shards", "0"), "--shards"),
    ],
)
def test_wrong_usage(files, tmp_path, given, said):
    done = train(*files, "-o", tmp_path / "news.mpu", *given)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "news.mpu").exists()


def test_no_cluster_answers(files, tmp_path):
    done = train(
        *files, "-o", tmp_path / "news.mpu", "--cluster", "tcp://127.0.0.1:9", "--cluster-timeout", "1", "--quiet"
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: no cluster answers at tcp://127.0.0.1:9")
    assert done.stderr.count("\n") == 1


def test_a_bad_line_is_told_by_file_and_line(files, tmp_path):
    with Path(files[1]).open("a") as file:
        file.write("1 1:x\n")
    done = train(*files, "-o", tmp_path / "news.mpu", "--cluster", "local:1", "--quiet")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {files[1]}:101: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_leaves_no_process_and_says_one_line(tmp_path):
    files = write_parts(tmp_path, 40)
    command = [sys.executable, "-m", "mpu_cli", "train", *files, "-o", str(tmp_path / "news.mpu"), "--quiet"]
    said = tmp_path / "said.txt"
    with said.open("wb") as log:
        process = subprocess.Popen([*command, "--cluster", "local:2"], stderr=log, start_new_session=True)
    end = time.monotonic() + 60
    while len(processes_of(process.pid)) < 4 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)  # this one, the tracker of resources, and two workers
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    end = time.monotonic() + 60
    while processes_of(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert processes_of(process.pid) == []
    assert said.read_text() == "interrupted\n"


def processes_of(session: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(path.name)) == session:
                found.append(int(path.name))
    return found
