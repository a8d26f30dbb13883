"""The data of a training: instances, their annotations, and what else is known of their labels.

An annotation says that a label is true; its absence says little. A verdict of people settles a cell (instance, label):
the label is true, or it is false, or the cell is to be ignored. An instance whose label set is complete is a verdict on
all of its cells: what is annotated is true, the rest is false. What another label of its instance implies may be known
to be true. A cell that is known takes five bytes, an instance one; the others take nothing.

Repeated texts, and lines that stand in a file twice, often have the same annotations: what is learned from one is no
prediction of the other out of fold. Where folds are dealt, they belong together (`core.validation.deal`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from graphlib import CycleError, TopologicalSorter
from typing import Self

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.features import Columns, only_entries, with_width
from mpu_cli.errors import DataError


class Verdict(IntEnum):
    """The verdict on a cell."""

    UNKNOWN = 0
    TRUE = 1
    FALSE = 2
    IGNORED = 3
    IMPLIED = 4  # true since another label of the instance is: nobody need have annotated it
    FILLED_IN = 5  # taken to be true since a model had found it missing; not annotated, and nobody has decided


class Origin(IntEnum):
    """How somebody came to decide on a cell. Where a cell was decided twice, the larger one counts."""

    ADDED = -1  # nobody had suggested it
    UNKNOWN = 0
    IN_ORDER = 1  # it is on a list of suggestions that was answered from its first line on, and no line was skipped


_FOUND = (Verdict.TRUE, Verdict.FILLED_IN)  # whether annotated or not
TRUE_CELLS = (*_FOUND, Verdict.IMPLIED)
# Of the implied labels of data, at least this share is annotated where they have been filled in: a few instances may
# have come since, and elsewhere the share is c or less.
_FILLED_IN = 0.95
# Where cells are: their instances and their labels, both from 0.
Cells = tuple[Sequence[int], Sequence[int]]
_NOWHERE: Cells = ((), ())


@dataclass(frozen=True)
class VerifiedLabels:
    """Verdicts on the cells of n instances and q labels. Made by `of`.

    A verdict outweighs the annotation: an annotated label that is verified as false is a negative. The verdict on a
    cell outweighs that on its instance.

    Attributes
    ----------
    cells : csr_array of int8, shape (n, q)
        The `Verdict` on each cell that has one, in ascending order; UNKNOWN is not stored.
    instances : ndarray of int8, shape (n,)
        On all other cells of an instance: UNKNOWN; FALSE, where its label set is complete, so that what is annotated
        is true and all else false; or IGNORED.
    """

    cells: csr_array
    instances: np.ndarray

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        *,
        true: Cells = _NOWHERE,
        false: Cells = _NOWHERE,
        ignored: Cells = _NOWHERE,
        complete: Sequence[int] | Sequence[bool] | np.ndarray = (),
    ) -> "VerifiedLabels":
        """Take verdicts from lists.

        Parameters
        ----------
        shape : (n, q)
        true, false, ignored : pairs of sequences of int, of equal length
            The instances and the labels, from 0, of the cells with this verdict.
        complete : sequence of int, or of n bool
            The instances whose label set is complete.

        Raises
        ------
        DataError
            A cell has two different verdicts, or lies outside of the shape; or sequences have the wrong length.

        Examples
        --------
        Of three instances and two labels: label 1 is true of instance 0, and all labels of instance 2 are annotated.

        >>> verified = VerifiedLabels.of((3, 2), true=([0], [1]), complete=[2])
        >>> verified.verdicts()
        array([[0, 1],
               [0, 0],
               [2, 2]], dtype=int8)
        """
        n, q = shape
        lists = [(Verdict.TRUE, true), (Verdict.FALSE, false), (Verdict.IGNORED, ignored)]
        if any(len(instances) != len(labels) for _, (instances, labels) in lists):
            raise DataError("verified labels: give as many instances as labels, one of each for a cell")
        rows, columns = (np.concatenate([np.asarray(where[axis], np.int64) for _, where in lists]) for axis in (0, 1))
        verdicts = np.concatenate([np.full(len(where[0]), verdict, np.int8) for verdict, where in lists])
        whole = np.asarray(complete)
        if whole.dtype == bool:
            if whole.shape != (n,):
                raise DataError(f"verified labels: {len(whole)} instances are said to be complete or not, of {n}")
            whole = np.flatnonzero(whole)
        whole = whole.astype(np.int64)
        for what, numbers, end in (("instance", rows, n), ("instance", whole, n), ("label", columns, q)):
            if len(outside := numbers[(numbers < 0) | (numbers >= end)]):
                raise DataError(f"verified labels: there is no {what} {outside[0]}, only 0 to {end - 1}")
        keys, first, of_key = np.unique(rows * q + columns, return_index=True, return_inverse=True)
        if len(conflicts := np.flatnonzero(verdicts != verdicts[first][of_key])):
            i = conflicts[0]
            raise DataError(
                f"verified labels: instance {rows[i]}, label {columns[i]} has two different verdicts; give one"
            )
        indptr = np.searchsorted(keys, np.arange(n + 1) * q)
        instances = np.zeros(n, np.int8)
        instances[whole] = Verdict.FALSE
        return cls(csr_array((verdicts[first], columns[first], indptr), shape=shape), instances)

    def with_implied(self, implied: csr_array, annotated: csr_array) -> "VerifiedLabels":
        """Return the same where implied labels are known to be true, if they have been filled in; else these.

        They have been where nearly all of them are annotated. Elsewhere nobody has said that they are true: people may
        annotate the narrowest labels alone.

        Parameters
        ----------
        implied : csr_array of bool, shape (n, q)
            What other annotated labels of an instance imply, whether it is annotated or not.
        annotated : csr_array of bool, shape (n, q)
        """
        rows, columns = implied.nonzero()
        there = annotated[rows, columns].astype(bool) if len(rows) else np.zeros(0, bool)
        # What people have said of a cell, or of all cells of an instance that are not annotated, counts for more.
        open_ = (self._at(rows, columns) == Verdict.UNKNOWN) & (there | (self.instances[rows] == Verdict.UNKNOWN))
        if not open_.any() or there[open_].mean() < _FILLED_IN:
            return self
        rows, columns = rows[open_], columns[open_]
        known = csr_array((np.full(len(rows), Verdict.IMPLIED, np.int8), (rows, columns)), shape=self.cells.shape)
        return VerifiedLabels(csr_array(self.cells + known), self.instances)

    def followed_by(self, others: "VerifiedLabels") -> "VerifiedLabels":
        """Return these, then those of other instances."""
        cells = csr_array(vstack([self.cells, others.cells], format="csr"))
        return VerifiedLabels(cells, np.concatenate([self.instances, others.instances]))

    def with_filled_in(self, filled: csr_array) -> "VerifiedLabels":
        """Return the same where labels that were filled in (bool, n x q) are true, unless people say otherwise."""
        rows, columns = filled.nonzero()
        open_ = self._at(rows, columns) == Verdict.UNKNOWN
        rows, columns = rows[open_], columns[open_]
        known = csr_array((np.full(len(rows), Verdict.FILLED_IN, np.int8), (rows, columns)), shape=self.cells.shape)
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
        return VerifiedLabels(only_entries(self.cells, ~(single & np.isin(self.cells.data, _FOUND))), self.instances)

    def left_to_chance(self) -> "VerifiedLabels":
        """Return the same for the question how often true labels are annotated: complete instances tell nothing of it.

        The cells of complete instances and of implied labels are IGNORED, and labels found to be true are as in
        `as_annotated`. (Were they left out, and with them labels that are true and not annotated, c would seem to rise
        with every finding.)
        """
        whole = self.instances != Verdict.UNKNOWN
        outside = ~np.repeat(whole, np.diff(self.cells.indptr))
        cells = only_entries(self.cells, outside & ~np.isin(self.cells.data, _FOUND))
        cells.data = np.where(cells.data == Verdict.IMPLIED, Verdict.IGNORED, cells.data).astype(np.int8)
        return VerifiedLabels(cells, np.where(whole, Verdict.IGNORED, Verdict.UNKNOWN).astype(np.int8))

    def part(self, annotated: csr_array) -> tuple[csr_array, csr_array]:
        """Part the positives into those that are verified as true and the others.

        Parameters
        ----------
        annotated : csr_array, shape (n, q)
            Annotated labels.

        Returns
        -------
        by_chance : csr_array, shape (n, q)
            The annotated labels without a verdict.
        certain : csr_array, shape (n, q)
            The labels that are known to be true, annotated or not.
        """
        rows = np.repeat(np.arange(annotated.shape[0]), np.diff(annotated.indptr))
        alone = self._at(rows, annotated.indices) == Verdict.UNKNOWN
        by_chance = only_entries(annotated, alone & (self.instances[rows] == Verdict.UNKNOWN))
        of_complete = only_entries(annotated, alone & (self.instances[rows] == Verdict.FALSE))
        confirmed = only_entries(self.cells, np.isin(self.cells.data, TRUE_CELLS))
        confirmed = confirmed.astype(bool).astype(annotated.dtype)
        return by_chance, of_complete + confirmed

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the verdicts on some cells, as `verdicts` does."""
        of_cells = self._at(rows, columns)
        return np.where(of_cells != Verdict.UNKNOWN, of_cells, self.instances[rows])

    def _at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Look up the verdicts on cells, those on their instances aside."""
        n, q = self.cells.shape
        keys = np.repeat(np.arange(n) * q, np.diff(self.cells.indptr)) + self.cells.indices
        wanted = rows * q + columns
        place = np.searchsorted(keys, wanted)
        there = np.append(keys, -1)[place] == wanted
        return np.where(there, np.append(self.cells.data, np.int8(Verdict.UNKNOWN))[place], np.int8(Verdict.UNKNOWN))

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
        """Return the verdict on every cell, where FALSE on an annotated cell of a complete instance means TRUE.

        Returns
        -------
        ndarray of int8, shape (n, q)
        """
        cells = self.cells.toarray()
        return np.where(cells, cells, self.instances[:, None])


def widened(matrix: csr_array, ids: np.ndarray, every: np.ndarray) -> csr_array:
    """Give the columns of a subset of the labels their places among all; both are ascending numbers of labels."""
    columns = np.searchsorted(every, ids).astype(matrix.indices.dtype)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(every)))


# Where features have few values, most instances repeat others by chance: fewer different ones are not kept together.
_FEWEST = 50
# From this share of repeated instances on, people are told.
_WORTH_TELLING = 0.02
_ENTRIES = 1 << 20
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


def kin_of(features: csr_array) -> np.ndarray | None:
    """Return, for each instance, the first one with the same features: int, shape (n,).

    Instances with one feature or none count as different: they are alike by chance. None where all instances differ, or
    only few do.
    """
    n = features.shape[0]
    filled = np.flatnonzero(np.diff(features.indptr) > 1)
    hashes = _hashes(features)[filled]
    _, first, of_rows = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) == len(filled) or len(first) < _FEWEST:
        return None
    kin = np.arange(n)
    kin[filled] = filled[first[of_rows]]
    return kin


def _hashes(features: csr_array) -> np.ndarray:
    """Return a hash of the features of each instance, whatever their order: uint64, shape (n,)."""
    hashes = np.zeros(features.shape[0], np.uint64)
    indptr = features.indptr.astype(np.int64)
    starts = np.searchsorted(indptr, np.arange(0, max(features.nnz, 1), _ENTRIES), side="right") - 1
    for start, stop in zip(starts, [*starts[1:], features.shape[0]], strict=True):
        part = slice(indptr[start], indptr[stop])
        values = np.ascontiguousarray(features.data[part] + np.float32(0), np.float32).view(np.uint32)
        mixed = _mixed(features.indices[part].astype(np.uint64) << np.uint64(32) | values)
        mixed[values == 0] = 0
        rows = start + np.flatnonzero(np.diff(indptr[start : stop + 1]))
        if len(rows):
            hashes[rows] = np.add.reduceat(mixed, indptr[rows] - indptr[start])
    return hashes


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Mix 64-bit numbers (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = numbers + _ODD[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _ODD[1]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _ODD[2]
    return mixed ^ (mixed >> np.uint64(31))


def joined(kin: np.ndarray | None, same_fold: np.ndarray | None) -> np.ndarray | None:
    """Return which instances stay in one fold: equal ones, as of `kin_of`, and what the user puts together.

    Where equal instances would join nearly all that the user keeps apart, the user's alone. DataError where all
    instances are to be in one fold.
    """
    if same_fold is not None and len(same_fold) > 1 and (same_fold == same_fold[0]).all():
        raise DataError("all instances are to be in the same fold, so that nothing is left to learn from")
    if same_fold is None or kin is None:
        return kin if same_fold is None else same_fold
    from scipy.sparse.csgraph import connected_components  # which few trainings need

    n, m = len(kin), int(same_fold.max()) + 1
    links = csr_array((np.ones(n, bool), (same_fold, m + kin)), shape=(m + n, m + n))
    _, numbers = connected_components(links, directed=False)
    together: np.ndarray = numbers[same_fold]
    return together if len(np.unique(together)) >= _FEWEST else same_fold


def share_repeated(kin: np.ndarray | None) -> float:
    """Return the share of the instances that repeat an earlier one."""
    return 0.0 if kin is None else float(np.mean(kin != np.arange(len(kin))))


def caution(share: float) -> str | None:
    """Say that instances are repeated, if it is a share that matters."""
    if share < _WORTH_TELLING:
        return None
    return (
        f"{share:.0%} of the instances have exactly the features of an earlier one; folds that are dealt here keep "
        "them together"
    )


class Implications:
    """Pairs of a narrower and a broader label, transitively closed.

    `pairs`: narrower and broader label, by their numbers in files. Labels that imply each other are the same to this.
    Numbers below 0 are of labels not in use, which only hand on what they imply.

    Examples
    --------
    >>> rules = Implications([(7, 3), (3, 1)])
    >>> rules.broader(7), rules.broader(1)
    ({1, 3}, set())
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        self._broader: dict[int, set[int]] = {}
        for narrower, broader in pairs:
            self._broader.setdefault(narrower, set()).add(broader)

    def broader(self, label: int) -> set[int]:
        """Return all labels that a label implies, itself aside."""
        implied: set[int] = set()
        ahead = [label]
        while ahead:
            new = self._broader.get(ahead.pop(), set()) - implied
            implied |= new
            ahead.extend(new)
        return implied - {label}

    def among(self, ids: np.ndarray, wanted: np.ndarray) -> csr_array:
        """Tell which labels imply which others.

        `ids`: int, shape (q,).
        `wanted`: int, shape (r,), ascending.
        Returns: bool, shape (q, r): whether label `ids[j]` implies label `wanted[k]`.
        """
        place = {label: column for column, label in enumerate(wanted.tolist())}
        cells = [
            (row, place[label])
            for row, narrower in enumerate(ids.tolist())
            for label in self.broader(narrower)
            if label in place
        ]
        rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
        return csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(len(ids), len(wanted)))

    def implied(self, labels: csr_array, ids: np.ndarray, wanted: np.ndarray) -> csr_array:
        """Tell which labels are implied by other labels of each instance, whether it has them or not.

        `labels`: bool, shape (n, q).
        `ids`, `wanted`: int, shapes (q,) and (r,): as for `among`: the label of each column, and the labels to tell of.
        Returns: bool, shape (n, r).
        """
        return csr_array(labels.astype(np.int32) @ self.among(ids, wanted).astype(np.int32)) > 0

    def agreement(self, labels: csr_array, ids: np.ndarray) -> tuple[float, float, int]:
        """Tell how well the rules fit annotations, and how well they would with narrower and broader labels swapped.

        `labels`, `ids`: as for `implied`.
        Returns: the share of the next broader labels of annotated ones that are annotated too; the same of the next
        narrower ones; and how many there are, of the fewer of both.
        """
        place = {label: column for column, label in enumerate(ids.tolist())}
        pairs = [
            (place[label], place[wide])
            for label, broader in self.next_broader().items()
            for wide in broader
            if label in place and wide in place
        ]
        rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
        rules = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(len(ids), len(ids)))
        implied = [csr_array(labels.astype(np.int32) @ matrix) for matrix in (rules, rules.T)]
        now, swapped = (cells.multiply(labels).nnz / max(cells.nnz, 1) for cells in implied)
        return now, swapped, min(cells.nnz for cells in implied)

    @property
    def circle(self) -> list[int]:
        """Some labels that imply each other in turn, the first of them also as the last; empty without such."""
        try:
            TopologicalSorter(self._broader).prepare()
        except CycleError as error:
            return list(reversed(error.args[1]))
        return []

    def labels(self) -> np.ndarray:
        """Return all broader labels in use, ascending."""
        labels = {label for broader in self._broader.values() for label in broader if label >= 0}
        return np.array(sorted(labels), np.int64)

    def next_broader(self) -> dict[int, tuple[int, ...]]:
        """Return the next broader labels of each label that has some: what labels not in use hand on is theirs."""
        found: dict[int, tuple[int, ...]] = {}
        for label in sorted(label for label in self._broader if label >= 0):
            several = (self.broader(wide) if wide < 0 else {wide} for wide in self._broader[label])
            if above := {wide for them in several for wide in them if wide >= 0} - {label}:
                found[label] = tuple(sorted(above))
        return found


