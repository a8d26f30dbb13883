"""The interface of a record of finished training steps. `resume` keeps such a record in files."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

# The result of a step: arrays and numbers by name.
Found = dict[str, Any]


def packed(name: str, matrix: np.ndarray | csr_array) -> Found:
    """Return the arrays of a dense or sparse matrix, by name."""
    if isinstance(matrix, np.ndarray):
        return {name: matrix}
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name} {part}": array for part, array in parts.items()}


def unpacked(name: str, found: Found) -> np.ndarray | csr_array:
    """Return the matrix that `packed` has taken apart."""
    if name in found:
        return found[name]
    data, indices, indptr, shape = (found[f"{name} {part}"] for part in ("data", "indices", "indptr", "shape"))
    return csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


class Journal:
    """A record that keeps nothing. A subclass that keeps finished steps overrides `kept` and `keep`."""

    def kept(self, step: str) -> Found | None:
        """Return the result of a step, or None if it is not in the record."""
        return None

    def keep(self, step: str, found: Callable[[], Found]) -> None:
        """Keep the result of a step. `found` is called only if the result is kept, since it may copy much."""

    def take(self, step: str, compute: Callable[[], Found]) -> Found:
        """Return the result of a step from the record, or else compute and keep it."""
        found = self.kept(step)
        if found is None:
            found = compute()
            self.keep(step, lambda: found)
        return found


NO_JOURNAL = Journal()
