"""Predictions for n instances and q labels: a dense array, or, with many labels, the largest ones of each instance.

Among a hundred thousand labels, all but a few are improbable for an instance. A row of a sparse matrix keeps its `most`
largest predictions that reach `least`; labels that are not kept count as predicted with 0, and are never predicted.

Held-out predictions record their source models, and the number of annotations of each label that each model learned
from. The accuracy of a prediction depends on that number, so labels are divided into strata by it, and out-of-fold
estimates are made in each stratum (docs/method.md, "Strata of labels").

Predictions and models that would not fit in memory are refused before the work begins.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows, only_entries, with_values
from mpu_cli.errors import DataError, TooLargeError
from mpu_cli.runtime.run import available_memory, machine_memory

# The fewest annotations of labels in each stratum. The first contains the labels that the model has never seen.
FEWEST = (0, 1, 2, 5, 20)
UNSEEN = 0


def strata_of(annotations: np.ndarray) -> np.ndarray:
    """Return the strata of labels from their numbers of annotations: int8, of the same shape."""
    return (np.searchsorted(FEWEST, annotations, side="right") - 1).astype(np.int8)


@dataclass(frozen=True)
class SourceModels:
    """The model that predicted each of m instances, and how many annotations it had learned from."""

    of_instances: np.ndarray  # int, shape (m,): the number of the model
    strata: np.ndarray  # int8, shape (models, q): the stratum of each label, for each model

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the strata of the given cells."""
        return self.strata[self.of_instances[rows], columns]


def count_positives(positives: csr_array) -> np.ndarray:
    """Return how many instances have each label: ndarray of int, shape (q,)."""
    return np.bincount(positives.indices, weights=positives.data != 0, minlength=positives.shape[1]).astype(np.int64)


# More labels than this are many: dense predictions of them would take more time and memory than they are worth
# (docs/choices/many-labels.md, "Many labels").
FEW_LABELS = 500
# The smallest positive number with full precision in 32 bits.
LEAST = float(np.finfo(np.float32).tiny)
# With many labels, predictions below this are not used as features of the next level.
_STACKED_FROM = 0.01
# The fewest labels kept for an instance, and how many times as many are kept as most instances have.
_FEWEST_KEPT, _ROOM = 20, 2

Predictions: TypeAlias = np.ndarray | csr_array
# Labels that are learned together: a range, or their numbers.
Block: TypeAlias = slice | np.ndarray


@dataclass(frozen=True)
class Top:
    """Which of the largest predictions of an instance are kept."""

    most: int = _FEWEST_KEPT  # at most this many, the largest ones; the first ones in case of ties
    least: float = 0.001  # with at least this probability

    @classmethod
    def enough_for(cls, sizes: np.ndarray, q: int, c: float) -> "Top":
        """Keep enough of q labels, given instances' numbers of annotations, which are a share c of the true labels."""
        usual = np.quantile(sizes, 0.99) / c
        return cls(max(_FEWEST_KEPT, min(int(np.ceil(_ROOM * usual)), q)))

    def of_dense(self, predictions: np.ndarray) -> csr_array:
        """Keep the largest in each row of an array (n x q, float32): csr_array of float32, columns of a row ascend.

        >>> kept = Top(most=2, least=0.1).of_dense(np.array([[0.5, 0.2, 0.5, 0.5], [0, 0, 0.3, 0]], np.float32))
        >>> kept.indices.tolist(), kept.indptr.tolist()
        ([0, 2, 2], [0, 2, 3])
        """
        cells = np.nonzero(self.among(predictions))
        return csr_array((predictions[cells], cells), shape=predictions.shape)

    def among(self, predictions: np.ndarray) -> np.ndarray:
        """Return which cells of an array are kept: bool, n x q."""
        kept: np.ndarray = predictions >= np.float32(self.least)
        q = predictions.shape[1]
        if self.most < q:
            last = np.partition(predictions, q - self.most, axis=1)[:, q - self.most, None]
            above, equal = predictions > last, predictions == last
            kept &= above | (equal & (np.cumsum(equal, axis=1) <= self.most - above.sum(axis=1, keepdims=True)))
        return kept

    def of_sparse(self, predictions: csr_array) -> csr_array:
        """Keep the largest in each row of a matrix, however small; columns of a row ascend."""
        kept = Cells(entry_rows(predictions), predictions.indices, predictions.data).best_of_instances(self.most)
        return csr_array((kept.probabilities, (kept.rows, kept.columns)), shape=predictions.shape)


