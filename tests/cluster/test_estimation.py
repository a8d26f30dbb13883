"""Estimating c on a cluster of real processes, some of which die."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mpu_cli.commands.estimate_c import Estimator, estimate
from mpu_cli.errors import ClusterError, InputError
from tests.cluster.conftest import at, write_parts
from tests.slow import slow


@pytest.mark.parametrize("phase", ["read", *slow("fetch the sample")])
def test_a_worker_that_dies_changes_nothing(sources, on, processes, phase):
    found = estimate(sources, Estimator(sample=150), on=on, run=at(phase, processes.kill_worker))
    assert found == estimate(sources, Estimator(sample=150))


def test_a_file_that_is_another_when_it_is_read_again_is_refused(sources, files, on, processes):
    def other():
        Path(files[1]).write_text("0 1:1\n" * 100)
        processes.add()  # which has to read all of them
        processes.client.wait_for_workers(3, timeout=60)
        for _ in range(2):
            processes.kill_worker()

    with pytest.raises(InputError, match=r"part-1\.svm: has changed"):
        estimate(sources, Estimator(sample=150), on=on, run=at("fetch the sample", other))


def test_without_workers_it_waits_and_then_gives_up(sources, on, processes):
    def none_left():
        processes.kill_worker()
        processes.kill_worker()

    with pytest.raises(ClusterError, match="has had no worker for 2 seconds"):
        estimate(sources, Estimator(sample=150), on=replace(on, timeout=2), run=at("fetch the sample", none_left))


@pytest.mark.slow
def test_an_interrupted_command_leaves_no_work_behind(tmp_path, processes):
    files = write_parts(tmp_path, 40)
    command = [sys.executable, "-m", "mpu_cli", "estimate-c", *files, "--cluster", str(processes.file)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while processes.tasks() < 3 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed, said) == (130, "", "interrupted\n")
    end = time.monotonic() + 60
    while processes.tasks() and time.monotonic() < end:
        time.sleep(0.1)
    assert processes.tasks() == 0
