"""The context of a run: the machine, seed, threads, kernels, and a callback that reports each step.

Kernels are the inner loops: the reference in NumPy, or compiled by numba (extra ``fast``). Two runs in one process do
not affect each other.
"""

import importlib.util
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from mpu_cli.errors import MpuError
from mpu_cli.runtime.options import AUTO, Integer, Kind, Threads, declared

KERNELS = ("numpy", "numba")

# Called at the start of every step with its name, as in messages, and its amount of work (None: unknown). It returns a
# context manager, open during the step, that yields a function to call with newly finished work, by default 1.
Observer = Callable[..., AbstractContextManager[Callable[..., None]]]


class Bytes(int):
    """An amount of work: the number of bytes to read from files."""


def no_observer(name: str, ticks: int | None = None) -> AbstractContextManager[Callable[..., None]]:
    """Show no progress."""
    return nullcontext(lambda by=1: None)


def available_memory() -> int:
    """Return the bytes usable without swapping, or the memory of the machine if the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return machine_memory()


def machine_memory() -> int:
    """Return the memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def peak_bytes() -> int:
    """Return the peak resident memory so far, including libraries and memory-mapped data."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def numba_installed() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


@dataclass(frozen=True)
class Run:
    """The context of a command or of a call from Python. Only the seed and the kernel affect the result.

    Raises MpuError (numba was requested but is not installed).
    """

    seed: int = declared(Integer(0), 0, "Random seed. The same seed gives the same bytes.")
    jobs: int = declared(Threads(-1), -1, "Threads; -1: one per core. Results do not depend on it.", letter="j")
    kernel: str | None = declared(
        Kind(words=(AUTO, *KERNELS)),
        None,
        "Inner loops: NumPy, or compiled by numba. auto: numba if installed.",
    )
    # Reports a step, which lasts as long as the context
    step: Observer = no_observer

    def __post_init__(self) -> None:
        if self.kernel == "numba" and not numba_installed():
            raise MpuError("numba is not installed; install it with: pip install numba")

    @property
    def compiled(self) -> bool:
        """Whether compiled inner loops are used."""
        return numba_installed() if self.kernel is None else self.kernel == "numba"

    def timed(self, seconds: dict[str, float]) -> "Run":
        """Return the same run, but add each step's wall time to a dictionary under its name."""

        @contextmanager
        def step(name: str, ticks: int | None = None) -> Iterator[Callable[..., None]]:
            start = time.perf_counter()
            with self.step(name, ticks) as tick:
                yield tick
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

        return replace(self, step=step)

    def quiet(self) -> "Run":
        """Return the same run without progress reports."""
        return replace(self, step=no_observer)

    def on_a_worker(self) -> "Run":
        """Return the run for units of work on a worker: one thread each, since many of them run at the same time."""
        return Run(seed=self.seed, jobs=1, kernel="numba" if self.compiled else "numpy")


DEFAULT_RUN = Run()
