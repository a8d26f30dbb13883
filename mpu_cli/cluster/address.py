"""The address of a cluster: ``--cluster``. Does not import Dask, so that a wrong value is reported without it."""

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from mpu_cli.core.options import FEW_SHARDS
from mpu_cli.errors import MpuError
from mpu_cli.runtime.options import Whole, option

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor

_LOCAL = re.compile(r"local(?::(?P<workers>[1-9]\d{0,3})(?::(?P<threads>[1-9]\d{0,3}))?)?")
_URL = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:\d{1,5}")
EXPECTED = "local, local:WORKERS, local:WORKERS:THREADS, an address such as tcp://scheduler:8786, or a scheduler file"


@dataclass(frozen=True)
class Address:
    """A running cluster, or one to start on this machine."""

    scheduler: str | None = None  # address of its scheduler
    file: Path | None = None  # scheduler file, which has the address
    workers: int | None = None  # to start in this process; None: one per core
    threads: int = 1  # of each worker

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse the value of ``--cluster``.

        Raises ValueError (it has none of the forms in `EXPECTED`).

        Examples
        --------
        >>> Address.parse("local:4").workers
        4
        >>> Address.parse("tcp://scheduler:8786").scheduler
        'tcp://scheduler:8786'
        """
        if local := _LOCAL.fullmatch(text):
            workers, threads = local["workers"], local["threads"]
            return cls(workers=int(workers) if workers else None, threads=int(threads or 1))
        if _URL.fullmatch(text):
            return cls(scheduler=text)
        if text.endswith(".json"):
            return cls(file=Path(text))
        raise ValueError(f"{text!r} is no cluster: give {EXPECTED}")

    @property
    def is_local(self) -> bool:
        """Whether it is to be started in this process."""
        return self.scheduler is None and self.file is None

    def __str__(self) -> str:
        return "on this machine" if self.is_local else f"at {self.scheduler or self.file}"


@dataclass(frozen=True)
class OnCluster:
    """Options for computing on a cluster."""

    address: Address
    timeout: float = 300.0  # seconds to wait while there is no scheduler or no worker
    # Models that are learned in parallel and averaged (iterative parameter mixing)
    shards: int = option(
        Whole(1, 10_000),
        FEW_SHARDS,
        "On a cluster, learn this many models in parallel and average their weights. More than the default make use of "
        "more workers, and need two rounds, or three. The model depends on this number, not on that of the workers.",
    )

    def connected(self) -> "AbstractContextManager[DaskExecutor]":
        """Connect with the cluster, or start it; errors as for `cluster.connection.connected`."""
        return connection().connected(self.address, self.timeout)


def connection() -> ModuleType:
    """Return the module `cluster.connection`; MpuError where Dask is not installed."""
    try:
        from mpu_cli.cluster import connection
    except ImportError as error:
        raise MpuError(f"a cluster needs Dask; install it with: pip install distributed ({error})") from None
    return connection
