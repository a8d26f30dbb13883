"""The inner loops of PU-SGD and of dual coordinate descent, in NumPy, which is the reference, and the same compiled."""

from types import ModuleType

from mpu_cli.core.kernels import numpy_dual, numpy_kernel
from mpu_cli.runtime.run import Run

SIMD = 8  # 32-bit numbers in a register


def kernel(run: Run) -> ModuleType:
    """Return the module of a run that has PU-SGD, predictions and mini-batches."""
    return run.choose(numpy_kernel, "mpu_cli.core.kernels.numba_kernel")


def dual_kernel(run: Run) -> ModuleType:
    """Return the module of a run that has dual coordinate descent, on mini-batches of `kernel`."""
    return run.choose(numpy_dual, "mpu_cli.core.kernels.numba_dual")
