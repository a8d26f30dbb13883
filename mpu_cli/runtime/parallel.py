"""Independent pieces of work over threads."""

from collections.abc import Callable, Generator, Iterable

from threadpoolctl import threadpool_limits

from mpu_cli.runtime.threads import map_ahead


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
        Number of threads; -1 for one a core.
    """
    with threadpool_limits(limits=1):
        yield from map_ahead(lambda arguments: function(*arguments), argument_tuples, jobs)
