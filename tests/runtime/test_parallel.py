import json
import os
import subprocess
import sys
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mpu_cli.runtime import parallel


@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_keeps_the_order(jobs):
    def slower_at_first(i):
        time.sleep((8 - i) / 400)
        return i

    assert list(parallel.run(slower_at_first, ((i,) for i in range(8)), jobs)) == list(range(8))


def test_runs_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)  # breaks unless two pieces of work are under way together
    assert sorted(parallel.run(lambda _: meeting.wait(), [(0,), (1,)], 2)) == [0, 1]


def test_work_that_is_given_up_is_not_waited_for():
    """The garbage collector may give it up, in a thread that cannot wait."""
    begun, go_on = threading.Event(), threading.Event()

    def work(i):
        if i:
            begun.set()
            go_on.wait()
        return i

    results = parallel.run(work, [(0,), (1,)], 1)
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
    assert list(parallel.run(blas_threads, [(), ()], jobs)) == [{1}, {1}]


def test_the_limit_of_blas_lasts_until_the_last_run_is_done(two_blas_threads):
    first, second = parallel.blas_on_one_thread(), parallel.blas_on_one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    during = blas_threads()
    second.__exit__(None, None, None)
    assert during == {1}
    assert blas_threads() == {2}


@pytest.mark.slow
def test_the_limit_holds_for_libraries_that_are_loaded_later():
    script = """
from threadpoolctl import threadpool_info
from mpu_cli.runtime.parallel import blas_on_one_thread

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
