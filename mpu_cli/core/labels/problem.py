"""The data of a training: instances, their annotations, and what else is known of their labels.

Repeated texts, and lines that stand in a file twice, often have the same annotations: what is learned from one is no
prediction of the other out of fold. Where folds are dealt, they belong together (`core.validation.deal`).
"""

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.predictions import CellList
from mpu_cli.errors import DataError

# Where features have few values, most instances repeat others by chance: fewer different ones are not kept together.
_FEWEST = 50
_ENTRIES = 1 << 20
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


def kin_of(features: csr_array) -> np.ndarray | None:
    """Return, for each instance, the first one with the same features: int, shape (n,).

    Instances with one feature or none count as different: they are alike by chance. None where all instances differ, or
    only few do.
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
    """Return a hash of the features of each instance, whatever their order: uint64, shape (n,)."""
    hashes = np.zeros(features.shape[0], np.uint64)
    indptr = features.indptr.astype(np.int64)
    starts = np.searchsorted(indptr, np.arange(0, max(features.nnz, 1), _ENTRIES), side="right") - 1
    for start, stop in zip(starts, [*starts[1:], features.shape[0]], strict=True):
        part = slice(indptr[start], indptr[stop])
        values = np.ascontiguousarray(features.data[part] + np.float32(0), np.float32).view(np.uint32)
        # Numbers of 64 bits, mixed (Steele, Lea and Flood, OOPSLA 2014).
        mixed = (features.indices[part].astype(np.uint64) << np.uint64(32) | values) + _ODD[0]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _ODD[1]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _ODD[2]
        mixed ^= mixed >> np.uint64(31)
        mixed[values == 0] = 0
        rows = start + np.flatnonzero(np.diff(indptr[start : stop + 1]))
        if len(rows):
            hashes[rows] = np.add.reduceat(mixed, indptr[rows] - indptr[start])
    return hashes


def joined(kin: np.ndarray | None, same_fold: np.ndarray | None) -> np.ndarray | None:
    """Return which instances stay in one fold: equal ones, as of `kin_of`, and what the user puts together.

    Where equal instances would join nearly all that the user keeps apart, the user's alone. DataError where all
    instances are to be in one fold.
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


def share_repeated(kin: np.ndarray | None) -> float:
    """Return the share of the instances that repeat an earlier one."""
    return 0.0 if kin is None else float(np.mean(kin != np.arange(len(kin))))


@dataclass(frozen=True)
class Answers(CellList):
    """Whether labels are true in some cells that are not annotated."""

    true: np.ndarray  # bool, shape (m,)

    @classmethod
    def none(cls) -> "Answers":
        """Return no answers."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))


@dataclass(frozen=True)
class InstanceGroups:
    """The group of each instance."""

    of_instances: np.ndarray  # int, shape (n,): numbers from 0
    names: tuple[str, ...]  # the name of each group

    def sums(self, of_instances: np.ndarray) -> np.ndarray:
        """Add up numbers of instances in each group: float64, shape (groups,)."""
        return np.bincount(self.of_instances, of_instances, len(self.names))

    def rows(self, index: np.ndarray | slice) -> "InstanceGroups":
        """Select instances, in the order of the index."""
        return replace(self, of_instances=self.of_instances[index])


@dataclass(frozen=True)
class Problem:
    """The data of a training. What a user chooses is in `core.options.Options`."""

    features: csr_array  # float32, shape (n, D)
    labels: csr_array  # bool, shape (n, q): annotated labels
    _: KW_ONLY
    # int, shape (n,): Instances with equal numbers stay in one fold; None: by their features
    kin: np.ndarray | None = None
    verified: VerifiedLabels | None = None  # what people have decided, beyond the annotations
    # The instances that were drawn at random and completely reviewed. The label frequency c comes from these, one for
    # each label, unless it is given.
    sampled: np.ndarray | None = None
    # The instances of a second file with complete label sets, drawn from the same population. Where c is neither
    # given nor told by a review, it comes from the rates of labels in both files.
    second: np.ndarray | None = None
    # Answers to questions, on cells that were drawn by chance. Unless c is given, it comes from these and `sampled`.
    answers: Answers | None = None
    origins: csr_array | None = None  # int8, shape (n, q): the `HowDecided` of cells in `verified`
    groups: InstanceGroups | None = None  # groups of instances that have a label frequency of their own
    # int, shape (n,): Instances with equal numbers stay in one fold, as equal instances do
    same_fold: np.ndarray | None = None
    # float32, shape (q, any): A vector for each label, zero where there is none: the direction of the mean of the
    # prior of its weights (`core.labels.side_information`)
    label_features: csr_array | None = None

    @property
    def is_reviewed(self) -> bool:
        """Whether there are complete label sets to estimate c from."""
        return any(rows is not None and len(rows) for rows in (self.sampled, self.second))

    @classmethod
    def extended(cls, problem: "Problem", **more: Any) -> Self:
        """Return a problem as one of this class, with these values of the fields that it adds or changes."""
        shared = {field.name: getattr(problem, field.name) for field in fields(Problem)}
        return cls(**(shared | more))

    def __len__(self) -> int:
        return self.features.shape[0]
