"""Units of work on a cluster."""

import operator
import threading
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.core import Status

from mpu_cli.cluster.dask_executor import DaskExecutor
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.errors import ClusterError, InputError
from tests.cluster.processes import Processes


def executor_of(client: Client, timeout: float = 30) -> DaskExecutor:
    executor = DaskExecutor(client, timeout)
    executor.wait_for_worker()
    return executor


def test_a_result_that_is_lost_after_it_was_done_is_computed_again(processes):
    executor = executor_of(processes.client)
    handles = [executor.submit(operator.neg, number) for number in range(4)]
    assert executor.gather(handles) == [0, -1, -2, -3]

    def lose_all():
        if processes.workers:
            processes.kill_worker()
            processes.kill_worker()
            while any(handle.status == "finished" for handle in handles):  # nothing is computed without workers
                time.sleep(0.01)

    executor.wait(handles, lose_all)
    processes.add()
    assert executor.gather(handles) == [0, -1, -2, -3]


def test_dask_knows_how_large_results_are(processes):
    executor = executor_of(processes.client)
    model = executor.submit(LinearModel, np.ones((1000, 100), np.float32), np.ones(100, np.float32))
    executor.wait([model])
    assert list(processes.client.nbytes(summary=False).values()) == [400_400]


def test_an_error_is_told_whatever_it_comes_from(processes):
    def fail():
        try:
            raise OSError(threading.Lock())  # as errors of libraries have what cannot be sent
        except OSError as error:
            raise InputError("a.svm", "cannot be read") from error

    executor = executor_of(processes.client)
    failed = executor.submit(fail)
    with pytest.raises(InputError, match=r"a\.svm: cannot be read$"):
        executor.gather([failed])
    failed.release()  # which the error holds: the cluster would never be without work again


@pytest.mark.slow  # a cluster of its own
def test_what_exceeds_the_memory_of_a_worker_is_told(tmp_path):
    processes = Processes(tmp_path, workers=1, memory="300MB")
    try:
        executor = executor_of(processes.client)
        large = executor.submit(np.ones, 40_000_000)
        with pytest.raises(ClusterError, match=r"too little memory \(Task 'len-.*\); give the workers more"):
            executor.gather([executor.submit(len, large)])
    finally:
        processes.close()


@pytest.mark.slow  # a cluster of its own
def test_one_worker_with_memory_left_is_enough_among_many():
    options = {"n_workers": 6, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    # Without a limit of memory, nobody sets them running again.
    with LocalCluster(memory_limit=0, **options) as cluster, Client(cluster) as client:
        client.run(_pause, workers=list(client.scheduler_info(n_workers=-1)["workers"])[:5])
        executor = executor_of(client, 1)
        assert executor.gather([executor.submit(time.sleep, 3)]) == [None]


def _pause(dask_worker):
    dask_worker.status = Status.paused
