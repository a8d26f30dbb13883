"""The context of a run: seed, threads, kernels, progress callbacks.

Kernels are the inner loops: NumPy's, the reference, or compiled by numba (extra ``fast``). Two
runs in one process do not affect each other.
"""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import ModuleType

from mpu_cli.errors import MpuError
from mpu_cli.runtime import machine
from mpu_cli.runtime.options import RunOptions
from mpu_cli.runtime.progress import Observer, no_observer, timed


@dataclass(frozen=True)
class Run(RunOptions):
    """The context of a command or of a call from Python. Only the seed and the kernels affect the result.

    `observe`: progress callback, called for every step.
    Raises MpuError (numba was requested and is not installed).
    """

    observe: Observer = no_observer

    def __post_init__(self) -> None:
        if self.kernel == "numba" and not machine.numba_installed():
            raise MpuError("numba is not installed; install it with: pip install numba")

    @property
    def compiled(self) -> bool:
        """Whether compiled kernels run; by default, if numba is installed."""
        return machine.numba_installed() if self.kernel is None else self.kernel == "numba"

    def choose(self, reference: ModuleType, compiled: str) -> ModuleType:
        """Return a module of inner loops: the reference, or the compiled one of that name, which is imported here."""
        return importlib.import_module(compiled) if self.compiled else reference

    def on_a_worker(self) -> "Run":
        """Return what units of work elsewhere run with: one thread each, since many of them run at a time."""
        return Run(seed=self.seed, jobs=1, kernel="numba" if self.compiled else "numpy")

    def step(self, name: str, ticks: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Report a step. It lasts as long as the context, which gives a function to call once per tick."""
        return self.observe(name, ticks)

    def timed(self, seconds: dict[str, float]) -> "Run":
        """Return a run that also stores the wall time of each step in a dictionary."""
        return replace(self, observe=timed(self.observe, seconds))


DEFAULT_RUN = Run()
