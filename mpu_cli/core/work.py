"""What a computation is given beside its data: a seed, a number of threads, and a callback for progress."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from mpu_cli.runtime import machine
from mpu_cli.runtime.progress import Observer, no_observer, timed


class Work(Protocol):
    """What is given. Only the seed, and whether the inner loops are compiled, affect the result."""

    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def jobs(self) -> int: ...  # noqa: D102 - threads; -1: one per core
    @property
    def compiled(self) -> bool: ...  # noqa: D102 - inner loops: by numba, or NumPy's
    @property
    def observe(self) -> Observer: ...  # noqa: D102

    def step(self, name: str, ticks: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Report a step. It lasts as long as the context, which gives a function to call once per tick."""
        ...


@dataclass(frozen=True)
class Given:
    """The same, as values."""

    seed: int = 0
    jobs: int = -1
    loops: bool | None = None  # whether inner loops are compiled; None: where numba is installed
    observe: Observer = no_observer

    @property
    def compiled(self) -> bool:
        """Whether compiled inner loops run."""
        return machine.numba_installed() if self.loops is None else self.loops

    def step(self, name: str, ticks: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Report a step."""
        return self.observe(name, ticks)


USUAL = Given()


def quiet(work: Work) -> Work:
    """Return the same without a report of steps."""
    return Given(work.seed, work.jobs, work.compiled)


def measured(work: Work, seconds: dict[str, float]) -> Work:
    """Return the same, which also stores the wall time of each step in a dictionary."""
    return Given(work.seed, work.jobs, work.compiled, timed(work.observe, seconds))
