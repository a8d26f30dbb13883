"""Connections to Dask clusters, running or started on this machine, and units of work there.

Dask assigns units to workers, keeps results where they were computed, and recomputes lost ones. Each result depends
only on its arguments, so recomputing does not change it.
"""

import logging
import os
import platform
import secrets
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import rmtree
from typing import Any, TypeAlias

from dask import config
from dask.sizeof import sizeof
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed, get_worker
from distributed.comm.core import CommClosedError
from distributed.system import MEMORY_LIMIT
from scipy.sparse import csr_array

from mpu_cli import __version__
from mpu_cli.cluster import Address
from mpu_cli.core.features import Features
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.errors import ClusterError, MpuError
from mpu_cli.runtime.options import Real, checked
from mpu_cli.runtime.run import DEFAULT_RUN, Run, blas_on_one_thread, in_background
from mpu_cli.runtime.signals import finally_call
from mpu_cli.svmlight.reader import Dataset
from mpu_cli.svmlight.streams import NO_ROOM

# Maximum time to leave a cluster, in seconds.
_LEAVE = 10.0
# Maximum number of attempts to remove a folder in which workers still write.
_ATTEMPTS = 100
# Seconds between checks of finished units, and of the cluster itself.
_SOON, _NOW_AND_THEN = 0.01, 1.0
# Represents the result of a unit, which stays where it was computed.
Handle: TypeAlias = Future


