"""The inner loops of PU-SGD and of dual coordinate descent, in NumPy, which is the reference, and the same compiled."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from types import ModuleType

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Columns, entry_rows, only_entries
from mpu_cli.core.loss import Gradient
from mpu_cli.core.loss.pu_logistic import pu_gradient
from mpu_cli.runtime.run import Run

SIMD = 8  # 32-bit numbers in a register
# From this share of weights in a row on, to add all of it takes less time than to add its weights one by one: frequent
# features have weights for many labels, and most of the products are theirs. It takes twice the memory at most.
_DENSE_FROM = 0.25


@dataclass(frozen=True)
class WeightRows:
    """Sparse weights of D features and q labels, arranged for the prediction of many labels. Made by `of`."""

    sparse: csr_array  # float32, shape (D, q): all weights; or none, where all rows are dense
    dense: np.ndarray  # float32, shape (m, q): the rows with many weights
    place: np.ndarray  # int32, shape (D,): where a row is among the dense ones; -1 for the others

    @classmethod
    def of(cls, weights: np.ndarray | csr_array) -> "WeightRows":
        """Take weights of shape (D, q)."""
        D, q = weights.shape
        if isinstance(weights, np.ndarray):
            return cls(csr_array((D, q), dtype=np.float32), weights, np.arange(D, dtype=np.int32))
        many = np.flatnonzero(np.diff(weights.indptr) >= _DENSE_FROM * q)
        place = np.full(D, -1, np.int32)
        place[many] = np.arange(len(many), dtype=np.int32)
        return cls(weights, weights[many].toarray(), place)

    def product(self, matrix: csr_array) -> np.ndarray:
        """Return the product of features (n x D) and weights: float32, n x q."""
        scores = (matrix @ self._rest).toarray()
        if len(self.dense):
            scores += self._columns.of(matrix) @ self.dense
        return scores

    @cached_property
    def _columns(self) -> Columns:
        """The features of the dense rows."""
        return Columns(np.flatnonzero(self.place >= 0).astype(np.int32), len(self.place))

    @cached_property
    def _rest(self) -> csr_array:
        """The weights that are in no dense row."""
        return only_entries(self.sparse, self.place[entry_rows(self.sparse)] < 0)


def kernel(run: Run) -> ModuleType:
    """Return the module of a run that has PU-SGD, dual coordinate descent, predictions and mini-batches."""
    return import_module(f"mpu_cli.core.kernels.{'numba' if run.compiled else 'numpy'}_kernel")


def descent(run: Run, gradient: Gradient) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return PU-SGD of a run on the gradient of a loss: NumPy's, unless that is the PU loss, whose is compiled."""
    if gradient is pu_gradient:
        descend: Callable[..., tuple[np.ndarray, np.ndarray]] = kernel(run).descend
        return descend
    return partial(import_module("mpu_cli.core.kernels.numpy_kernel").descend, gradient=gradient)
