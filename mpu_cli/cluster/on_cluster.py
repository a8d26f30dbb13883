"""Options of computing on a cluster, and the connection to it: only this imports Dask, when a cluster is used."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from mpu_cli.cluster.address import Address
from mpu_cli.errors import MpuError

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor


@dataclass(frozen=True)
class OnCluster:
    """Options for computing on a cluster."""

    address: Address
    timeout: float | None = None  # seconds to wait while there is no scheduler or worker; None: as Dask is configured

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