class DaskExecutor:
    """Runs units of work, which are plain functions of arrays, on a Dask cluster.

    `timeout`: seconds to wait while the cluster has no workers.
    """

    def __init__(self, client: Client, timeout: float) -> None:
        self._client = client
        self._timeout = timeout
        self._last_seen = time.monotonic()
        self._next_look = 0.0

    def wait_for_worker(self) -> None:
        """Wait for a worker; ClusterError if none arrives."""
        self._awaited(self._client.wait_for_workers, 1)

    @property
    def workers(self) -> int:
        """The number of workers; 0 if the scheduler does not answer."""
        with suppress(Exception):  # as for `_look`; and a client that has lost its scheduler has none to ask
            return len(in_background(self._client.nthreads).result(self._timeout))
        return 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Run a unit on a worker. Arguments may be handles, or lists of them, in place of their results."""
        key = f"{function.__name__}-{secrets.token_hex(8)}"
        return self._client.submit(_unit, versions(), function, *arguments, key=key, pure=False)

    def wait(self, handles: Sequence[Handle], tick: Callable[[], None] = lambda: None) -> None:
        """Wait for units, with a tick for each finished one; raise the error of a failed one.

        Raises ClusterError (the cluster or its workers are gone).
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

    def gather(self, handles: Sequence[Handle], tick: Callable[[], None] = lambda: None) -> list[Any]:
        """Return results; ticks and errors as for `wait`."""
        self.wait(handles, tick)
        try:
            return self._awaited(self._client.gather, list(handles))
        except (CancelledError, CommClosedError, KilledWorker, OSError) as error:
            raise ClusterError(f"the cluster has lost results: {error}") from None

    def _awaited(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a call for which Dask would wait forever; ClusterError as for `wait`."""
        answer = in_background(function, *arguments)
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
        states: set[str] | None = None
        with suppress(Exception):  # it does not answer, or its answer is invalid
            if self._client.status == "running":
                # By default, Dask of 2025 lists only five workers. One without memory left is not running.
                known = in_background(partial(self._client.scheduler_info, n_workers=-1)).result(self._timeout)
                states = {worker["status"] for worker in known["workers"].values()}
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

    def _raise(self, future: Future) -> None:
        if future.status in ("finished", "lost"):  # a result that is lost with its worker is recomputed
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
            what = str(error).partition(". ")[0]  # the rest is about Dask's functions
            raise ClusterError(
                f"a worker has too little memory ({what}); give the workers more, or split the data into smaller files"
            )
        cause: BaseException | None = error
        while cause and not isinstance(cause, OSError):
            cause = cause.__cause__ or cause.__context__
        cause = cause or error
        full = isinstance(cause, OSError) and cause.errno in NO_ROOM
        hint = "; is its local directory full, to which it spills?" if full else ""
        raise ClusterError(f"a worker has failed: {type(cause).__name__}: {cause}{hint}")


def _unit(expected: dict[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a unit on a worker, which must have the same versions: others may compute different numbers."""
    mine = versions()
    if differing := [f"{name} {mine[name]} ({there} here)" for name, there in expected.items() if mine[name] != there]:
        others = ", ".join(differing)
        raise ClusterError(f"worker {get_worker().address} has {others}; install the same versions everywhere")
    try:
        with blas_on_one_thread():  # so that the order of its sums is the same in all processes
            return function(*arguments)
    except MpuError as error:
        # Dask also sends the cause of an error; if that cannot be pickled, it sends only the text of both.
        error.__cause__ = error.__context__ = None
        raise


@cache  # every unit calls this, and reading the installed versions takes longer than many a unit
def versions() -> dict[str, str]:
    """Return the versions of the numerical packages in this process; "none" for a package that is not installed."""
    installed = {"mpu": __version__, "python": platform.python_version(), "numba": "none"}
    for package in ("numpy", "scipy", "numba"):
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def size_of(value: Any) -> int:
    """Return the size of an object, in bytes, from the sizes of its attributes.

    Dask runs a unit where most of its arguments are, counts the bytes that it moves, and writes data beyond the memory
    of a worker to disk. It assumes 56 bytes for objects of unknown size.
    """
    return sum(map(sizeof, vars(value).values()))


for kind in (csr_array, Dataset, Features, LinearModel):
    sizeof.register(kind, size_of)


@contextmanager
def connected(address: Address, run: Run = DEFAULT_RUN) -> Iterator[DaskExecutor]:
    """Connect to a cluster, or start one on this machine.

    Each step of connecting takes at most as long as the timeout, and so does leaving. It is ``mpu.timeout`` in Dask's
    configuration, in seconds: how long to wait for a scheduler and a worker, also whenever there is none later.
    Raises ClusterError (the cluster does not answer, or has no workers).
    """
    timeout = checked(Real(0.1), "mpu.timeout in Dask's configuration", config.get("mpu.timeout", 300.0))
    place = address.scheduler
    with _quiet(), ExitStack() as leaving:
        cluster = _local(address, leaving) if place is None else place
        found = {"scheduler_file": str(place)} if isinstance(place, Path) else {"address": cluster}  # waits for a file
        connect = partial(_Client, **found, timeout=timeout, set_as_default=False)
        try:
            with run.step("connecting to the cluster"):
                client = in_background(connect).result(timeout)
                # Otherwise asyncio prints the state of messages that Dask was about to send when the loop stopped.
                client.loop.asyncio_loop.set_exception_handler(lambda loop, context: None)
                leaving.callback(_leave, client, min(timeout, _LEAVE))
                executor = DaskExecutor(client, timeout)
                executor.wait_for_worker()
        except MpuError:
            raise
        except Exception as error:  # Dask interprets data from other programs as its own messages
            said = str(error) or "what is there is not a Dask scheduler's"
            if isinstance(error, TimeoutError):
                said = f"it did not reply within {timeout:g} seconds"
                if isinstance(place, Path) and not place.exists():
                    said = "there is no such file"
            raise ClusterError(f"no Dask cluster answers {address}: {said}") from None
        yield executor


class _Client(Client):
    def __del__(self) -> None:
        """Do nothing, instead of closing it again and waiting for that: it is closed, or cannot be closed."""


def _leave(what: Client | LocalCluster, seconds: float) -> None:
    with suppress(Exception):  # errors from another program's answers
        in_background(partial(what.close, timeout=seconds)).result(seconds)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's log, and its warnings about large arguments and ports; errors are still raised."""
    names = {name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"}
    with ExitStack() as afterwards, warnings.catch_warnings():
        for log in map(logging.getLogger, {"distributed", *names}):
            afterwards.callback(log.setLevel, log.level)
            log.setLevel(logging.CRITICAL + 1)
        warnings.filterwarnings("ignore", category=UserWarning, module=r"distributed\.")
        yield


def _local(address: Address, leaving: ExitStack) -> LocalCluster:
    """Start workers in this process: kernels release the GIL, and nothing is imported twice, or moved."""
    folder = tempfile.mkdtemp(prefix="mpu-", dir=config.get("temporary-directory"))
    leaving.enter_context(finally_call(partial(_remove, folder)))
    settings = {
        # Dask profiles each thread a hundred times a second, which took a tenth of the training time.
        "distributed.worker.profile.enabled": False,
        # Dask requires its web servers: they listen only on this machine, and have no pages.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with config.set(settings):
        cluster = LocalCluster(
            n_workers=address.workers or os.cpu_count() or 1,
            threads_per_worker=address.threads,
            processes=False,
            memory_limit=MEMORY_LIMIT,  # per worker, as each measures the memory of the whole process
            local_directory=folder,
            dashboard_address="127.0.0.1:0",  # None means a fixed port, which may be taken
            worker_dashboard_address="127.0.0.1:0",  # None means all addresses
            silence_logs="CRITICAL",
        )
    leaving.callback(_leave, cluster, _LEAVE)
    return cluster


def _remove(folder: str) -> None:
    """Remove a folder. If a signal ends the process, workers still write there: what they add is removed as well."""
    for _ in range(_ATTEMPTS):
        rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            return
