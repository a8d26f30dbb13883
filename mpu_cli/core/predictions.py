"""Predictions of n instances and q labels: a dense array, or, with many labels, the largest of each instance.

Of a hundred thousand labels, all but a few are improbable for an instance. A row of a sparse matrix keeps its `most`
largest predictions that reach `least`; a label that is not kept counts as predicted with 0, and is never predicted.

Held-out predictions know their source models, and how many annotations of each label each of these has learned from.
How far a prediction is right depends on that number, so labels are in strata by it, and what is estimated out of fold
is estimated in each stratum (docs/method.md, "Strata of labels").
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows, only_entries

# The fewest annotations of the labels of each stratum. In the first one are the labels that the model has never seen.
FEWEST = (0, 1, 2, 5, 20)
UNSEEN = 0


def strata_of(annotations: np.ndarray) -> np.ndarray:
    """Return the stratum of labels by how often they were annotated: int8, of the same shape."""
    return (np.searchsorted(FEWEST, annotations, side="right") - 1).astype(np.int8)


@dataclass(frozen=True)
class SourceModels:
    """Which model has predicted each of m instances, and what it had learned from."""

    of_instances: np.ndarray  # int, shape (m,): the number of the model
    annotations: np.ndarray  # int, shape (models, q): how many annotations of each label it has learned from

    @classmethod
    def of_folds(
        cls, predicted: Sequence[np.ndarray], training: Sequence[np.ndarray], positives: csr_array
    ) -> "SourceModels":
        """Return the models of instances, in ascending order.

        `predicted`, `training`: the instances that each model has predicted, and learned from.
        """
        numbers = np.repeat(np.arange(len(predicted)), [len(rows) for rows in predicted])
        annotations = np.array([count_positives(positives[rows]) for rows in training])
        return cls(numbers[np.argsort(np.concatenate(predicted), kind="stable")], annotations)

    @cached_property
    def strata(self) -> np.ndarray:
        """The stratum of each label, for each model: int8, shape (models, q)."""
        return strata_of(self.annotations)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the strata of a subset of the cells."""
        return self.strata[self.of_instances[rows], columns]


def count_positives(positives: csr_array) -> np.ndarray:
    """Return how many instances have each label: ndarray of int, shape (q,)."""
    return np.bincount(positives.indices, weights=positives.data != 0, minlength=positives.shape[1]).astype(np.int64)


# More labels than this are many: dense predictions of them take more time and memory than they are worth
# (docs/choices/many-labels.md, "Many labels").
FEW_LABELS = 500
# The least positive number of full precision in 32 bits.
LEAST = float(np.finfo(np.float32).tiny)
# With many labels, predictions below this are no features of the next level.
STACKED_FROM = 0.01
# Labels of an instance that are kept, at least, and by how many more than most of the instances have.
_FEWEST_KEPT, _ROOM = 20, 2

Predictions: TypeAlias = np.ndarray | csr_array
# Labels that are learned together: a range of them, or their numbers.
Block: TypeAlias = slice | np.ndarray


