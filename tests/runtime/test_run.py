"""Runs in one process do not know of each other; which kernels run."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mpu_cli.core import stacking
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.errors import MpuError
from mpu_cli.runtime import run as runs
from mpu_cli.runtime.run import Run
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
