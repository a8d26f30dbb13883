"""Signals, and a reader that goes away: at any moment a fixed status, one line, and nothing left behind."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpu_cli.__main__ import main
from tests.cli.started import Started
from tests.cli.tables import records
from tests.cli.training import ALONE, QUICK
from tests.folders import contents, names

ENDS = [(signal.SIGHUP, 129, "hung up\n"), (signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")]
FOREVER = ("--c", "0.5", "--cost", "1", "--epochs", "100000")


def until_it_handles_signals(process: Started) -> None:
    """Wait until a process has a handler of SIGTERM: the imports before may take long."""
    while not int(re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text())[1], 16) >> 14 & 1:
        time.sleep(0.01)


@pytest.fixture
def big(file):
    """Data that take a while to read."""
    return file(b"1,2 1:0.5 2:0.25 7:1\n" * 400_000, "big.svm")


@pytest.mark.parametrize(("number", "status", "line"), ENDS)
@pytest.mark.parametrize("jobs", [1, 2])
def test_in_training(run, start, tiny, tmp_path, number, status, line, jobs):
    """In compiled loops, in the main thread and in others; the old model stays."""
    run("train", tiny, *QUICK)
    before, history = contents(tmp_path), tmp_path / "history.jsonl"
    process = start("train", tiny, "-j", jobs, "-v", *FOREVER, "--history", history)
    assert process.stderr.readline().startswith("reading data:")
    time.sleep(0.1)
    process.send_signal(number)
    assert process.end() == ("", line, status)
    (entry,) = records(history.read_text())
    assert (entry["file"], entry["error"]) == (str(tiny), line.rstrip())
    history.unlink()
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("number", "status", "line"), ENDS)
def test_while_a_file_is_written(start, big, tmp_path, number, status, line):
    process = start("corrupt", big, tmp_path / "noisy.svm", "--missing-rate", 0.5)
    while len(names(tmp_path)) < 2 and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(number)
    assert process.end() == ("", line, status)
    assert names(tmp_path) == {"big.svm"}


@pytest.mark.parametrize("arguments", [
    ("train", "-", "-o", "model"), ("estimate-c", "-"), ("corrupt", "--missing-rate", "0.5"),
    ("evaluate", "-", "tiny.svm"), ("experiment", "-", "--out", "results"),
], ids=lambda arguments: arguments[0])  # fmt: skip
def test_every_command_while_it_waits_for_input(start, tiny, arguments):
    read_end, write_end = os.pipe()  # nobody writes
    process = start(*arguments, stdin=read_end, cwd=tiny.parent)
    os.close(read_end)
    until_it_handles_signals(process)
    time.sleep(0.5)  # to read its input
    process.send_signal(signal.SIGTERM)
    assert process.end() == ("", "terminated\n", 143)
    os.close(write_end)
    assert names(tiny.parent) == {"tiny.svm"}


@pytest.mark.slow  # twelve processes
def test_at_random_moments_from_the_first_import_on(tiny, tmp_path):
    chance = random.Random(0)
    ready = "import sys; sys.stderr.write('.'); sys.stderr.flush(); "  # what comes before is not ours
    code = ready + "from mpu_cli.__main__ import main; sys.argv[0] = 'mpu'; main()"
    command = [sys.executable, "-c", code, "train", tiny, "-q", *FOREVER]
    for number, status, line in ENDS * 4:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr.read(1) == "."
        time.sleep(0.02 + chance.random() * 0.8)
        process.send_signal(number)
        assert (process.communicate(timeout=20)[1], process.returncode) == (line, status)
        assert names(tmp_path) == {"tiny.svm"}


def ignoring() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(2, b".")
    main()


def test_an_ignored_signal_stays_ignored(start, tiny):
    """As `nohup`, and `&` in a script, leave it."""
    process = start("estimate-c", tiny, "-v", *ALONE, program=ignoring)
    assert process.stderr.read(1) == "."
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert process.wait() == 0


def test_the_end_comes_also_where_nobody_reads_what_is_said(start, tiny, tmp_path):
    process = start("train", tiny, "-v", *FOREVER)
    assert process.stderr.readline().startswith("reading data:")
    process.stdout.close()
    process.stderr.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 143
    assert names(tmp_path) == {"tiny.svm"}


def test_the_last_line_is_json_too(start, tiny):
    process = start("train", tiny, "--log-format", "json", *FOREVER)
    assert '"step": "reading data"' in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    _, line, _ = process.end()
    assert line.endswith('"message": "terminated"}\n')
    assert line.count("\n") == 1


def test_a_closed_pipe_ends_quietly(start, big, tmp_path):
    process = start("corrupt", big, "--missing-rate", 0.5)
    assert process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == ("", 141)
    assert names(tmp_path) == {"big.svm"}


def test_what_must_not_be_broken_off_is_not_broken_off_by_a_signal_in_the_main_thread():
    """`multiprocessing` unblocks signals there, so that Python calls their handler in the middle of anything."""
    script = """
import os, signal, time
from mpu_cli.runtime import signals

signals.watch()
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
with signals.unbroken:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    print("whole", flush=True)
time.sleep(20)
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (process.stdout, process.stderr, process.returncode) == ("whole\n", "interrupted\n", 130)
