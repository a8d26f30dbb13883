"""Checkpoints: the results of finished steps of a training. `checkpoint_files` keeps them in files."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

# The result of a step: arrays and numbers by name.
Checkpoint = dict[str, Any]


def packed(name: str, matrix: np.ndarray | csr_array) -> Checkpoint:
    """Return the arrays of a dense or sparse matrix, by name."""
    if isinstance(matrix, np.ndarray):
        return {name: matrix}
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name} {part}": array for part, array in parts.items()}


def unpacked(name: str, checkpoint: Checkpoint) -> np.ndarray | csr_array:
    """Return the matrix that `packed` has taken apart."""
    if name in checkpoint:
        return checkpoint[name]
    data, indices, indptr, shape = (checkpoint[f"{name} {part}"] for part in ("data", "indices", "indptr", "shape"))
    return csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


class Checkpoints:
    """Checkpoints that are not kept. A subclass that keeps them overrides `load` and `save`."""

    def load(self, step: str) -> Checkpoint | None:
        """Return the result of a step, or None if there is no checkpoint of it."""
        return None

    def save(self, step: str, result: Callable[[], Checkpoint]) -> None:
        """Keep the result of a step. `result` is called only if it is kept, since it may copy much."""

    def load_or_compute(self, step: str, compute: Callable[[], Checkpoint]) -> Checkpoint:
        """Return the result of a step from its checkpoint, or else compute and save it."""
        result = self.load(step)
        if result is None:
            result = compute()
            self.save(step, lambda: result)
        return result


NO_CHECKPOINTS = Checkpoints()
