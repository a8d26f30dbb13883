"""Units of work on a cluster."""

import operator
import time

from mpu_cli.cluster.dask_executor import borrowed


def test_a_result_that_is_lost_after_it_was_done_is_computed_again(processes):
    with borrowed(processes.client, 30) as executor:
        handles = [executor.submit(operator.neg, number) for number in range(4)]
        assert executor.gather(handles) == [0, -1, -2, -3]

        def lose_others():
            if len(processes.workers) == 2:
                processes.add()
                processes.client.wait_for_workers(3, timeout=60)
                processes.kill_worker()
                processes.kill_worker()
                while any(handle.status == "finished" for handle in handles):
                    time.sleep(0.01)

        executor.wait(handles, lose_others)
        assert executor.gather(handles) == [0, -1, -2, -3]
