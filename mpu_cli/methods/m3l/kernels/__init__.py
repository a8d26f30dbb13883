"""The inner loops of M3L: `numpy_kernel` is the reference, `numba_kernel` its compiled form."""

from types import ModuleType

from mpu_cli.methods.m3l.kernels import numpy_kernel
from mpu_cli.runtime.run import Run


def kernel(run: Run) -> ModuleType:
    """Return the module of the kernels of a run."""
    return run.choose(numpy_kernel, "mpu_cli.methods.m3l.kernels.numba_kernel")
