"""How work is carried out: on how many threads, with which kernels, where arrays are kept, who is told, what is kept.

One object in place of six parameters. Two runs in one process do not know of each other.
"""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from mpu_cli.runtime import kernels
from mpu_cli.runtime.journal import NO_JOURNAL, Journal
from mpu_cli.runtime.observer import Observer, no_observer, timed
from mpu_cli.runtime.run_options import RunOptions


@dataclass(frozen=True)
class Run(RunOptions):
    """A run of a command or of a call from Python.

    Attributes
    ----------
    empty : callable
        Makes the large arrays: `numpy.empty`, or another with its first two parameters that keeps them elsewhere.
    observe : Observer
        Is told of every step.
    journal : Journal
        Keeps the steps that are finished, for a run of the same data and options.

    Raises
    ------
    MpuError
        numba is asked for and not installed.
    """

    empty: Callable[..., np.ndarray] = np.empty
    observe: Observer = no_observer
    journal: Journal = NO_JOURNAL

    def __post_init__(self) -> None:
        kernels.refuse_missing(self.kernel)

    @property
    def compiled(self) -> bool:
        """Whether compiled kernels run."""
        return kernels.compiled(self.kernel)

    def choose(self, reference: ModuleType, compiled: str) -> ModuleType:
        """Return the module of inner loops: the reference, or the one of that name, which is imported here."""
        return importlib.import_module(compiled) if self.compiled else reference

    def step(self, name: str, ticks: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Tell of a step, which lasts as long as the context; what that gives is called once per tick."""
        return self.observe(name, ticks)

    def timed(self, seconds: dict[str, float]) -> "Run":
        """Return a run that also puts the wall time of each step into a dictionary."""
        return replace(self, observe=timed(self.observe, seconds))


DEFAULT_RUN = Run()
