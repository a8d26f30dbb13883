"""How much memory a test may take."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def _traced() -> Iterator[None]:
    """Trace memory; what earlier tests left neither counts nor decides when garbage is collected."""
    gc.freeze()
    gc.collect()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.unfreeze()


@contextmanager
def peak_below(most: int) -> Iterator[None]:
    """Fail where Python and NumPy have so many bytes, or more, beyond what was there."""
    with _traced():
        yield
        assert tracemalloc.get_traced_memory()[1] < most


def peak(action: Callable[[], object]) -> int:
    """Do something twice; return how many bytes Python and NumPy had at most, beyond what was there.

    It is the lesser of the two: what another thread that an earlier test left allocates meanwhile counts, too.
    """

    def once() -> int:
        with _traced():
            action()
            return tracemalloc.get_traced_memory()[1]

    return min(once(), once())
