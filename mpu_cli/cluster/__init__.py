"""Training and prediction on the workers of a Dask cluster: the extra `cluster`.

This module contains the address of a cluster, ``--cluster``, and checks of its files; neither needs Dask.
"""

import re
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_cli.errors import InputError, MpuError
from mpu_cli.runtime.files import State, state_of
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.streams import is_url

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor

_LOCAL = re.compile(r"local(?::(?P<workers>[1-9]\d{0,3})(?::(?P<threads>[1-9]\d{0,3}))?)?")
_URL = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:\d{1,5}")
# Names that refer to another file in another process.
_STREAM = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|thread-self|\d+)/fd/\d+")
EXPECTED = "local, local:WORKERS[:THREADS], an address such as tcp://scheduler:8786, or a scheduler file"


@dataclass(frozen=True)
class Address:
    """A running cluster, or a cluster to start on this machine."""

    # The address of its scheduler, or the scheduler file that contains it; None: it is started
    scheduler: str | Path | None = None
    workers: int | None = None  # number to start in this process; None: one per core
    threads: int = 1  # per worker

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse the value of ``--cluster``.

        Raises ValueError (it has none of the forms in `EXPECTED`).

        >>> Address.parse("local:4").workers
        4
        >>> Address.parse("tcp://scheduler:8786").scheduler
        'tcp://scheduler:8786'
        """
        if local := _LOCAL.fullmatch(text):
            workers, threads = local["workers"], local["threads"]
            return cls(workers=int(workers) if workers else None, threads=int(threads or 1))
        if _URL.fullmatch(text):
            return cls(text)
        if text.endswith(".json"):
            return cls(Path(text))
        raise ValueError(f"{text!r} is not a cluster: give {EXPECTED}")

    def __str__(self) -> str:
        return "on this machine" if self.scheduler is None else f"at {self.scheduler}"


def connected(address: Address, run: Run = DEFAULT_RUN) -> "AbstractContextManager[DaskExecutor]":
    """Connect to a cluster, or start it: `cluster.dask_executor.connected`. Only this imports Dask.

    Raises MpuError (Dask is not installed), or as for that function.
    """
    try:
        from mpu_cli.cluster import dask_executor
    except ImportError as error:
        raise MpuError(f"a cluster needs Dask; install it with: pip install distributed ({error})") from None
    return dask_executor.connected(address, run)


def refuse_other(path: str, state: State | None) -> None:
    """Raise InputError if a file has changed since the work began, or is missing on a worker."""
    now = state_of(path)
    if state is not None and now is None:
        raise InputError(path, "cannot be found by a worker; all workers must be able to read it under this name")
    if now != state:
        raise InputError(path, "has changed since the work began; start again")


def absolute(source: str) -> str:
    """Return the absolute path of a file, or a URL unchanged.

    Raises InputError (it is a pipe, or a stream of this process, which a worker cannot read, or not twice).
    """
    if is_url(source):
        return source
    path = Path(source).absolute()
    with suppress(OSError):  # reading it raises the error
        if _STREAM.fullmatch(str(path)) or path.is_fifo():
            why = "is a stream, which workers of a cluster cannot read; write it to a file first"
            raise InputError(source, why)
    return str(path)
