"""The data of a training: instances, their annotations, and other information on their labels.

That is verified labels, answers to questions, groups of instances, and label features.
"""

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Columns, Features, with_width
from mpu_cli.core.verified_labels import VerifiedLabels, widened


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
    # int, shape (n,): Instances with equal numbers stay in one fold, as equal instances do (`core.repeated`)
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
    # int, shape (n,): Instances with equal numbers stay in one fold (`core.repeated`); None: by their features
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


@dataclass(frozen=True)
class Rows:
    """Instances in memory, with features in the form that models learn from."""

    features: Features
    labels: csr_array  # bool, shape (n, q): annotated labels
    _: KW_ONLY
    verified: VerifiedLabels | None = None  # verified labels
    groups: InstanceGroups | None = None  # as in `Problem`
    kin: np.ndarray | None = None  # as in `Problem`; None: all instances differ

    def __len__(self) -> int:
        return len(self.features)

    def fetch(self, rows: np.ndarray | None = None) -> "Rows":
        """Return the instances of these rows, ascending; or all, without a copy."""
        if rows is None:
            return self
        return Rows(
            self.features[rows],
            self.labels[rows],
            verified=self.verified and self.verified.rows(rows),
            groups=self.groups and self.groups.rows(rows),
            kin=None if self.kin is None else self.kin[rows],
        )

    def block(self, columns: slice | np.ndarray) -> "Rows":
        """Return the same instances with a block of their labels."""
        verified = self.verified and self.verified.block(columns)
        return replace(self, labels=self.labels[:, columns], verified=verified)
