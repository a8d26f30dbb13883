"""``mpu train --cluster``."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.tables import write_records
from tests.cluster.conftest import write_parts
from tests.cluster.processes import wait

TRAIN = sys.executable, "-m", "mpu_cli", "train"


def train(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([*TRAIN, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.slow  # two processes load Dask
def test_a_cluster_on_this_machine(tmp_path):
    files = write_parts(tmp_path)
    large = ("--folds", "2", "--epochs", "1", "--sample", "100", "--c", "0.7")
    kept = ("--history", tmp_path / "history.jsonl")
    done = train(*files, "-o", tmp_path / "news.mpu", "--cluster", "local:2", *large, "--json", "--quiet", *kept)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert json.loads((tmp_path / "history.jsonl").read_text())["cluster"] == report["cluster"]
    assert report["cluster"] == {"parts": 4, "workers": 2}
    assert (report["instances"], report["labels"]) == (400, 5)
    again = train(*files, "-o", tmp_path / "two.mpu", "--cluster", "local:1:2", *large)
    assert again.returncode == 0
    assert re.search(r"^cluster    4 parts, 1 worker$", again.stdout, re.MULTILINE)
    assert re.search(r"^levels     2$", again.stdout, re.MULTILINE)  # without a comparison of different instances
    models = [sorted(path.name for path in (tmp_path / name).glob("*.npz")) for name in ("news.mpu", "two.mpu")]
    assert models[0] == models[1]  # their names have checksums


@pytest.mark.slow  # texts are vectorised, and their model learned by the cluster
def test_names_and_vectoriser_of_texts_are_kept(run, cluster, tmp_path):
    texts = ({"text": f"{word} {i + 10} and more", "tags": [word]} for i in range(40) for word in ("law", "sport"))
    run.ok("vectorize", write_records(tmp_path / "news.jsonl", texts), "-o", tmp_path / "news.svm", "--quiet")
    common = ("--c", 1, "--cost", 3, "--levels", 1, "--quiet", "--cluster", cluster)
    done = run("train", tmp_path / "news.svm", "-o", tmp_path / "news.mpu", *common)
    assert (done.exit_code, done.stderr) == (0, ""), done.stderr
    done = run.ok("predict", tmp_path / "news.mpu", "--text", "sport sport", "--format", "tsv")
    assert "sport" in done.stdout


@pytest.mark.slow  # it starts a cluster of its own
def test_a_bad_line_is_told_by_file_and_line(tmp_path):
    files = write_parts(tmp_path)
    with Path(files[1]).open("a") as file:
        file.write("1 1:x\n")
    done = train(*files, "-o", tmp_path / "news.mpu", "--cluster", "local:1", "--quiet")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {files[1]}:101: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow  # a cluster of its own
def test_ctrl_c_leaves_no_process_and_says_one_line(tmp_path):
    files = write_parts(tmp_path, 40)
    command = [*TRAIN, *files, "-o", tmp_path / "news.mpu", "--quiet", "--cluster", "local:2"]
    said, temporary = tmp_path / "said.txt", tmp_path / "temporary"
    temporary.mkdir()
    with said.open("wb") as log:
        environment = {**os.environ, "TMPDIR": str(temporary)}
        process = subprocess.Popen(command, stderr=log, start_new_session=True, env=environment)
    wait(lambda: workers_in(temporary) == 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    wait(lambda: not processes_of(process.pid))
    assert workers_in(temporary) == 0
    assert said.read_text() == "interrupted\n"


def workers_in(temporary: Path) -> int:
    """Count the workers that have a directory of their own, where they put aside what their memory does not hold."""
    return sum(path.is_dir() for path in temporary.glob("mpu-*/*/worker-*"))


def processes_of(session: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(path.name)) == session:
                found.append(int(path.name))
    return found
