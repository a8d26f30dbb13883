"""All instances of a training, in parts; each stays in the process that has it, and one machine has one part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core import parts, sgd
from mpu_cli.core.data.features import Columns, Features, coherence, draws
from mpu_cli.core.data.problem import Answers, Problem, Rows
from mpu_cli.core.data.verified_labels import joined_verified
from mpu_cli.core.frequency.label_frequency import LabelCounts, count_annotations
from mpu_cli.core.frequency.review_frequency import Answered, ReviewedFrequency, from_people
from mpu_cli.core.model.stacking import LinearModel
from mpu_cli.core.parts import PartRows
from mpu_cli.core.validation import EVERYTHING, Selection
from mpu_cli.runtime.parallel import Executor, Handle, InProcess
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class Selected:
    """A selection, and what it selects of each part."""

    selection: Selection
    sizes: list[int]  # instances of each part
    counts: LabelCounts  # of the annotations of all of them

    def __len__(self) -> int:
        return sum(self.sizes)

    def start(self, rates: np.ndarray) -> LinearModel:
        """Return where all labels start, cold, as `sgd.TrainingSet.cold_start` does."""
        single = np.maximum(rates.astype(np.float32), np.finfo(np.float32).tiny)
        bias = sgd.bias_of_counts(self.counts, single)
        return LinearModel(np.empty((0, len(bias)), np.float32), bias)


@dataclass(frozen=True)
class Instances:
    """All instances, in parts."""

    executor: Executor  # which holds what the handles in `parts` stand for
    parts: Sequence[Handle]  # of `parts.PartRows`
    sizes: list[int]  # instances of each part
    annotations: np.ndarray  # int, shape (q,): how many instances are annotated with each label
    width: int  # number of features
    # The features that occur, of all that there are; only these have columns if they are few. None: all have.
    occurring: Columns | None = None
    label_features: csr_array | None = None  # float32, shape (q, width): as in `Problem`
    # `sampled`, `second`: as in `Problem`, through all parts
    sampled: np.ndarray | None = None
    second: np.ndarray | None = None
    answers: Answers | None = None  # as in `Problem`
    is_here: bool = False  # whether there is one part, in this process, whose threads all learn from it

    @classmethod
    def of(cls, problem: Problem) -> "Instances":
        """Return the instances of a problem as one part in this process."""
        narrow, occurring = problem.narrowed()
        features = Features.of(narrow.features)
        part = PartRows(features, problem.labels, verified=problem.verified, groups=problem.groups)
        return cls(
            InProcess(),
            [part],
            [len(part)],
            count_annotations(problem.labels),
            features.width,
            occurring=occurring,
            label_features=narrow.label_features,
            sampled=problem.sampled,
            second=problem.second,
            answers=problem.answers,
            is_here=True,
        )

    def __len__(self) -> int:
        return sum(self.sizes)

    @property
    def columns(self) -> Columns | None:
        """Return the features that have columns; None: all."""
        return self.occurring if self.occurring is not None and self.occurring.are_few else None

    @property
    def has_groups(self) -> bool:
        """Whether instances are in groups that have a label frequency of their own; none are on a cluster."""
        return self.is_here and self.parts[0].groups is not None

    def with_group_rates(self, rates: np.ndarray | None) -> "Instances":
        """Return the same, where each group has its label frequency; None: there are no groups."""
        if rates is None:
            return self
        submit = self.executor.submit
        return replace(self, parts=[submit(parts.with_group_rates, part, rates) for part in self.parts])

    def group_annotations(self) -> np.ndarray:
        """Return how many annotations each group of instances has: float64, shape (groups,)."""
        return np.sum(self.of_parts(parts.group_annotations), axis=0)

    def of_parts(self, unit: Callable[..., Any], *arguments: object) -> list[Any]:
        """Run a unit on each part, and return the results."""
        submit = self.executor.submit
        return self.executor.gather([submit(unit, part, *arguments) for part in self.parts])

    def fetch(self, rows: np.ndarray | None = None) -> Rows:
        """Return some instances, by their numbers, ascending; or all."""
        if len(self.parts) == 1:
            return self.executor.gather([self.executor.submit(parts.pick, self.parts[0], rows)])[0]
        rows = np.arange(len(self)) if rows is None else rows
        ends = np.cumsum(self.sizes)
        cuts = np.searchsorted(rows, np.concatenate([[0], ends]))
        wanted = [
            (part, rows[start:stop] - (end - size))
            for part, size, end, start, stop in zip(self.parts, self.sizes, ends, cuts, cuts[1:], strict=False)
            if stop > start
        ]
        fetched = self.executor.gather([self.executor.submit(parts.pick, part, one) for part, one in wanted])
        sparse = vstack([one.features.as_sparse() for one in fetched], format="csr")
        labels = csr_array(vstack([one.labels for one in fetched], format="csr"))
        return Rows(Features.of(csr_array(sparse)), labels, verified=joined_verified([one.verified for one in fetched]))

    def count(self, selection: Selection, run: Run) -> Selected:
        """Count what is selected."""
        sizes, counts = zip(*self.of_parts(parts.count, selection, run.seed), strict=True)
        return Selected(selection, list(sizes), sum(counts[1:], counts[0]))

    def positives_of_labels(self, selection: Selection = EVERYTHING, seed: int = 0) -> np.ndarray:
        """Count the positive labels of selected instances: ndarray of int, shape (q,)."""
        return np.sum(self.of_parts(parts.positives_of_labels, selection, seed), axis=0)

    @cached_property
    def coherence(self) -> float:
        """As `Features.coherence`, of a sample that is fetched."""
        drawn = draws(len(self))
        every = np.unique(np.concatenate(drawn))
        features = self.fetch(every).features
        return coherence([features[np.searchsorted(every, rows)] for rows in drawn])

    def mean_squared_norm(self, selection: Selection = EVERYTHING, seed: int = 0) -> float:
        """As `Features.mean_squared_norm`, of selected instances, summed part by part."""
        norms = self.of_parts(parts.squared_norms, selection, seed)
        return sum(total for total, _ in norms) / max(sum(size for _, size in norms), 1) or 1.0

    def label_counts(self) -> np.ndarray:
        """Return how many labels each instance is annotated with: int, shape (n,)."""
        return np.concatenate(self.of_parts(parts.label_counts))

    @property
    def annotated(self) -> np.ndarray:
        """Return the labels that are annotated somewhere, by column."""
        return np.flatnonzero(self.annotations)

    @property
    def is_reviewed(self) -> bool:
        """Whether there are complete label sets to estimate c from."""
        return any(rows is not None and len(rows) for rows in (self.sampled, self.second))

    def reviewed_frequency(self, automatic: float | None, answered: Answered | None = None) -> ReviewedFrequency | None:
        """Estimate c by what people know, as `from_people` does."""
        if not self.is_reviewed and answered is None:
            return None
        labels, verified = zip(*self.of_parts(parts.labels_of), strict=True)
        whole = labels[0] if len(labels) == 1 else csr_array(vstack(labels, format="csr"))
        return from_people(whole, joined_verified(verified), self.sampled, self.second, automatic, answered)
