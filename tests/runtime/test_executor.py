"""Where units of work run."""

from threadpoolctl import threadpool_info, threadpool_limits

from mpu_cli.runtime.parallel import InProcess


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_in_a_unit_whatever_it_has_otherwise():
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        assert InProcess().submit(blas_threads) == {1}
        assert blas_threads() == {2}