@dataclass(frozen=True)
class Answers:
    """Whether labels are true in some cells that are not annotated."""

    # `rows`, `columns`: int, shape (m,): the instance and the label of each cell
    rows: np.ndarray
    columns: np.ndarray
    true: np.ndarray  # bool, shape (m,)
    chance: np.ndarray  # float64, shape (m,): the probability with which the cell was drawn, in (0, 1]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: np.ndarray | slice) -> "Answers":
        return Answers(self.rows[index], self.columns[index], self.true[index], self.chance[index])

    def among(self, rows: np.ndarray) -> "Answers":
        """Return those on some instances, ascending, by their places among these."""
        inside = self[np.isin(self.rows, rows)]
        return replace(inside, rows=np.searchsorted(rows, inside.rows))

    def joined(self, others: "Answers") -> "Answers":
        """Return these, then others."""
        pairs = zip(vars(self).values(), vars(others).values(), strict=True)
        return Answers(*map(np.concatenate, pairs))

    @classmethod
    def none(cls) -> "Answers":
        """Return no answers."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0))


@dataclass(frozen=True)
class InstanceGroups:
    """The group of each instance."""

    of_instances: np.ndarray  # int, shape (n,): numbers from 0
    names: tuple[str, ...]  # the name of each group
    # float64, shape (groups,): label frequency of each, as soon as it has been estimated
    rates: np.ndarray | None = None

    def sums(self, of_instances: np.ndarray) -> np.ndarray:
        """Add up numbers of instances in each group: float64, shape (groups,)."""
        return np.bincount(self.of_instances, of_instances, len(self.names))

    def rows(self, index: np.ndarray | slice) -> "InstanceGroups":
        """Select instances, in the order of the index."""
        return replace(self, of_instances=self.of_instances[index])

    @property
    def instance_rates(self) -> np.ndarray | None:
        """The label frequency of each instance: float64, shape (n,)."""
        return None if self.rates is None else self.rates[self.of_instances]


@dataclass(frozen=True, kw_only=True)
class LabelInformation:
    """What a training learns from beside features and annotations, of n instances and q labels."""

    verified: VerifiedLabels | None = None  # what people have decided, beyond the annotations
    # The instances that were drawn at random and completely reviewed. The label frequency c comes from these, one for
    # each label, unless it is given.
    sampled: np.ndarray | None = None
    # The instances of a second file with complete label sets, drawn from the same population. Where c is neither
    # given nor told by a review, it comes from the rates of labels in both files.
    second: np.ndarray | None = None
    # Those to questions, on cells that were drawn by chance. Unless c is given, it comes from these and `sampled`.
    answers: Answers | None = None
    origins: csr_array | None = None  # int8, shape (n, q): the `Origin` of cells in `verified`
    groups: InstanceGroups | None = None  # groups of instances that have a label frequency of their own
    # int, shape (n,): Instances with equal numbers stay in one fold, as equal instances do (`core.problem`)
    same_fold: np.ndarray | None = None
    # float32, shape (q, any): A vector for each label, zero where there is none: the direction of the mean of the
    # prior of its weights (`core.side_information`)
    label_features: csr_array | None = None

    @property
    def label_information(self) -> "LabelInformation":
        """Return this alone, of a subclass."""
        return LabelInformation(**{field.name: getattr(self, field.name) for field in fields(LabelInformation)})

    def placed(self, ids: np.ndarray, every: np.ndarray) -> Self:
        """Return the same where the columns of a subset of the labels have their places among all, as of `widened`."""
        answers = self.answers and replace(self.answers, columns=np.searchsorted(every, ids)[self.answers.columns])
        origins = None if self.origins is None else widened(self.origins, ids, every)
        verified = self.verified and self.verified.widened(ids, every)
        return replace(self, verified=verified, answers=answers, origins=origins)

    def with_second(self, n: int, m: int, q: int) -> Self:
        """Return the same with m more instances, after n, whose label sets are complete."""
        first, second = self.verified or VerifiedLabels.of((n, q)), VerifiedLabels.of((m, q), complete=np.arange(m))
        same_fold = self.same_fold
        if same_fold is not None:
            same_fold = np.concatenate([same_fold, same_fold.max(initial=0) + 1 + np.arange(m)])
        verified = first.followed_by(second)
        return replace(self, verified=verified, second=np.arange(n, n + m), same_fold=same_fold)


@dataclass(frozen=True)
class Problem(LabelInformation):
    """The data of a training. What a user chooses is in `core.options.Options`.

    Attributes
    ----------
    features : csr_array of float32, shape (n, D)
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    """

    features: csr_array
    labels: csr_array
    # int, shape (n,): Instances with equal numbers stay in one fold (`core.problem`); None: by their features
    kin: np.ndarray | None = None

    def __len__(self) -> int:
        return self.features.shape[0]

    def narrowed(self) -> tuple["Problem", Columns]:
        """Leave out features that do not occur, where those that do are few.

        Returns
        -------
        problem : Problem
            Its label features have the columns of its features.
        occurring : Columns
            The features that occur, also in features of labels alone, which other instances may have.
        """
        matrix, of_labels = self.features, self.label_features
        if of_labels is not None:
            width = max(matrix.shape[1], of_labels.shape[1])
            matrix, of_labels = with_width(matrix, width), with_width(of_labels, width)
        occurring = Columns.occurring(matrix, *([] if of_labels is None else [of_labels]))
        of_labels = None if of_labels is None else occurring.narrowed(of_labels)
        return replace(self, features=occurring.narrowed(matrix), label_features=of_labels), occurring
