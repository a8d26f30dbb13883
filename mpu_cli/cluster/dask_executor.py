"""Units of work on a Dask cluster.

Dask assigns units to workers, keeps results where they were computed, and computes lost ones again. Each
result depends on its arguments alone, so it is the same again.
"""

import errno
import platform
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

import numpy as np
from dask.sizeof import sizeof
from distributed import Client, Future, KilledWorker, as_completed, get_worker
from distributed.comm.core import CommClosedError
from scipy.sparse import csc_array, csr_array

from mpu_cli.cluster.reading import PartRows
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.errors import ClusterError, MpuError
from mpu_cli.runtime.parallel import blas_on_one_thread, in_background, within
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.version import __version__

# Seconds between checks of finished units, and of the cluster itself.
_SOON, _NOW_AND_THEN = 0.01, 1.0
# Error numbers of a full disk.
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


# What stands for the result of a unit, which stays where it was computed.
Handle: TypeAlias = Future


class DaskExecutor:
    """Runs units of work, which are plain functions of arrays, on a Dask cluster.

    `timeout`: seconds to wait while the cluster has no workers.
    """

    def __init__(self, client: Client, timeout: float) -> None:
        self._client = client
        self._timeout = timeout
        self._versions = versions()
        self._last_seen = time.monotonic()
        self._next_look = 0.0

    def check_workers(self) -> None:
        """Wait for a worker, and refuse workers with other versions of the numerical packages."""
        try:
            self._awaited(self._client.wait_for_workers, 1, timeout=self._timeout)
        except TimeoutError:
            raise ClusterError(f"the cluster has had no worker for {self._timeout:g} seconds") from None
        of_workers = self._awaited(self._client.run, versions, on_error="return")
        for worker, theirs in of_workers.items():
            if isinstance(theirs, OSError):
                continue  # it has just died; every unit checks versions again
            if isinstance(theirs, BaseException):
                raise ClusterError(f"worker {worker} cannot run mpu, which must be installed there too: {theirs}")
            if differs := difference(self._versions, theirs):
                raise _other_versions(worker, differs)

    @property
    def workers(self) -> int:
        """The number of workers; 0 if the scheduler does not answer."""
        try:
            return len(within(self._timeout, self._client.nthreads))
        except Exception:  # as for `_look`; and a client that has lost its scheduler has none to ask
            return 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Run a unit on a worker. Arguments may be handles, or lists of them, in place of what they stand for."""
        key = f"{function.__name__}-{secrets.token_hex(8)}"
        return self._client.submit(_unit, self._versions, function, *arguments, key=key, pure=False)

    def wait(self, handles: Sequence[Handle], tick: Callable[[], None] = lambda: None) -> None:
        """Wait for units, with a tick for each one that is done; raise the error of one that fails.

        Raises ClusterError (the cluster is gone, or its workers).
        """
        waiting = as_completed(handles, loop=self._client.loop)
        while not waiting.is_empty():
            if not waiting.has_ready():
                time.sleep(_SOON)
                self._look()
                continue
            for future in waiting.next_batch(block=False):
                self._raise(future)
                tick()

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return results; errors as for `wait`."""
        self.wait(handles)
        try:
            return self._awaited(self._client.gather, list(handles))
        except (CancelledError, CommClosedError, KilledWorker, OSError) as error:
            raise ClusterError(f"the cluster has lost results: {error}") from None

    def _awaited(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return what Dask waits for without end; ClusterError as for `wait`."""
        answer = in_background(partial(function, *arguments, **named))
        while not answer.done():
            time.sleep(_SOON)
            self._look()
        return answer.result()

    def _look(self) -> None:
        """Raise ClusterError if there has been no worker for too long."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _NOW_AND_THEN
        try:
            states = within(self._timeout, self._states) if self._client.status == "running" else None
        except Exception:  # it does not answer, or what it answers is none
            states = None
        if states and "running" in states:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > self._timeout:
            if states:
                raise ClusterError(
                    f"the workers have had no memory left for {self._timeout:g} seconds, and cannot spill "
                    "to disk: give them more memory, or more room in their local directories"
                )
            what = "scheduler" if states is None else "worker"
            raise ClusterError(f"the cluster has had no {what} for {self._timeout:g} seconds")

    def _states(self) -> set[str]:
        """Return the states of the workers; one that has no memory left is not running."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()  # Dask of 2025 lists five otherwise
        return {worker["status"] for worker in workers}

    def _raise(self, future: Future) -> None:
        if future.status in ("finished", "lost"):  # a result that is lost with its worker is computed again
            return
        if future.status == "cancelled":
            raise ClusterError("the scheduler of the cluster stopped, and the results are lost")
        error = future.exception()
        if isinstance(error, MpuError):
            raise error
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"workers died repeatedly at the same task ({str(future.key).split('-')[0]}), as they do "
                "when memory runs out: give them more, or split the data into smaller files"
            )
        if isinstance(error, MemoryError):
            what = str(error).partition(". ")[0]  # the rest is about functions of Dask
            raise ClusterError(
                f"a worker has too little memory ({what}); give the workers more, or cut the data into smaller parts"
            )
        cause = _system_error(error) or error
        full = isinstance(cause, OSError) and cause.errno in _FULL
        hint = "; is its local directory full, to which it spills?" if full else ""
        raise ClusterError(f"a worker has failed: {type(cause).__name__}: {cause}{hint}")


def _unit(expected: dict[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a unit on a worker. A worker may have joined after `check_workers`."""
    if differs := difference(expected, versions()):
        raise _other_versions(get_worker().address, differs)
    register_sizes()
    try:
        with blas_on_one_thread():  # so that the order of its sums is the same in all processes
            return function(*arguments)
    except MpuError as error:
        # Dask sends the cause of an error too; if that cannot be pickled, it sends only the text of both.
        error.__cause__ = error.__context__ = None
        raise


def _system_error(error: BaseException | None) -> OSError | None:
    """Return the OSError that caused an error; None if there is none."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__ or error.__context__
    return error


def _other_versions(worker: str, differs: str) -> ClusterError:
    return ClusterError(f"worker {worker} has {differs}; install the same versions everywhere")


_PACKAGES = ("numpy", "scipy", "numba")


@cache  # every unit asks, and to read what is installed takes longer than many a unit
def versions() -> dict[str, str]:
    """Return the versions of the numerical packages in this process; "none" of a package that is not installed.

    Processes with other versions may compute other numbers.
    """
    installed = {"mpu": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "none"
    return installed


def difference(here: dict[str, str], there: dict[str, str]) -> str | None:
    """Describe how the versions of a worker (`there`) differ from this process; None if they do not."""
    differing = [f"{name} {there[name]} ({here[name]} here)" for name in here if there[name] != here[name]]
    return ", ".join(differing) or None


def size_of(value: Any) -> int:
    """Return the size of the arrays of a value, in bytes.

    Dask runs a unit where most of its arguments are, counts what it moves, and writes to disk what exceeds the memory
    of a worker. It assumes 56 bytes for objects of unknown size.
    """
    match value:
        case np.ndarray():
            return int(value.nbytes)
        case csr_array() | csc_array():
            return value.data.nbytes + value.indices.nbytes + value.indptr.nbytes
        case list() | tuple():
            return sum(map(size_of, value))
        case _ if is_dataclass(value):
            return sum(size_of(getattr(value, field.name)) for field in fields(value))
    return 0


@cache
def register_sizes() -> None:
    """Register `size_of` with Dask in this process."""
    for kind in (csc_array, csr_array, Dataset, LinearModel, PartRows):
        sizeof.register(kind, size_of)
