"""Verdicts on cells (instance, label), besides their annotations.

An annotation indicates that a label is true; its absence says little. A human verdict decides a cell: the label is
true, or it is false, or the cell is to be ignored. A complete label set decides all cells of the instance: the
annotated labels are true, and the others are false. Labels that are implied by another label of the instance may be
known to be true. A decided cell takes five bytes, an instance one, and other cells take nothing.
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
    IMPLIED = 4  # true because another label of the instance is; not necessarily annotated


class HowDecided(IntEnum):
    """How a cell came to be decided. If it was decided twice, the larger value counts."""

    ADDED = -1  # it was not suggested
    UNKNOWN = 0
    IN_ORDER = 1  # it is in a list of suggestions that was answered from its first line on, without skipping lines


TRUE_CELLS = (Verdict.TRUE, Verdict.IMPLIED)
# At least this share of the implied labels is annotated if they have been filled in: a few instances may have been
# added since. Otherwise, the share is at most c.
_FILLED_IN = 0.95
# The positions of cells: their instances and labels, both from 0.
Places = tuple[Sequence[int], Sequence[int]]
_NOWHERE: Places = ((), ())


@dataclass(frozen=True)
class VerifiedLabels:
    """Verdicts on the cells of n instances and q labels. Made by `of`.

    A verdict overrides the annotation: an annotated label that is verified as false is a negative. The verdict on a
    cell overrides the one on its instance.

    `cells`: csr_array of int8, shape (n, q): the `Verdict` on each cell that has one, in ascending order; UNKNOWN is
    not stored.
    `instances`: int8, shape (n,): the verdict on all other cells of an instance: UNKNOWN; FALSE, if its label set is
    complete, so that annotated labels are true and the others false; or IGNORED.
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
        """Make verdicts from lists.

        `shape`: (n, q).
        `true`, `false`, `ignored`: the instances and labels, from 0, of the cells with this verdict.
        `complete`: int, or bool of shape (n,): the instances whose label sets are complete.
        Raises DataError (a cell has two different verdicts).

        With three instances and two labels, label 1 is true in instance 0, and the label set of instance 2 is complete.

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
        """Return these verdicts with implied labels as true, if these have been filled in; else unchanged.

        They have been filled in if nearly all of them are annotated. If not, people have not stated that they are true,
        and may annotate only the narrowest labels.

        `implied`: csr_array of bool, shape (n, q): labels implied by other annotated labels of the instance, annotated
        or not.
        """
        rows, columns = implied.nonzero()
        there = annotated[rows, columns].astype(bool) if len(rows) else np.zeros(0, bool)
        # Human verdicts on a cell, or on all unannotated cells of an instance, take precedence.
        open_ = values_at(self.cells, rows, columns) == Verdict.UNKNOWN
        open_ &= there | (self.instances[rows] == Verdict.UNKNOWN)
        if not open_.any() or there[open_].mean() < _FILLED_IN:
            return self
        places = rows[open_], columns[open_]
        known = csr_array((np.full(len(places[0]), Verdict.IMPLIED, np.int8), places), shape=self.cells.shape)
        return VerifiedLabels(csr_array(self.cells + known), self.instances)

    def without_implied(self, labels: csr_array) -> csr_array:
        """Return labels (bool, n x q) without those that are known because they are implied."""
        return csr_array(labels > (self.cells == Verdict.IMPLIED))

    def count_implied(self) -> np.ndarray:
        """Count the instances in which each label is known because it is implied: int, shape (q,)."""
        return np.bincount(self.cells.indices[self.cells.data == Verdict.IMPLIED], minlength=self.cells.shape[1])

    def rows(self, index: np.ndarray | slice) -> "VerifiedLabels":
        """Select instances, in the order of the index."""
        return VerifiedLabels(self.cells[index], self.instances[index])

    def block(self, columns: slice | np.ndarray) -> "VerifiedLabels":
        """Select labels."""
        return VerifiedLabels(self.cells[:, columns], self.instances)

    def widened(self, ids: np.ndarray, every: np.ndarray) -> "VerifiedLabels":
        """Return the same with more labels, which have no verdicts: from columns `ids` to `every`, like `widened`."""
        return VerifiedLabels(widened(self.cells, ids, every), self.instances)

    def as_annotated(self) -> "VerifiedLabels":
        """Return the same without single cells that were found to be true, so that only their annotations count.

        Which cells are checked may depend on their annotation, for example if a model suggests missing labels. So found
        labels must not be added to an estimate by annotations, in which each represents 1 / c true labels.
        """
        single = np.repeat(self.instances == Verdict.UNKNOWN, np.diff(self.cells.indptr))
        return VerifiedLabels(only_entries(self.cells, ~(single & (self.cells.data == Verdict.TRUE))), self.instances)

    def left_to_chance(self) -> "VerifiedLabels":
        """Return verdicts for estimating how often true labels are annotated, which complete instances do not show.

        The cells of complete instances and of implied labels are IGNORED, and labels found to be true are treated as in
        `as_annotated`. (Leaving them out would remove true labels that are not annotated, so that the estimate of c
        would rise with every found label.)
        """
        whole = self.instances != Verdict.UNKNOWN
        outside = ~np.repeat(whole, np.diff(self.cells.indptr))
        cells = only_entries(self.cells, outside & (self.cells.data != Verdict.TRUE))
        cells.data = np.where(cells.data == Verdict.IMPLIED, Verdict.IGNORED, cells.data).astype(np.int8)
        return VerifiedLabels(cells, np.where(whole, Verdict.IGNORED, Verdict.UNKNOWN).astype(np.int8))

    def part(self, annotated: csr_array) -> tuple[csr_array, csr_array]:
        """Split the positives into annotated labels without a verdict, and those known to be true, annotated or not."""
        rows = entry_rows(annotated)
        alone = values_at(self.cells, rows, annotated.indices) == Verdict.UNKNOWN
        by_chance = only_entries(annotated, alone & (self.instances[rows] == Verdict.UNKNOWN))
        of_complete = only_entries(annotated, alone & (self.instances[rows] == Verdict.FALSE))
        confirmed = only_entries(self.cells, np.isin(self.cells.data, TRUE_CELLS))
        confirmed = confirmed.astype(bool).astype(annotated.dtype)
        return by_chance, of_complete + confirmed

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the verdicts on the given cells, like `verdicts`."""
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
        """Return the verdict on every cell; FALSE on an annotated cell in a complete instance means TRUE."""
        cells = self.cells.toarray()
        return np.where(cells, cells, self.instances[:, None])


def annotated_by_chance(labels: csr_array, verified: VerifiedLabels | None) -> csr_array:
    """Return the annotations (bool, n x q) that show how often true labels are annotated."""
    return labels if verified is None else verified.left_to_chance().part(labels)[0]


def widened(matrix: csr_array, ids: np.ndarray, every: np.ndarray) -> csr_array:
    """Widen a matrix from the labels `ids` to the labels `every`; both are ascending numbers of labels."""
    columns = np.searchsorted(every, ids).astype(matrix.indices.dtype)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(every)))
