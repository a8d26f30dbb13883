"""The inner loops of the baselines: `numpy_kernel` is the reference, `numba_kernel` the same compiled."""

from types import ModuleType

from mpu_cli import kernels
from mpu_cli.baselines.kernels import numpy_kernel


def kernel() -> ModuleType:
    """Return the module of the kernels that run in this process."""
    if not kernels.compiled():
        return numpy_kernel
    from mpu_cli.baselines.kernels import numba_kernel

    return numba_kernel
