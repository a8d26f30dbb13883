import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from mpu_cli.runtime import parallel


@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_keeps_the_order(jobs):
    def slower_at_first(i):
        time.sleep((8 - i) / 400)
        return i

    assert list(parallel.run(slower_at_first, ((i,) for i in range(8)), jobs)) == list(range(8))


def test_passes_every_argument():
    assert list(parallel.run(lambda a, b: a - b, [(5, 2), (1, 4)], 1)) == [3, -3]


def test_nothing_to_do():
    assert list(parallel.run(abs, [], 2)) == []


def test_runs_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)  # breaks unless two pieces of work are under way together
    assert sorted(parallel.run(lambda _: meeting.wait(), [(0,), (1,)], 2)) == [0, 1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_reaches_the_caller(jobs):
    with pytest.raises(ZeroDivisionError):
        list(parallel.run(lambda x: 1 / x, [(1,), (0,), (2,)], jobs))


def test_results_do_not_depend_on_jobs():
    A = np.random.default_rng(0).normal(size=(6, 300, 300)).astype(np.float32)
    one, two = (
        [product.tobytes() for product in parallel.run(np.matmul, zip(A, A, strict=True), jobs)] for jobs in (1, 2)
    )
    assert one == two


@pytest.mark.parametrize("jobs", [1, 2])
def test_blas_has_one_thread(jobs):
    def blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    assert {number for numbers in parallel.run(blas_threads, [(), ()], jobs) for number in numbers} == {1}
