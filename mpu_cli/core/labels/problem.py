"""The training data: instances, their annotations, and other information about their labels.

Repeated texts, and duplicate lines in a file, often have the same annotations: a model that has learned from one does
not predict the other out of fold. So they are kept in the same fold (`core.validation.deal`).
"""

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.predictions import CellList
from mpu_cli.errors import DataError

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


def share_repeated(kin: np.ndarray | None) -> float:
    """Return the share of instances that repeat an earlier one."""
    return 0.0 if kin is None else float(np.mean(kin != np.arange(len(kin))))


@dataclass(frozen=True)
class Answers(CellList):
    """Whether the label is true in each of some unannotated cells."""

    true: np.ndarray  # bool, shape (m,)

    @classmethod
    def none(cls) -> "Answers":
        """Return an empty list of answers."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))


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
    # (`core.labels.side_information`)
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

    def __len__(self) -> int:
        return self.features.shape[0]
