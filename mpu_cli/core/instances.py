"""The instances of a training, in the form that levels learn from."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Columns, Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency, count_annotations
from mpu_cli.core.frequency.review_frequency import Answered, ReviewedFrequency, from_people
from mpu_cli.core.predictions import count_positives
from mpu_cli.core.problem import Answers, Problem, Rows
from mpu_cli.core.repeated import joined, kin_of, share_repeated
from mpu_cli.core.scaling import Dominating, Evenness


@dataclass(frozen=True, kw_only=True)
class Instances(Rows):
    """All instances of a training."""

    occurring: Columns  # the features that occur, of all that there are; only these have columns if they are few
    evenness: Evenness  # of the features as they are in the data
    share_repeated: float  # of the instances, that are kept together with an earlier one of the same features
    # `label_features`, `sampled`, `second`, `answers`: as in `Problem`
    label_features: csr_array | None = None
    sampled: np.ndarray | None = None
    second: np.ndarray | None = None
    answers: Answers | None = None

    @classmethod
    def of(cls, problem: Problem) -> "Instances":
        """Return the instances of a problem."""
        narrow, occurring = problem.narrowed()
        features = Features.of(narrow.features)
        equal = kin_of(problem.features) if problem.kin is None else problem.kin
        kin = joined(equal, problem.same_fold)
        return cls(
            features=features,
            labels=problem.labels,
            verified=problem.verified,
            groups=problem.groups,
            kin=kin,
            occurring=occurring,
            evenness=Evenness.of(features),
            share_repeated=0.0 if kin is problem.same_fold else share_repeated(equal),
            label_features=narrow.label_features,
            sampled=problem.sampled,
            second=problem.second,
            answers=problem.answers,
        )

    @property
    def width(self) -> int:
        """Number of features."""
        return self.features.width

    @property
    def dominating(self) -> Dominating | None:
        """Return the feature, by its number, that has nearly all of the squared length of the instances."""
        found, columns = self.evenness.dominating, self.columns
        return found if found is None or columns is None else found._replace(column=int(columns.indices[found.column]))

    @property
    def columns(self) -> Columns | None:
        """Return the features that have columns; None: all."""
        return self.occurring if self.occurring.are_few else None

    @cached_property
    def annotations(self) -> np.ndarray:
        """How many instances are annotated with each label: int, shape (q,)."""
        return count_annotations(self.labels)

    @property
    def annotated(self) -> np.ndarray:
        """Return the labels that are annotated somewhere, by column."""
        return np.flatnonzero(self.annotations)

    def frequency(self, rates: np.ndarray | float) -> LabelFrequency:
        """Return the label frequency of all cells, from the rates of labels."""
        return LabelFrequency.of(rates, self.labels.shape, self.verified, self.groups)

    @property
    def positives(self) -> csr_array:
        """Return the annotated labels, corrected by verified ones."""
        return self.frequency(1.0).positives(self.labels)

    def positives_of_labels(self) -> np.ndarray:
        """Count the positive labels: ndarray of int, shape (q,)."""
        return count_positives(self.positives)

    def label_counts(self) -> np.ndarray:
        """Return how many labels each instance is annotated with: int, shape (n,)."""
        return np.diff(self.labels.indptr)

    def with_group_rates(self, rates: np.ndarray | None) -> "Instances":
        """Return the same, where each group has its label frequency; None: there are no groups."""
        return self if self.groups is None or rates is None else replace(self, groups=replace(self.groups, rates=rates))

    def group_annotations(self) -> np.ndarray:
        """Count the annotations of each group of instances, without implied ones: float64, shape (groups,)."""
        if self.groups is None:
            raise ValueError("instances without groups")
        by_chance = self.labels if self.verified is None else self.verified.without_implied(self.labels)
        return self.groups.sums(np.diff(by_chance.indptr))

    @property
    def is_reviewed(self) -> bool:
        """Whether there are complete label sets to estimate c from."""
        return any(rows is not None and len(rows) for rows in (self.sampled, self.second))

    def reviewed_frequency(self, automatic: float | None, answered: Answered | None = None) -> ReviewedFrequency | None:
        """Estimate c by what people know, as `from_people` does."""
        if not self.is_reviewed and answered is None:
            return None
        return from_people(self.labels, self.verified, self.sampled, self.second, automatic, answered)
