"""What a computation is given beside its data: a seed, a number of threads, and a callback for progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Self

from mpu_cli.runtime import machine
from mpu_cli.runtime.options import RunOptions

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


@dataclass(frozen=True)
class Work(RunOptions):
    """What is given. Only the seed and the kernel affect the result."""

    observe: Observer = no_observer  # called for every step

    @property
    def compiled(self) -> bool:
        """Whether compiled inner loops run."""
        return machine.numba_installed() if self.kernel is None else self.kernel == "numba"

    def step(self, name: str, ticks: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Report a step. It lasts as long as the context, which gives a function to call once per tick."""
        return self.observe(name, ticks)

    def timed(self, seconds: dict[str, float]) -> Self:
        """Return the same, which also stores the wall time of each step in a dictionary."""
        return replace(self, observe=timed(self.observe, seconds))

    def quiet(self) -> Self:
        """Return the same without a report of steps."""
        return replace(self, observe=no_observer)


USUAL = Work()
