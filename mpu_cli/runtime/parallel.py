"""Threads, and a pipeline that works a few pieces ahead."""

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from threading import Lock, Thread
from typing import Any

from threadpoolctl import ThreadpoolController

_limiting = Lock()
_limited: list[Any] = []  # one per caller inside `blas_on_one_thread`; the first one set the limit


def threads(jobs: int) -> int:
    """Return the number of threads for a number of jobs; -1: one per core."""
    return (os.cpu_count() or 1) if jobs == -1 else jobs


def in_background(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Call a function in a daemon thread, which the process does not wait for when it exits."""
    future: Future[Any] = Future()

    def call() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=call, daemon=True).start()
    return future


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """Return ``function()``, run in its own thread; or raise TimeoutError after some seconds, and let it run on."""
    return in_background(function).result(seconds)


def run(
    function: Callable[..., Any], argument_tuples: Iterable[tuple[Any, ...]], jobs: int
) -> Generator[Any, None, None]:
    """Yield ``function(*arguments)`` for each tuple, in order; the function must be a plain function of arrays.

    Threads share the arrays, and the kernels, NumPy and SciPy release the GIL in their loops. BLAS uses one thread in
    each of our threads, whatever `jobs` is, so that the summation order does not depend on the number of threads.
    """
    with blas_on_one_thread():
        yield from map_ahead(lambda arguments: function(*arguments), argument_tuples, jobs)


@contextmanager
def blas_on_one_thread() -> Iterator[None]:
    """Limit BLAS to one thread. The limit applies to the whole process, until the last caller is done."""
    with _limiting:
        _limited.append(_libraries(len(sys.modules)).limit(limits=1))
    try:
        yield
    finally:
        with _limiting:
            if len(_limited) == 1:
                _limited[0].restore_original_limits()
                _limited.clear()
            else:
                _limited.pop()  # the first one stores the original limits


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries with thread pools, again only if modules have been imported, since it takes milliseconds."""
    return ThreadpoolController()


def map_ahead(function: Callable[..., Any], pieces: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Yield ``function(piece)`` for each piece, in order; the function runs in `jobs` threads, -1 for one per core.

    The calling thread takes the pieces from their source, at most two per thread ahead, so memory stays bounded however
    slowly the results are used. An error of the source is raised after the results of the preceding pieces.
    """
    n_threads = threads(jobs)
    pool = ThreadPoolExecutor(n_threads)
    try:
        submitted = _submitted(pool, function, pieces)
        ahead = deque(islice(submitted, 2 * n_threads))
        while ahead:
            yield ahead.popleft().result()
            ahead.extend(islice(submitted, 1))
    finally:
        # Without waiting: the garbage collector may close an abandoned generator in any thread at any moment, even in
        # one that is just starting and holds the lock needed for joining threads.
        pool.shutdown(wait=False, cancel_futures=True)


def _submitted(pool: ThreadPoolExecutor, function: Callable[..., Any], pieces: Iterable[Any]) -> Iterator[Future[Any]]:
    """Take and submit one piece whenever the next future is requested."""
    try:
        for piece in pieces:
            yield pool.submit(function, piece)
    except Exception as error:
        failed: Future[Any] = Future()
        failed.set_exception(error)
        yield failed
