"""The training data: instances, their annotations, other information about their labels, and the form to learn from.

An annotation indicates that a label is true; its absence is weak evidence. A human verdict decides a cell, and a
complete label set all cells of the instance. Labels implied by another label of the instance may be known to be true.

Repeated texts, and duplicate lines in a file, often have the same annotations: a model that has learned from one does
not predict the other out of fold. So they are kept in the same fold (`core.validation.deal`).
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import (
    Columns,
    Dominating,
    Features,
    RbfFeatures,
    Scaling,
    entry_rows,
    only_entries,
    unevenness,
    with_values,
    with_width,
)
from mpu_cli.core.predictions import CellList, count_positives, values_at
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

    UNLISTED = -2  # it was neither suggested nor added
    ADDED = -1  # a person added the label, which was not suggested
    UNKNOWN = 0
    IN_ORDER = 1  # it is in a list of suggestions that was answered from its first line on, without skipping lines


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
        shown: Callable[[int], str] = str,
    ) -> "VerifiedLabels":
        """Make verdicts from lists.

        `true`, `false`, `ignored`: the instances and labels, from 0, of the cells with this verdict.
        `complete`: int, or bool of shape (n,): the instances whose label sets are complete.
        `shown`: names a label in the message.
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
        _, first, of_key = np.unique(rows * q + columns, return_index=True, return_inverse=True)
        if len(conflicts := np.flatnonzero(verdicts != verdicts[first][of_key])):
            i = conflicts[0]
            raise DataError(
                f"verified labels: instance {rows[i]}, label {shown(columns[i])} has two different verdicts; give one"
            )
        instances = np.zeros(n, np.int8)
        whole = np.asarray(complete)
        instances[whole if whole.dtype == bool else whole.astype(np.int64)] = Verdict.FALSE
        return cls(csr_array((verdicts[first], (rows[first], columns[first])), shape=shape), instances)

    def with_implied(self, implied: csr_array, annotated: csr_array) -> "VerifiedLabels":
        """Return these verdicts with implied labels as true, if these have been filled in; else unchanged.

        They have been filled in if nearly all of them are annotated. If not, people have not stated that they are true,
        and may annotate only the narrowest labels.

        `implied`: csr_array of bool, shape (n, q): labels implied by other annotated labels of the instance, annotated
        or not.
        """
        rows, columns = implied.nonzero()
        there = values_at(annotated, rows, columns).astype(bool)
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

    def of_single_cells(self) -> "VerifiedLabels":
        """Return the same as if no instance were complete."""
        return replace(self, instances=np.zeros_like(self.instances))

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

    def by_chance(self, annotated: csr_array) -> csr_array:
        """Return the annotated labels without a verdict."""
        return self._annotated_in(annotated, Verdict.UNKNOWN)

    def certain(self, annotated: csr_array) -> csr_array:
        """Return the labels known to be true, annotated or not; the annotated ones of complete instances are."""
        confirmed = only_entries(self.cells, np.isin(self.cells.data, (Verdict.TRUE, Verdict.IMPLIED)))
        return self._annotated_in(annotated, Verdict.FALSE) + confirmed.astype(bool).astype(annotated.dtype)

    def _annotated_in(self, annotated: csr_array, verdict: Verdict) -> csr_array:
        """Return the annotated labels of the instances with a verdict, in cells that have none of their own."""
        rows = entry_rows(annotated)
        is_alone = values_at(self.cells, rows, annotated.indices) == Verdict.UNKNOWN
        return only_entries(annotated, is_alone & (self.instances[rows] == verdict))

    def positives(self, annotated: csr_array) -> csr_array:
        """Return the annotated labels, corrected by the verdicts."""
        return self.by_chance(annotated) + self.certain(annotated)

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


def counts_by_chance(labels: csr_array, verified: VerifiedLabels | None) -> tuple[np.ndarray, np.ndarray]:
    """Count each label's annotations that were left to chance, and the cells where it may be true, annotated or not.

    Cells of complete instances, ignored ones, and those of implied and refuted labels do not count.
    """
    n, q = labels.shape
    if verified is None:
        return count_positives(labels), np.full(q, n)
    left = verified.left_to_chance()
    cells = np.count_nonzero(left.instances == Verdict.UNKNOWN) - np.bincount(left.cells.indices, minlength=q)
    return count_positives(left.by_chance(labels)), cells


