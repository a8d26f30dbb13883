"""The callback for progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

# Called at the start of every step with its name and its number of ticks (None: unknown). It returns a context manager,
# which is open during the step. That gives a function to call once per tick.
Observer = Callable[[str, int | None], AbstractContextManager[Callable[[], None]]]


class Bytes(int):
    """A number of ticks of a step that reads so many bytes from files, by which it is counted."""


def no_observer(step: str, ticks: int | None) -> AbstractContextManager[Callable[[], None]]:
    """Show no progress."""
    return nullcontext(lambda: None)


def timed(observe: Observer, seconds: dict[str, float]) -> Observer:
    """Wrap an observer so that it also stores the wall time of each step in `seconds`."""

    @contextmanager
    def step(name: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
        start = time.perf_counter()
        with observe(name, ticks) as tick:
            yield tick
        seconds[name] = time.perf_counter() - start

    return step
