"""How much memory a test may take."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def peak_below(most: int) -> Iterator[None]:
    """Fail where Python and NumPy have so many bytes, or more, beyond what was there."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def peak(action: Callable[[], object]) -> int:
    """Do something; return how many bytes Python and NumPy had at most, beyond what was there."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