@dataclass(frozen=True)
class CellList:
    """Cells, in any order. A subclass adds arrays with one value per cell."""

    # `rows`, `columns`: int64, shape (m,): instances and labels
    rows: np.ndarray
    columns: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: np.ndarray | slice) -> Self:
        return type(self)(*(of_cells[index] for of_cells in vars(self).values()))

    def joined(self, others: Self) -> Self:
        """Return these cells followed by the others."""
        return type(self)(*map(np.concatenate, zip(vars(self).values(), vars(others).values(), strict=True)))


@dataclass(frozen=True)
class Cells(CellList):
    """Cells with the probability that their label is true."""

    probabilities: np.ndarray  # float32, shape (m,)

    def best(self, most: int | None = None) -> "Cells":
        """Return the most probable cells, at most `most`, in descending order; ties keep their order."""
        return self[np.argsort(-self.probabilities, kind="stable")[:most]]

    def best_of_instances(self, most: int) -> "Cells":
        """Return the most probable cells of each instance, at most `most`; rows ascend, and cells keep their order."""
        order = np.lexsort((-self.probabilities, self.rows))
        first = np.searchsorted(self.rows, self.rows)
        return self[np.sort(order[np.arange(len(self)) - first < most])]


def f1_score(true_positives: Any, predicted: Any, true: Any) -> Any:
    """Return the F1: twice the number of true positives, divided by the numbers of predicted and of true labels.

    It is 0 if both are 0.
    """
    return 2 * true_positives / np.maximum(predicted + true, 1)


