"""The inner loops of PU-SGD and of dual coordinate descent, in NumPy, which is the reference, and compiled."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import ModuleType

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.loss import Gradient
from mpu_cli.core.loss.pu_logistic import pu_gradient
from mpu_cli.runtime.run import Run

SIMD = 8  # 32-bit numbers in a register
# An instance whose gradients are all below this in absolute value hardly moves the weights of a block of labels.
# If gradients are subsampled, one in this many of these instances moves them, by this many times its gradients.
SMALL_GRADIENT, THINNED_TO_ONE_IN = 0.01, 8
# The largest 2 C times the weight of a cell: larger values might overflow in 32 bits.
LARGEST_COST = 1e30


def kernel(run: Run) -> ModuleType:
    """Return the run's module for PU-SGD, dual coordinate descent and predictions."""
    return import_module(f"mpu_cli.core.kernels.{'numba' if run.compiled else 'numpy'}_kernel")


def descent(run: Run, gradient: Gradient) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return the run's PU-SGD function for a loss gradient; only that for the PU loss may be compiled."""
    if gradient is pu_gradient:
        return kernel(run).descend
    return partial(import_module("mpu_cli.core.kernels.numpy_kernel").descend, gradient=gradient)


# With more instances than this, batches are rebuilt at each visit: few epochs are needed, and storing the batches would
# take several times the memory of the data.
_KEPT_INSTANCES = 100_000


@dataclass(frozen=True)
class Batch:
    """A mini-batch of B instances."""

    rows: np.ndarray  # int, shape (B,): the numbers of the instances in the features
    columns: np.ndarray  # int, shape (u,): the sparse features that occur in the batch
    sparse: csr_array  # shape (B, u): their values
    transposed: csr_array  # shape (u, B)
    dense: np.ndarray  # float32, shape (B, d)

    def product(self, v: np.ndarray) -> np.ndarray:
        """Return the product of the instances and weights (D + d rows): float32, shape (B, q)."""
        return self.sparse @ v[self.columns] + self.dense @ v[len(v) - self.dense.shape[1] :]

    def move(self, v: np.ndarray, by: np.ndarray, step: float = 1.0) -> None:
        """Add to weights, in place, the instances times a number for each instance and label, times a step."""
        v[self.columns] += np.float32(step) * (self.transposed @ by)
        v[len(v) - self.dense.shape[1] :] += np.float32(step) * (self.dense.T @ by)


@dataclass(frozen=True)
class Batches:
    """Instances `rows` of `features` in mini-batches of `size`, in that order."""

    features: Features
    rows: np.ndarray
    size: int
    _kept: dict[int, Batch] = field(default_factory=dict)

    def __len__(self) -> int:
        return -(-len(self.rows) // self.size)

    def __getitem__(self, b: int) -> Batch:
        if b in self._kept:
            return self._kept[b]
        rows = self.rows[b * self.size : (b + 1) * self.size]
        part = self.features[rows]
        columns, local = np.unique(part.sparse.indices, return_inverse=True)
        shape = (len(rows), len(columns))
        sparse = csr_array((part.sparse.data, local.astype(np.int32), part.sparse.indptr), shape=shape)
        batch = Batch(rows, columns, sparse, sparse.T.tocsr(), part.dense)
        if len(self.rows) <= _KEPT_INSTANCES:
            self._kept[b] = batch
        return batch
