"""Training and prediction on the workers of a Dask cluster: the extra `cluster`."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from mpu_cli.cluster.address import Address
from mpu_cli.errors import MpuError

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor


def connected(address: Address) -> "AbstractContextManager[DaskExecutor]":
    """Connect with a cluster, or start it: `cluster.connection.connected`. Only this imports Dask.

    Raises MpuError (Dask is not installed), or as that.
    """
    try:
        from mpu_cli.cluster import connection
    except ImportError as error:
        raise MpuError(f"a cluster needs Dask; install it with: pip install distributed ({error})") from None
    return connection.connected(address)