def values_at(matrix: Predictions, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the given cells of a matrix as an array, also of none from a sparse one, where SciPy returns a matrix."""
    return matrix[rows, columns] if len(rows) else np.zeros(0, matrix.dtype)


def dense(predictions: Predictions) -> np.ndarray:
    """Return predictions of all labels as an array; those that are not kept are 0."""
    return predictions if isinstance(predictions, np.ndarray) else predictions.toarray()


def stored(predictions: Predictions) -> csr_array:
    """Return predictions as a sparse matrix that stores all of them, also those that are 0."""
    if not isinstance(predictions, np.ndarray):
        return predictions
    n, q = predictions.shape
    return csr_array((predictions.ravel(), np.tile(np.arange(q), n), np.arange(n + 1) * q), shape=(n, q))


def blocks(predictions: Predictions, size: int = 1 << 20) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Yield instances, labels and predictions of the kept cells, as arrays that broadcast and may be written to.

    They come in blocks of instances, with about `size` cells if dense; sparse ones have fewer.
    """
    n, q = predictions.shape
    step = max(1, size // (q if isinstance(predictions, np.ndarray) else min(q, FEW_LABELS)))
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        if isinstance(predictions, np.ndarray):
            yield rows[:, None], np.arange(q), predictions[start : start + step]
        else:
            ends = predictions.indptr[start : start + step + 1]
            entries = slice(ends[0], ends[-1])
            yield np.repeat(rows, np.diff(ends)), predictions.indices[entries], predictions.data[entries]


def by_label(predictions: Predictions) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Return a function that maps a label to the instances whose predictions of it are kept, and these predictions."""
    if isinstance(predictions, np.ndarray):
        return lambda k: (np.arange(len(predictions)), predictions[:, k])
    columns = predictions.tocsc()
    return lambda k: tuple(part[slice(*columns.indptr[k : k + 2])] for part in (columns.indices, columns.data))


def as_features(predictions: csr_array) -> csr_array:
    """Return the predictions that are used as features of the next level, with many labels."""
    return only_entries(predictions, predictions.data >= np.float32(_STACKED_FROM))


def over(scores: csr_array, least: np.ndarray | np.float32) -> csr_array:
    """Return which entries have a score of at least `least`, a number or one per entry: bool, shape (n, Q)."""
    reach = scores.data >= least
    return only_entries(with_values(scores, reach), reach)


# With many labels, a kernel learns at least this many together.
_BLOCK = 64


def refuse_too_large(D: int, q: int, levels: int) -> None:
    """Raise TooLargeError if the weights in training exceed the machine's memory.

    Level l has D + l q weights per label; training also keeps a copy and a mean of them. More than 500 labels are
    learned one block at a time, and little is left of a block after pruning.
    """
    features = D + (levels - 1) * q
    if q <= FEW_LABELS:
        model = 4 * q * (levels * D + levels * (levels - 1) // 2 * q)
        needed = model + 2 * 4 * q * features
        what = f"a model of {D:,} features x {q:,} labels x {levels} levels takes {model / 1e9:,.1f} GB"
        _refuse_beyond_machine(needed, f"{what}, {needed / 1e9:,.1f} GB in training", "train fewer labels or levels")
        return
    needed = 2 * 4 * _BLOCK * features
    what = f"the weights of {features:,} features x {_BLOCK} labels, which are learned together, take {_size(needed)}"
    advice = "drop rare features, or train fewer labels or levels"
    _refuse_beyond_machine(needed, f"{what} with their mean", advice)


def refuse_labels_of_one(labels: csr_array) -> None:
    """Raise DataError if most labels occur in one instance only, with more than 500 such labels in each instance.

    These labels cannot be told apart, and each would be learned.
    """
    n, q = labels.shape
    is_alone = np.bincount(labels.indices, minlength=q)[labels.indices] == 1
    own = np.bincount(entry_rows(labels)[is_alone], minlength=n)
    if 2 * own[own > FEW_LABELS].sum() > q:
        raise DataError(
            f"instance {own.argmax() + 1} has {own.max():,} labels that no other instance has, of {q:,} labels in all; "
            "they cannot be learned: leave out the instance, or these labels"
        )


def refuse_large_sample(m: int, q: int, advice: str = "make sample smaller, or give both c and cost") -> None:
    """Raise TooLargeError if the predictions used to choose c and C exceed the machine's memory.

    The predictions with two settings are compared, which takes a copy and the labels as well.
    """
    needed = (3 * 4 + 1) * m * q
    what = f"c and C are chosen by predictions for {m:,} instances x {q:,} labels, which take {_size(needed)}"
    _refuse_beyond_machine(needed, what, advice)


def refuse_large_predictions(n: int, q: int) -> None:
    """Raise TooLargeError if the probabilities of all labels (n x q) exceed the free memory."""
    refuse_beyond_free(
        4 * n * q,
        f"the probabilities of {n:,} instances x {q:,} labels",
        "take fewer instances at a time, or the most probable labels only, by predict_top",
    )


def refuse_beyond_free(needed: int, what: str, advice: str) -> None:
    """Raise TooLargeError if `needed` bytes exceed the free memory; `what` names the object."""
    if needed > (free := available_memory()):
        raise TooLargeError(f"{what} take {_size(needed)}, and {free / 1e9:,.1f} GB are free: {advice}")


def _refuse_beyond_machine(needed: int, what: str, advice: str) -> None:
    if needed > (memory := machine_memory()):
        raise TooLargeError(f"{what}, and this machine has {memory / 1e9:,.1f} GB: {advice}")


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes ({n_bytes / 1e9:,.1f} GB)"
