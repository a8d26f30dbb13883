"""Independent pieces of work over threads."""

import warnings
from collections.abc import Callable, Generator, Iterable

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits


def run(function: Callable, argument_tuples: Iterable[tuple], jobs: int) -> Generator:
    """Yield ``function(*arguments)`` for each tuple, in order.

    The work shares its arrays, so it runs in threads: NumPy and SciPy release the GIL in their products. BLAS gets one
    thread for each of ours, whatever `jobs`, so that a sum is taken in the same order however many run.

    Parameters
    ----------
    function : callable
        A plain function of arrays.
    argument_tuples : iterable of tuple
    jobs : int
        Number of threads; -1 for one a core.
    """
    with threadpool_limits(limits=1):
        tasks = (delayed(function)(*arguments) for arguments in argument_tuples)
        results = Parallel(n_jobs=jobs, backend="threading", return_as="generator")(tasks)
        try:
            for result in results:  # noqa: UP028 -- it would hand close() on before the warning is ignored
                yield result
        finally:
            with warnings.catch_warnings():  # joblib's, of tasks given up; whoever closes the generator knows
                warnings.simplefilter("ignore", UserWarning)
                results.close()
