"""Runs in one process do not know of each other; which kernels run; work in threads."""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mpu_cli.core import stacking
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.errors import MpuError
from mpu_cli.runtime import run as runs
from mpu_cli.runtime.run import Run, blas_on_one_thread
from tests import kernels
from tests.core.simulated import as_features, hide, linear_problem
from tests.core.test_training import as_bytes
from tests.golden import refused

OPTIONS = Options(folds=2, epochs=2, cost=1.0, features="linear")


@pytest.mark.slow
def test_two_threads_with_other_kernels_and_seeds_get_the_bytes_of_two_separate_runs():
    X, Y = linear_problem(150, 12, 8)
    problem = as_features(X), hide(Y, 0.3)
    runs = [Run(seed=seed, jobs=2, kernel=kernel) for seed, kernel in enumerate((kernels.AVAILABLE * 3)[:3])]

    def train(run: Run) -> list[bytes]:
        return as_bytes(stacking.train(Problem(*problem), OPTIONS, run)[0])

    start = threading.Barrier(len(runs))

    def train_at_once(run: Run) -> list[bytes]:
        start.wait()
        return train(run)

    alone = [train(run) for run in runs]
    with ThreadPoolExecutor(len(runs)) as pool:
        assert list(pool.map(train_at_once, runs)) == alone
    assert alone[0] != alone[1] != alone[2]


def test_numba_cannot_be_asked_for_without_it(monkeypatch, run, digits):
    monkeypatch.setattr(runs, "numba_installed", lambda: False)
    with refused(MpuError):
        Run(kernel="numba")
    result = run("estimate-c", digits[0], "--kernel", "numba")
    assert result.exit_code == 1
    assert result.stderr == "error: numba is not installed; install it with: pip install numba\n"


def test_numpy_users_need_no_numba(tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1\n")
    code = """if True:
        import sys
        from mpu_cli.runtime.run import Run
        from mpu_cli.svmlight.reader import read
        read("x.svm", run=Run(jobs=2, kernel="numpy"))
        sys.exit("numba" in sys.modules)"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_the_time_of_steps_of_one_name_adds_up(monkeypatch):
    seconds = {}
    run = Run().timed(seconds)
    monkeypatch.setattr(runs.time, "perf_counter", iter([1.0, 3.0, 10.0, 10.5]).__next__)
    for _ in range(2):
        with run.step("estimating c"):
            pass
    assert seconds == {"estimating c": 2.5}


@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_keeps_the_order(jobs):
    def slower_at_first(i):
        time.sleep((8 - i) / 400)
        return i

    assert list(Run(jobs=jobs).in_threads(slower_at_first, range(8))) == list(range(8))


def test_runs_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)  # breaks unless two pieces of work are under way together
    assert sorted(Run(jobs=2).in_threads(lambda _: meeting.wait(), [0, 1])) == [0, 1]


def test_work_that_is_given_up_is_not_waited_for():
    """The garbage collector may give it up, in a thread that cannot wait."""
    begun, go_on = threading.Event(), threading.Event()

    def work(i):
        if i:
            begun.set()
            go_on.wait()
        return i

    results = Run(jobs=1).in_threads(work, [0, 1])
    assert next(results) == 0
    begun.wait()
    closing = threading.Thread(target=results.close)
    closing.start()
    closing.join(timeout=10)
    waits = closing.is_alive()
    go_on.set()
    assert not waits


@pytest.fixture
def two_blas_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_blas_has_one_thread(two_blas_threads, jobs):
    assert list(Run(jobs=jobs).in_threads(lambda _: blas_threads(), range(2))) == [{1}, {1}]


def test_the_limit_of_blas_lasts_until_the_last_run_is_done(two_blas_threads):
    first, second = blas_on_one_thread(), blas_on_one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    during = blas_threads()
    second.__exit__(None, None, None)
    assert (during, blas_threads()) == ({1}, {2})


@pytest.mark.slow
def test_the_limit_holds_for_libraries_that_are_loaded_later():
    script = """
from threadpoolctl import threadpool_info
from mpu_cli.runtime.run import blas_on_one_thread

def limited():
    with blas_on_one_thread():
        return [pool["num_threads"] for pool in threadpool_info()]

print(limited())
import numpy
print(limited())
import scipy.linalg
print(limited())
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    numbers = [json.loads(line) for line in found.stdout.splitlines()]
    assert numbers[0] == []
    assert 0 < len(numbers[1]) <= len(numbers[2])
    assert set(numbers[1] + numbers[2]) == {1}