def least_frequencies(labels: csr_array, verified: VerifiedLabels | None) -> tuple[np.ndarray, float]:
    """Return the least c that annotations allow, their share of the cells: of each label, shape (q,), and of all.

    Complete instances are included: without them, few cells might remain.
    """
    annotated, cells = counts_by_chance(labels, verified and verified.of_single_cells())
    return annotated / np.maximum(cells, 1), float(annotated.sum() / max(cells.sum(), 1))


def widened(matrix: csr_array, ids: np.ndarray, every: np.ndarray) -> csr_array:
    """Widen a matrix from the labels `ids` to the labels `every`; both are ascending numbers of labels."""
    columns = np.searchsorted(every, ids).astype(matrix.indices.dtype)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(every)))


# If features have few values, most instances repeat others by chance: with fewer different ones, none stay together.
_FEWEST = 50
_ENTRIES = 1 << 20
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


def kin_of(features: csr_array) -> np.ndarray | None:
    """Return, for each instance, the first one with the same features: int, shape (n,).

    Instances with at most one feature count as different, since they are equal by chance. None if all instances
    differ, or only few do.
    """
    n = features.shape[0]
    filled = np.flatnonzero(np.diff(features.indptr) > 1)
    hashes = hashes_of(features)[filled]
    _, first, of_rows = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) == len(filled) or len(first) < _FEWEST:
        return None
    kin = np.arange(n)
    kin[filled] = filled[first[of_rows]]
    return kin


def hashes_of(features: csr_array) -> np.ndarray:
    """Return a hash of each instance's features, in any order: uint64, shape (n,)."""
    hashes = np.zeros(features.shape[0], np.uint64)
    starts = np.searchsorted(features.indptr, np.arange(0, max(features.nnz, 1), _ENTRIES), side="right") - 1
    for start, stop in zip(starts, [*starts[1:], features.shape[0]], strict=True):
        part = features[start:stop]
        values = np.ascontiguousarray(part.data + np.float32(0), np.float32).view(np.uint32)
        # Numbers of 64 bits, mixed (Steele, Lea and Flood, OOPSLA 2014).
        mixed = (part.indices.astype(np.uint64) << np.uint64(32) | values) + _ODD[0]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _ODD[1]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _ODD[2]
        mixed ^= mixed >> np.uint64(31)
        mixed[values == 0] = 0
        hashes[start:stop] = with_values(part, mixed).sum(axis=1)
    return hashes


def joined(kin: np.ndarray | None, same_fold: np.ndarray | None) -> np.ndarray | None:
    """Return which instances stay in one fold: equal ones, from `kin_of`, and those that the user groups.

    If equal instances would join nearly all of the user's groups, only the user's groups count. DataError if all
    instances would be in one fold.
    """
    if same_fold is not None and len(same_fold) > 1 and (same_fold == same_fold[0]).all():
        raise DataError("all instances belong to the same fold, so nothing is left to learn from")
    if same_fold is None or kin is None:
        return kin if same_fold is None else same_fold
    from scipy.sparse.csgraph import connected_components  # which few training runs need

    n, m = len(kin), int(same_fold.max()) + 1
    links = csr_array((np.ones(n, bool), (same_fold, m + kin)), shape=(m + n, m + n))
    _, numbers = connected_components(links, directed=False)
    together = numbers[same_fold]
    return together if len(np.unique(together)) >= _FEWEST else same_fold


@dataclass(frozen=True)
class Answers(CellList):
    """Whether the label is true in each of some unannotated cells."""

    true: np.ndarray  # bool, shape (m,)


@dataclass(frozen=True)
class InstanceGroups:
    """The group of each instance."""

    of_instances: np.ndarray  # int, shape (n,): numbers from 0
    names: tuple[str, ...]  # the name of each group

    def sums(self, of_instances: np.ndarray) -> np.ndarray:
        """Sum per-instance numbers in each group: float64, shape (groups,)."""
        return np.bincount(self.of_instances, of_instances, len(self.names))

    def rows(self, index: np.ndarray | slice) -> "InstanceGroups":
        """Select instances, in the order of the index."""
        return replace(self, of_instances=self.of_instances[index])


