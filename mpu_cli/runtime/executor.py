"""Where units of work run: in this process, or, by `cluster.dask_executor`, on the workers of a cluster.

A unit is a plain function of its arguments. Its result stays where it was computed; what stands for it here, a handle,
can be an argument of other units.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from mpu_cli.runtime.parallel import blas_on_one_thread

# What stands for the result of a unit.
Handle: TypeAlias = Any


class Executor(Protocol):
    """Runs units of work."""

    @property
    def threads(self) -> int:
        """How many units can run at a time, about."""

    def submit(self, function: Callable, *arguments: Any) -> Handle:
        """Have a unit run. Arguments may be handles, or lists of them, in place of what they stand for."""

    def spread(self, function: Callable, argument_tuples: Sequence[tuple]) -> list[Handle]:
        """Have a unit run for each tuple, and neighbours in one process, where others need their results together."""

    def keep(self, value: Any) -> Handle:
        """Return a handle of a value, which many units can take."""

    def wait(self, handles: Sequence[Handle], tick: Callable[[], None] = lambda: None) -> None:
        """Wait for units, with a tick for each one that is done; raise the error of one that fails."""

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for units, and return their results in the same order."""


def run_unit(function: Callable, *arguments: Any) -> Any:
    """Run a unit in this process. BLAS gets one thread, so that the order of its sums is the same in all processes."""
    with blas_on_one_thread():
        return function(*arguments)


class InProcess:
    """Runs each unit at once, in this process: the result is its own handle."""

    threads = 1

    def submit(self, function: Callable, *arguments: Any) -> Handle:
        """Run a unit."""
        return run_unit(function, *arguments)

    def spread(self, function: Callable, argument_tuples: Sequence[tuple]) -> list[Handle]:
        """Run the units."""
        return [self.submit(function, *arguments) for arguments in argument_tuples]

    def keep(self, value: Any) -> Handle:
        """Return the value."""
        return value

    def wait(self, handles: Sequence[Handle], tick: Callable[[], None] = lambda: None) -> None:
        """Do nothing but tick: all units have run."""
        for _ in handles:
            tick()

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the results."""
        return list(handles)


def reduced(executor: Executor, function: Callable[[Any, Any], Any], handles: Sequence[Handle]) -> Handle:
    """Combine results in pairs, then these in pairs, and so on: a tree that depends on their number only."""
    while len(handles) > 1:
        pairs = [handles[i : i + 2] for i in range(0, len(handles), 2)]
        handles = [executor.submit(function, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return handles[0]
