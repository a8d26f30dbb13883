"""What the machine can do at best: memory bandwidth and arithmetic rate, measured."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numba
import numpy as np
from threadpoolctl import threadpool_limits

_TRIAD_DOUBLES = 16_000_000  # an array of 128 MB, several times a large cache
_CACHED_DOUBLES = 800_000  # three arrays are as large as the weights for RCV1, 19 MB
_ROUNDS = 5  # at a time, since threads take a while to start
_MATRIX = 3072  # rows and columns of the float32 matrices


@dataclass(frozen=True)
class Machine:
    """Limits of the machine.

    Attributes
    ----------
    threads : int
        Threads that were used.
    bandwidth : float
        Memory bandwidth, bytes per second.
    cached : float
        The same for arrays as large as the weights for RCV1, which a cache may hold.
    arithmetic : float
        float32 operations per second; a multiplication and addition are two.
    """

    threads: int
    bandwidth: float
    cached: float
    arithmetic: float


def measure(threads: int) -> Machine:
    """Measure the machine's limits with a number of threads."""
    return Machine(threads, bandwidth(threads), bandwidth(threads, doubles=_CACHED_DOUBLES), arithmetic(threads))


def bandwidth(threads: int, repetitions: int = 5, doubles: int = _TRIAD_DOUBLES) -> float:
    """Measure memory bandwidth by a triad, ``a = b + s c``, in bytes per second, the best of some repetitions.

    Three arrays of doubles count, as in STREAM (McCalpin 1995); that a is also read before it is written does not.
    """
    a, b, c = (np.full(doubles, value) for value in (0.0, 1.0, 2.0))
    bounds = np.linspace(0, doubles, threads + 1).astype(int)

    parts = [slice(*ends) for ends in pairwise(bounds)]
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(lambda part: _triads(a[part], b[part], c[part]), parts)), repetitions)
    return 3 * _ROUNDS * a.nbytes / seconds


@numba.njit(nogil=True)
def _triads(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for s in range(_ROUNDS):
        for i in range(len(a)):
            a[i] = b[i] + s * c[i]


def arithmetic(threads: int, repetitions: int = 5, size: int = _MATRIX) -> float:
    """Measure the float32 rate by a matrix product, in operations per second, the best of some repetitions."""
    rng = np.random.default_rng(0)
    one, other = rng.random((2, size, size), np.float32)
    product = np.empty((size, size), np.float32)
    with threadpool_limits(threads, user_api="blas"):
        seconds = _best(lambda: np.matmul(one, other, out=product), repetitions)
    return 2 * size**3 / seconds


def _best(action: Callable[[], object], repetitions: int) -> float:
    """Shortest time of `action` in seconds; it runs once more before, to touch all memory."""
    action()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)
