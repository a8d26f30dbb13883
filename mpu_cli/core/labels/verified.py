"""What is known of cells (instance, label) beyond their annotations.

An annotation says that a label is true; its absence says little. A verdict of people settles a cell (instance, label):
the label is true, or it is false, or the cell is to be ignored. An instance whose label set is complete is a verdict on
all of its cells: what is annotated is true, the rest is false. What another label of its instance implies may be known
to be true. A cell that is known takes five bytes, an instance one; the others take nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows, only_entries
from mpu_cli.core.predictions import values_at
from mpu_cli.errors import DataError


class Verdict(IntEnum):
    """The verdict on a cell."""

    UNKNOWN = 0
    TRUE = 1
    FALSE = 2
    IGNORED = 3
    IMPLIED = 4  # true since another label of the instance is: nobody need have annotated it


class HowDecided(IntEnum):
    """How somebody came to decide on a cell. Where a cell was decided twice, the larger one counts."""

    ADDED = -1  # nobody had suggested it
    UNKNOWN = 0
    IN_ORDER = 1  # it is on a list of suggestions that was answered from its first line on, and no line was skipped


TRUE_CELLS = (Verdict.TRUE, Verdict.IMPLIED)
# Of the implied labels of data, at least this share is annotated where they have been filled in: a few instances may
# have come since, and elsewhere the share is c or less.
_FILLED_IN = 0.95
# Where cells are: their instances and their labels, both from 0.
Places = tuple[Sequence[int], Sequence[int]]
_NOWHERE: Places = ((), ())


@dataclass(frozen=True)
class VerifiedLabels:
    """Verdicts on the cells of n instances and q labels. Made by `of`.

    A verdict outweighs the annotation: an annotated label that is verified as false is a negative. The verdict on a
    cell outweighs that on its instance.

    `cells`: csr_array of int8, shape (n, q): the `Verdict` on each cell that has one, in ascending order; UNKNOWN is
    not stored.
    `instances`: int8, shape (n,): on all other cells of an instance: UNKNOWN; FALSE, where its label set is complete,
    so that what is annotated is true and all else false; or IGNORED.
    """

    cells: csr_array
    instances: np.ndarray

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        *,
        true: Places = _NOWHERE,
        false: Places = _NOWHERE,
        ignored: Places = _NOWHERE,
        complete: Sequence[int] | Sequence[bool] | np.ndarray = (),
    ) -> "VerifiedLabels":
        """Take verdicts from lists.

        `shape`: (n, q).
        `true`, `false`, `ignored`: the instances and the labels, from 0, of the cells with this verdict.
        `complete`: int, or n bool: the instances whose label set is complete.
        Raises DataError (a cell has two different verdicts).

        Of three instances and two labels: label 1 is true of instance 0, and all labels of instance 2 are annotated.

        >>> verified = VerifiedLabels.of((3, 2), true=([0], [1]), complete=[2])
        >>> verified.verdicts()
        array([[0, 1],
               [0, 0],
               [2, 2]], dtype=int8)
        """
        n, q = shape
        lists = [(Verdict.TRUE, true), (Verdict.FALSE, false), (Verdict.IGNORED, ignored)]
        rows, columns = (np.concatenate([np.asarray(where[axis], np.int64) for _, where in lists]) for axis in (0, 1))
        verdicts = np.concatenate([np.full(len(where[0]), verdict, np.int8) for verdict, where in lists])
        keys, first, of_key = np.unique(rows * q + columns, return_index=True, return_inverse=True)
        if len(conflicts := np.flatnonzero(verdicts != verdicts[first][of_key])):
            i = conflicts[0]
            raise DataError(
                f"verified labels: instance {rows[i]}, label {columns[i]} has two different verdicts; give one"
            )
        indptr = np.searchsorted(keys, np.arange(n + 1) * q)
        instances = np.zeros(n, np.int8)
        whole = np.asarray(complete)
        instances[whole if whole.dtype == bool else whole.astype(np.int64)] = Verdict.FALSE
        return cls(csr_array((verdicts[first], columns[first], indptr), shape=shape), instances)

    def with_implied(self, implied: csr_array, annotated: csr_array) -> "VerifiedLabels":
        """Return the same where implied labels are known to be true, if they have been filled in; else these.

        They have been where nearly all of them are annotated. Elsewhere nobody has said that they are true: people may
        annotate the narrowest labels alone.

        `implied`: csr_array of bool, shape (n, q): what other annotated labels of an instance imply, whether it is
        annotated or not.
        """
        rows, columns = implied.nonzero()
        there = annotated[rows, columns].astype(bool) if len(rows) else np.zeros(0, bool)
        # What people have said of a cell, or of all cells of an instance that are not annotated, counts for more.
        open_ = values_at(self.cells, rows, columns) == Verdict.UNKNOWN
        open_ &= there | (self.instances[rows] == Verdict.UNKNOWN)
        if not open_.any() or there[open_].mean() < _FILLED_IN:
            return self
        places = rows[open_], columns[open_]
        known = csr_array((np.full(len(places[0]), Verdict.IMPLIED, np.int8), places), shape=self.cells.shape)
        return VerifiedLabels(csr_array(self.cells + known), self.instances)

    def without_implied(self, labels: csr_array) -> csr_array:
        """Return some labels (bool, n x q) without those that are known since they are implied."""
        return csr_array(labels > (self.cells == Verdict.IMPLIED))

    def count_implied(self) -> np.ndarray:
        """Count the instances in which each label is known since it is implied: int, shape (q,)."""
        return np.bincount(self.cells.indices[self.cells.data == Verdict.IMPLIED], minlength=self.cells.shape[1])

    def rows(self, index: np.ndarray | slice) -> "VerifiedLabels":
        """Select instances, in the order of the index."""
        return VerifiedLabels(self.cells[index], self.instances[index])

    def block(self, columns: slice | np.ndarray) -> "VerifiedLabels":
        """Select labels."""
        return VerifiedLabels(self.cells[:, columns], self.instances)

    def widened(self, ids: np.ndarray, every: np.ndarray) -> "VerifiedLabels":
        """Return the same with more labels, without verdicts: from columns `ids` to `every`, as `widened` does."""
        return VerifiedLabels(widened(self.cells, ids, every), self.instances)

    def as_annotated(self) -> "VerifiedLabels":
        """Return the same without single cells that were found to be true: their annotation speaks for itself again.

        Which cells are checked may depend on their annotation, as where a model suggests labels that are missing. So
        what was found must not be added to an estimate by annotations, in which each stands for 1 / c true labels.
        """
        single = np.repeat(self.instances == Verdict.UNKNOWN, np.diff(self.cells.indptr))
        return VerifiedLabels(only_entries(self.cells, ~(single & (self.cells.data == Verdict.TRUE))), self.instances)

    def left_to_chance(self) -> "VerifiedLabels":
        """Return the same for the question how often true labels are annotated: complete instances tell nothing of it.

        The cells of complete instances and of implied labels are IGNORED, and labels found to be true are as in
        `as_annotated`. (Were they left out, and with them labels that are true and not annotated, c would seem to rise
        with every finding.)
        """
        whole = self.instances != Verdict.UNKNOWN
        outside = ~np.repeat(whole, np.diff(self.cells.indptr))
        cells = only_entries(self.cells, outside & (self.cells.data != Verdict.TRUE))
        cells.data = np.where(cells.data == Verdict.IMPLIED, Verdict.IGNORED, cells.data).astype(np.int8)
        return VerifiedLabels(cells, np.where(whole, Verdict.IGNORED, Verdict.UNKNOWN).astype(np.int8))

    def part(self, annotated: csr_array) -> tuple[csr_array, csr_array]:
        """Part the positives into annotated labels without a verdict, and those known to be true, annotated or not."""
        rows = entry_rows(annotated)
        alone = values_at(self.cells, rows, annotated.indices) == Verdict.UNKNOWN
        by_chance = only_entries(annotated, alone & (self.instances[rows] == Verdict.UNKNOWN))
        of_complete = only_entries(annotated, alone & (self.instances[rows] == Verdict.FALSE))
        confirmed = only_entries(self.cells, np.isin(self.cells.data, TRUE_CELLS))
        confirmed = confirmed.astype(bool).astype(annotated.dtype)
        return by_chance, of_complete + confirmed

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the verdicts on some cells, as `verdicts` does."""
        of_cells = values_at(self.cells, rows, columns)
        return np.where(of_cells != Verdict.UNKNOWN, of_cells, self.instances[rows])

    def ignored(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the instances and the labels of the ignored cells."""
        rows, columns = only_entries(self.cells, self.cells.data == Verdict.IGNORED).nonzero()
        whole = np.flatnonzero(self.instances == Verdict.IGNORED)
        more_rows, more_columns = np.nonzero(self.cells[whole].toarray() == Verdict.UNKNOWN)
        return np.concatenate([rows, whole[more_rows]]), np.concatenate([columns, more_columns])

    def count_ignored(self) -> np.ndarray:
        """Count the ignored cells of each label, without a list of them: int, shape (q,)."""
        q = self.cells.shape[1]
        whole = np.repeat(self.instances == Verdict.IGNORED, np.diff(self.cells.indptr))
        alone = np.bincount(self.cells.indices[~whole & (self.cells.data == Verdict.IGNORED)], minlength=q)
        settled = np.bincount(self.cells.indices[whole & (self.cells.data != Verdict.IGNORED)], minlength=q)
        return alone + np.count_nonzero(self.instances == Verdict.IGNORED) - settled

    def verdicts(self) -> np.ndarray:
        """Return the verdict on every cell, where FALSE on an annotated cell of a complete instance means TRUE."""
        cells = self.cells.toarray()
        return np.where(cells, cells, self.instances[:, None])


def annotated_by_chance(labels: csr_array, verified: VerifiedLabels | None) -> csr_array:
    """Return annotations (bool, n x q) that tell how often true labels are annotated."""
    return labels if verified is None else verified.left_to_chance().part(labels)[0]


def widened(matrix: csr_array, ids: np.ndarray, every: np.ndarray) -> csr_array:
    """Return the columns of a subset of the labels as places among all; both are ascending numbers of labels."""
    columns = np.searchsorted(every, ids).astype(matrix.indices.dtype)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(every)))
