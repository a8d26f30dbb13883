"""The inner loops of M3L: `numpy_kernel` is the reference, `numba_kernel` the same compiled."""

from types import ModuleType

from mpu_cli.methods.m3l.kernels import numpy_kernel
from mpu_cli.runtime import kernels


def kernel() -> ModuleType:
    """Return the module of the kernels that run in this process."""
    if not kernels.compiled():
        return numpy_kernel
    from mpu_cli.methods.m3l.kernels import numba_kernel

    return numba_kernel
