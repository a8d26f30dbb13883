"""The inner loops of PU-SGD and of dual coordinate descent, in NumPy, which is the reference, and the same compiled."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType

import numpy as np

from mpu_cli.core.kernels import numpy_kernel
from mpu_cli.core.loss import Function
from mpu_cli.core.loss.pu_logistic import pu_gradient
from mpu_cli.runtime.run import Run

SIMD = 8  # 32-bit numbers in a register


def kernel(run: Run) -> ModuleType:
    """Return the module of a run that has PU-SGD, dual coordinate descent, predictions and mini-batches."""
    return import_module("mpu_cli.core.kernels.numba_kernel") if run.compiled else numpy_kernel


def descent(run: Run, gradient: Function) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return PU-SGD of a run on the gradient of a loss: NumPy's, unless that is the PU loss, whose is compiled."""
    return kernel(run).descend if gradient is pu_gradient else partial(numpy_kernel.descend, gradient=gradient)
