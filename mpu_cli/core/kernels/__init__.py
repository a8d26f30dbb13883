"""The inner loops of PU-SGD and of dual coordinate descent, in NumPy, which is the reference, and the same compiled."""

from importlib import import_module
from types import ModuleType

from mpu_cli.runtime.run import Run

SIMD = 8  # 32-bit numbers in a register


def kernel(run: Run) -> ModuleType:
    """Return the module of a run that has PU-SGD, dual coordinate descent, predictions and mini-batches."""
    return import_module(f"mpu_cli.core.kernels.{'numba' if run.compiled else 'numpy'}_kernel")
