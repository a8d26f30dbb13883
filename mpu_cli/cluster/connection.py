"""Connections to Dask clusters: a running one, or one started on this machine."""

import asyncio
import logging
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import cast

from dask import config
from distributed import Client, LocalCluster, Security
from distributed.comm.core import connect
from distributed.core import send_recv
from distributed.system import MEMORY_LIMIT

from mpu_cli.cluster import Address
from mpu_cli.cluster.dask_executor import DaskExecutor
from mpu_cli.errors import ClusterError, MpuError
from mpu_cli.runtime.files import open_regular
from mpu_cli.runtime.options import Real, checked
from mpu_cli.runtime.parallel import within
from mpu_cli.runtime.signals import finally_call
from mpu_cli.runtime.untrusted import json_value

# Protocols that need certificates.
_ENCRYPTED = ("tls://", "wss://")
# Of the file of a scheduler, at most.
_MOST_BYTES = 1 << 20
# Seconds between checks whether a file exists.
_SOON = 0.01
# Longest time to leave a cluster, in seconds.
_LEAVE = 10.0


@contextmanager
def connected(address: Address) -> Iterator[DaskExecutor]:
    """Connect to a cluster, or start one on this machine.

    Each step of connecting takes as long as the timeout at most, whatever it is that answers, and so does leaving.
    Raises ClusterError (the cluster does not answer, has no workers, or a worker has other versions of the numerical
    packages).
    """
    configured = config.get("mpu.timeout", 300.0)
    timeout = address.timeout or checked(Real(0.1), "mpu.timeout in Dask's configuration", configured)
    with _quiet(), ExitStack() as leaving:
        cluster: str | LocalCluster
        if address.is_local:
            cluster = leaving.enter_context(_local(address))
        else:
            cluster = address.scheduler or _address_in(cast(Path, address.file), timeout)
            _refuse_unreachable(cluster, timeout)
        try:
            client = within(timeout, partial(_Client, cluster, timeout=timeout, set_as_default=False))
        except Exception as error:  # Dask takes what a stranger sends for messages of its own
            raise ClusterError(f"no cluster answers {address}: {_reason(error, timeout)}") from None
        leaving.callback(_leave, client, min(timeout, _LEAVE))
        executor = DaskExecutor(client, timeout)
        try:
            executor.check_workers()
        except MpuError:
            raise
        except Exception as error:  # as above
            raise ClusterError(f"no Dask cluster answers: {_reason(error, timeout)}") from None
        yield executor


class _Client(Client):
    def __del__(self) -> None:
        """Do nothing, in place of closing it once more, and waiting for that: it is closed, or cannot be."""


def _leave(what: Client | LocalCluster, seconds: float) -> None:
    with suppress(Exception):  # whatever a stranger answers even now
        within(seconds, partial(what.close, timeout=seconds))


def _address_in(file: Path, timeout: float) -> str:
    """Return the address in a scheduler file; wait for it until the timeout."""
    end = time.monotonic() + timeout
    while True:
        problem = "is not a file that a Dask scheduler wrote"
        try:
            with open_regular(file.resolve()) as stream:
                values = json_value(stream.read(_MOST_BYTES))
            if isinstance(values, dict) and isinstance(values.get("address"), str):
                return values["address"]
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
        except ValueError:
            pass  # no regular file, not JSON, or only half of it yet
        if time.monotonic() > end:
            raise ClusterError(f"{file}: {problem}")
        time.sleep(_SOON)


def _refuse_unreachable(scheduler: str, timeout: float) -> None:
    """Raise ClusterError if no scheduler answers; a `Client` alone would retry for long."""

    async def reach() -> None:
        answer = await connect(scheduler, timeout=timeout, **Security().get_connection_args("client"))
        try:
            await send_recv(answer, op="identity")
        finally:
            answer.abort()

    try:
        within(timeout, lambda: asyncio.run(asyncio.wait_for(reach(), timeout)))
    except Exception as error:  # Dask takes what a stranger sends for messages of its own
        if isinstance(error, TypeError) and scheduler.startswith(_ENCRYPTED):  # how it says that it has no certificates
            raise ClusterError(
                f"{scheduler} cannot be reached; the configuration of Dask must name certificates for TLS: {error}"
            ) from None
        raise ClusterError(f"no scheduler answers at {scheduler}: {_reason(error, timeout)}") from None


def _reason(error: Exception, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"it did not reply within {timeout:g} seconds"
    said = str(error) or type(error).__name__
    if isinstance(error, OSError | ValueError | OverflowError):
        return said
    return f"its reply is not that of a Dask scheduler ({said})"


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the log of Dask, and its warnings about large arguments and ports; errors are raised all the same."""
    logs = [logging.getLogger("distributed")]
    for name in logging.root.manager.loggerDict:
        if name.startswith("distributed.") and logging.getLogger(name).level:  # which does not heed that of the first
            logs.append(logging.getLogger(name))
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning, module=r"distributed\.")
            yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


@contextmanager
def _local(address: Address) -> Iterator[LocalCluster]:
    """Start workers in this process: kernels release the GIL, and nothing is imported twice, or moved."""
    folder = tempfile.mkdtemp(prefix="mpu-", dir=config.get("temporary-directory"))
    settings = {
        # Dask looks a hundred times a second at what each thread does, which took a tenth of the time of a training.
        "distributed.worker.profile.enabled": False,
        # Dask cannot do without its servers of web pages: they listen on this machine alone, and have no pages.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with finally_call(partial(rmtree, folder, ignore_errors=True)):
        with config.set(settings):
            cluster = LocalCluster(
                n_workers=address.workers or os.cpu_count() or 1,
                threads_per_worker=address.threads,
                processes=False,
                memory_limit=MEMORY_LIMIT,  # of each, as they measure the memory of the process, which is that of all
                local_directory=folder,
                dashboard_address="127.0.0.1:0",  # None means a fixed port, which may be taken
                worker_dashboard_address="127.0.0.1:0",  # None means all addresses
                silence_logs="CRITICAL",
            )
        try:
            yield cluster
        finally:
            _leave(cluster, _LEAVE)
