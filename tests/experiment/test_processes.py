import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

from mpu_cli import methods
from mpu_cli.experiment import preloaded, processes
from mpu_cli.experiment.processes import Failure
from mpu_cli.runtime.options import options_of
from tests.conftest import ROOT
from tests.experiment.tasks import work


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_every_task_has_its_outcome(jobs):
    tasks = [f"t{i}" for i in range(5)]
    assert dict(processes.run(work, tasks, jobs)) == {task: task.upper() for task in tasks}


def test_no_task_is_no_process():
    assert list(processes.run(work, [], 2)) == []


def test_one_at_a_time_is_in_order():
    assert [task for task, _ in processes.run(work, list("cab"), 1)] == list("cab")


def test_each_has_a_process_of_its_own():
    pids = [pid for _, pid in processes.run(work, ["pid", "pid"], 1)]
    assert len({*pids, os.getpid()}) == 3


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("exit", "the process ended with status 3"),
        ("kill", "the process was killed by SIGKILL, perhaps for lack of memory"),
        ("abort", "the process was killed by SIGABRT"),
        ("refuse", "too large, take less"),
        ("bug", "ZeroDivisionError: over nothing"),
        ("memory", "out of memory"),
    ],
)
def test_what_fails_is_told_and_stops_nothing(task, message):
    outcomes = dict(processes.run(work, [task, "fine"], 1))
    assert outcomes == {task: Failure(message), "fine": "FINE"}


def test_ctrl_c_is_for_the_first_process_to_decide():
    assert list(processes.run(work, ["interrupt"], 1)) == [("interrupt", "unimpressed")]


def test_to_stop_early_ends_what_runs():
    before = {*multiprocessing.active_children()}  # of other tests
    outcomes = processes.run(work, ["a", "b", "c"], 2)
    next(outcomes)
    outcomes.close()
    assert {*multiprocessing.active_children()} <= before


def test_the_server_has_loaded_what_cells_need():
    """In an interpreter of its own: each has one server, and another test may have started this one's."""
    code = """if True:
        from mpu_cli.experiment import processes
        from tests.experiment.tasks import work

        ((_, loaded),) = processes.run(work, ["modules"], 1)
        print(*loaded)"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"sklearn", "mpu_cli.experiment.cell", "mpu_cli.core.kernels.numpy_kernel"} <= set(done.stdout.split())


@pytest.mark.parametrize("name", methods.METHODS)
def test_the_server_can_fit_every_method_to_its_toy(name):
    if "estimator" in options_of(methods.METHODS[name].options):
        pytest.skip("which classifier it is, the user says")
    assert np.isfinite(preloaded.fit_toy(name).model.thresholds).all()
