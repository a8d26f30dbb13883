"""Who is told of the steps of a training while they are taken."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

# Told of every step: its name and how many ticks it will make (None: not known). The context it returns lasts as long
# as the step; what that gives is called once per tick.
Observer = Callable[[str, int | None], AbstractContextManager[Callable[[], None]]]


def no_observer(step: str, ticks: int | None) -> AbstractContextManager[Callable[[], None]]:
    """Observe nothing."""
    return nullcontext(lambda: None)


def timed(observe: Observer, seconds: dict[str, float]) -> Observer:
    """Observe, and put the wall time of each step under its name into `seconds`."""

    @contextmanager
    def step(name: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
        start = time.perf_counter()
        with observe(name, ticks) as tick:
            yield tick
        seconds[name] = time.perf_counter() - start

    return step