@dataclass(frozen=True)
class Top:
    """How many of the largest predictions of an instance are kept, and from which probability on."""

    most: int = _FEWEST_KEPT  # how many, the largest; of equals the first
    least: float = 0.001  # at least of this probability

    @classmethod
    def enough_for(cls, sizes: np.ndarray, q: int, c: float) -> "Top":
        """Keep what instances may have of q labels, from their numbers of annotations, a share c of the true labels."""
        usual = np.quantile(sizes, 0.99) / c
        return cls(max(_FEWEST_KEPT, min(int(np.ceil(_ROOM * usual)), q)))

    def of_rows(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> csr_array:
        """Keep the largest of each row among some cells.

        `rows`, `columns`: int, shape (m,): where the cells are, each once.
        `values`: float32, shape (m,): none is below `least`.
        Returns: float32, shape (n, q): columns of a row in ascending order.

        >>> cells = np.array([0, 0, 0, 1]), np.array([4, 2, 0, 3]), np.array([0.5, 0.2, 0.5, 0.1], np.float32)
        >>> kept = Top(most=2).of_rows(*cells, (2, 5))
        >>> kept.indices.tolist(), kept.indptr.tolist()
        ([0, 4, 3], [0, 2, 3])
        """
        order = np.lexsort((columns, -values, rows))
        count = np.bincount(rows, minlength=shape[0])
        first = np.cumsum(count) - count
        kept = order[np.arange(len(rows)) - first[rows[order]] < self.most]
        indptr = np.concatenate([[0], np.cumsum(np.minimum(count, self.most))])
        top = csr_array((values[kept], columns[kept].astype(np.int32), indptr), shape=shape)
        top.sort_indices()
        return top

    def of_dense(self, predictions: np.ndarray) -> csr_array:
        """Keep the largest of each row of an array (n x q, float32): csr_array of float32, columns of a row ascend.

        >>> kept = Top(most=2, least=0.1).of_dense(np.array([[0.5, 0.2, 0.5, 0.5], [0, 0, 0.3, 0]], np.float32))
        >>> kept.indices.tolist(), kept.indptr.tolist()
        ([0, 2, 2], [0, 2, 3])
        """
        kept = predictions >= np.float32(self.least)
        q = predictions.shape[1]
        if self.most < q:
            last = np.partition(predictions, q - self.most, axis=1)[:, q - self.most, None]
            above, equal = predictions > last, predictions == last
            kept &= above | (equal & (np.cumsum(equal, axis=1) <= self.most - above.sum(axis=1, keepdims=True)))
        rows, columns = np.nonzero(kept)
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return csr_array((predictions[rows, columns], columns, indptr), shape=predictions.shape)


@dataclass(frozen=True)
class CellList:
    """Cells, in any order. A subclass adds an array, with a value for each cell."""

    # `rows`, `columns`: int64, shape (m,): instances and labels
    rows: np.ndarray
    columns: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: np.ndarray | slice) -> Self:
        return type(self)(*(of_cells[index] for of_cells in vars(self).values()))

    def joined(self, others: Self) -> Self:
        """Return these, then others."""
        return type(self)(*map(np.concatenate, zip(vars(self).values(), vars(others).values(), strict=True)))


@dataclass(frozen=True)
class Cells(CellList):
    """Cells with the probability that their label is true."""

    probabilities: np.ndarray  # float32, shape (m,)

    @classmethod
    def none(cls) -> "Cells":
        """Return no cells."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))

    def best(self, most: int | None = None) -> "Cells":
        """Return the most probable cells, at most `most`, in descending order; equal ones in their order."""
        return self[np.argsort(-self.probabilities, kind="stable")[:most]]


def f1_score(true_positives: Any, predicted: Any, true: Any) -> Any:
    """Return F1 of numbers of labels: twice those that are predicted and true, by those predicted and those true.

    Without either it is 0.
    """
    return 2 * true_positives / np.maximum(predicted + true, 1)


def values_at(matrix: Predictions, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return some cells of a matrix, dense or sparse with sorted rows; 0 where none is stored."""
    if isinstance(matrix, np.ndarray):
        return matrix[rows, columns]
    q = matrix.shape[1]
    keys = entry_rows(matrix) * q + matrix.indices
    wanted = np.asarray(rows, np.int64) * q + columns
    place = np.searchsorted(keys, wanted)
    there = np.append(keys, -1)[place] == wanted
    zero = np.zeros(1, matrix.dtype)
    return np.where(there, np.append(matrix.data, zero)[place], zero)


def blocks(predictions: Predictions, size: int = 1 << 20) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Yield instances, labels and predictions of cells that are kept, as arrays that broadcast and may be written to.

    Dense ones come a block of instances of some `size` in cells after another, sparse ones all together.
    """
    if not isinstance(predictions, np.ndarray):
        yield entry_rows(predictions), predictions.indices, predictions.data
        return
    n, q = predictions.shape
    for start in range(0, n, step := max(1, size // q)):
        rows = np.arange(start, min(start + step, n))
        yield rows[:, None], np.arange(q), predictions[rows[0] : rows[-1] + 1]


def by_label(predictions: Predictions) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Return what gives the instances of a label whose predictions are kept, and these predictions."""
    if isinstance(predictions, np.ndarray):
        return lambda k: (np.arange(len(predictions)), predictions[:, k])
    columns = predictions.tocsc()
    return lambda k: tuple(part[slice(*columns.indptr[k : k + 2])] for part in (columns.indices, columns.data))


def at_least(predictions: csr_array, least: float) -> csr_array:
    """Return the predictions that reach some probability."""
    return only_entries(predictions, predictions.data >= np.float32(least))


def over(scores: csr_array, least: np.ndarray | np.float32) -> csr_array:
    """Return the labels with a score of at least `least`, one for all entries or one each: shape (n, Q), bool."""
    reach = csr_array((scores.data >= least, scores.indices, scores.indptr), shape=scores.shape)
    return only_entries(reach, reach.data)
