"""The inner loops: `numpy_kernel` is the reference, `numba_kernel` the same compiled."""

from types import ModuleType

from mpu_cli.core.kernels import numpy_kernel
from mpu_cli.runtime.run import Run

SIMD = 8  # 32-bit numbers in a register


def kernel(run: Run) -> ModuleType:
    """Return the module of the kernels of a run."""
    return run.choose(numpy_kernel, "mpu_cli.core.kernels.numba_kernel")
