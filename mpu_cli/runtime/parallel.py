"""Independent pieces of work over threads."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits

from mpu_cli.runtime.threads import map_ahead

_limiting = Lock()
_limited: list[threadpool_limits] = []  # one for each that is within `blas_on_one_thread`; the first one set the limit


def run(function: Callable, argument_tuples: Iterable[tuple], jobs: int) -> Generator:
    """Yield ``function(*arguments)`` for each tuple, in order.

    The work shares its arrays, so it runs in threads: the kernels, NumPy and SciPy release the GIL in their loops. BLAS
    gets one thread for each of ours, whatever `jobs`, so that a sum is taken in the same order however many run.

    Parameters
    ----------
    function : callable
        A plain function of arrays.
    argument_tuples : iterable of tuple
    jobs : int
        Number of threads; -1 for one per core.
    """
    with blas_on_one_thread():
        yield from map_ahead(lambda arguments: function(*arguments), argument_tuples, jobs)


@contextmanager
def blas_on_one_thread() -> Iterator[None]:
    """Keep BLAS to one thread. The limit is the process's, so it stays until the last of several threads is done."""
    with _limiting:
        _limited.append(threadpool_limits(limits=1))
    try:
        yield
    finally:
        with _limiting:
            if len(_limited) == 1:
                _limited[0].restore_original_limits()
                _limited.clear()
            else:
                _limited.pop()  # the first one knows what the limits were