@dataclass(frozen=True)
class Problem:
    """The training data. The user's options are in `core.options.Options`."""

    features: csr_array  # float32, shape (n, D)
    labels: csr_array  # bool, shape (n, q): annotated labels
    _: KW_ONLY
    # int, shape (n,): instances with equal numbers stay in one fold; None: those with equal features
    kin: np.ndarray | None = None
    verified: VerifiedLabels | None = None  # human decisions, besides the annotations
    # The instances that were drawn at random and completely reviewed. Unless c is given, the label frequency of each
    # label comes from these.
    sampled: np.ndarray | None = None
    # The instances of a second file with complete label sets, drawn from the same population. If c is neither given
    # nor estimated from a review, it comes from the rates of labels in both files.
    second: np.ndarray | None = None
    # Answers to questions, on cells that were drawn by chance. Unless c is given, it comes from these and `sampled`.
    answers: Answers | None = None
    origins: csr_array | None = None  # int8, shape (n, q): the `HowDecided` of cells in `verified`
    groups: InstanceGroups | None = None  # groups of instances with their own label frequencies
    # int, shape (n,): instances with equal numbers stay in one fold, like equal instances
    same_fold: np.ndarray | None = None
    # float32, shape (q, any): a vector for each label, or zero: the direction of the mean of the prior of its weights
    # (`core.side_information`)
    label_features: csr_array | None = None

    @property
    def is_reviewed(self) -> bool:
        """Whether there are complete label sets for estimating c."""
        return any(rows is not None and len(rows) for rows in (self.sampled, self.second))

    @classmethod
    def extended(cls, problem: "Problem", **more: Any) -> Self:
        """Convert a problem to this class, with the given values for added or changed fields."""
        shared = {field.name: getattr(problem, field.name) for field in fields(Problem)}
        return cls(**(shared | more))

    @cached_property
    def annotations(self) -> np.ndarray:
        """The number of instances annotated with each label: int, shape (q,)."""
        return count_positives(self.labels)

    def __len__(self) -> int:
        return self.labels.shape[0]


@dataclass(frozen=True)
class Instances(Problem):
    """Instances in memory, with features in the form that models learn from; without `kin`, all instances differ."""

    features: Features
    columns: Columns | None = None  # the features that have columns; None: all
    dominating: Dominating | None = None  # as from `unevenness` of the unscaled features, with the feature's own number
    share_repeated: float = 0.0  # of the instances: those kept together with an earlier one with the same features
    rbf: RbfFeatures | None = None  # computes their features from an instance's own; None: they are the same
    scaling: Scaling | None = None  # how their features are scaled; None: not scaled

    @classmethod
    def of(cls, problem: Problem, columns: Columns | None = None) -> "Instances":
        """Return the instances of a problem, without the features that do not occur if few features occur.

        `columns`: the features that occur, if the problem is a sample.
        Label features have the same columns: features that only occur there count, as new instances may have them.
        """
        matrix, of_labels = problem.features, problem.label_features
        if of_labels is not None:
            width = max(matrix.shape[1], of_labels.shape[1])
            matrix, of_labels = with_width(matrix, width), with_width(of_labels, width)
        occurring = columns or Columns.occurring(matrix, *([] if of_labels is None else [of_labels]))
        features = Features.of(occurring.narrowed(matrix)).shortened()
        of_labels = None if of_labels is None else occurring.narrowed(of_labels)
        dominating = unevenness(features)[1]
        if dominating is not None and occurring.are_few:
            dominating = dominating._replace(column=int(occurring.indices[dominating.column]))
        equal = kin_of(problem.features) if problem.kin is None else problem.kin
        kin = joined(equal, problem.same_fold)
        repeated = 0.0
        if equal is not None and kin is not problem.same_fold:
            repeated = float(np.mean(equal != np.arange(len(equal))))
        return cls.extended(
            problem,
            features=features,
            label_features=of_labels,
            kin=kin,
            columns=occurring if occurring.are_few else None,
            dominating=dominating,
            share_repeated=repeated,
        )

    def scaled(self, name: str) -> "Instances":
        """Return the same with scaled features."""
        scaling = Scaling.fit(self.features, name)
        return replace(self, features=scaling.of(self.features), scaling=scaling)

    def rows(self, rows: np.ndarray) -> "Instances":
        """Return the instances in these rows, ascending, for choosing settings."""
        return Instances(
            self.features[rows],
            self.labels[rows],
            verified=self.verified and self.verified.rows(rows),
            groups=self.groups and self.groups.rows(rows),
            kin=None if self.kin is None else self.kin[rows],
        )

    def block(self, columns: slice | np.ndarray) -> "Instances":
        """Return the same instances with only a block of their labels."""
        verified = self.verified and self.verified.block(columns)
        return replace(self, labels=self.labels[:, columns], verified=verified)
