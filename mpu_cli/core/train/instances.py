"""All instances of a training, in parts, each of which stays in the process that has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.data.features import Features, coherence, draws
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.solver import sgd
from mpu_cli.core.train import parts
from mpu_cli.core.train.parts import PartRows, Selection
from mpu_cli.runtime.executor import Executor, Handle
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class Selected:
    """A selection, and what it selects of each part.

    Attributes
    ----------
    selection : Selection
    sizes : list of int
        Instances of each part.
    annotations : ndarray of int, shape (q,)
        How many of all of them are annotated with each label.
    """

    selection: Selection
    sizes: list[int]
    annotations: np.ndarray

    def __len__(self) -> int:
        return sum(self.sizes)

    def start(self, frequency: LabelFrequency) -> LinearModel:
        """Return where all labels start, cold, as `sgd.TrainingSet.cold_start` does."""
        size = len(self)
        share = self.annotations / max(size, 1) / frequency.single_precision().rates
        bias = sgd.bias_of_shares(share, size)
        return LinearModel(np.empty((0, len(bias)), np.float32), bias)


@dataclass(frozen=True)
class Instances:
    """All instances, in parts.

    Attributes
    ----------
    executor : Executor
        Of which the parts are handles.
    parts : sequence of Handle
        Of `parts.PartRows`.
    sizes : list of int
        Instances of each part.
    annotations : ndarray of int, shape (q,)
        How many instances are annotated with each label.
    width : int
        Number of features.
    """

    executor: Executor
    parts: Sequence[Handle]
    sizes: list[int]
    annotations: np.ndarray
    width: int

    def __len__(self) -> int:
        return sum(self.sizes)

    def fetch(self, rows: np.ndarray) -> PartRows:
        """Return some instances, by their numbers, ascending."""
        ends = np.cumsum(self.sizes)
        cuts = np.searchsorted(rows, np.concatenate([[0], ends]))
        wanted = [
            (part, rows[start:stop] - (end - size))
            for part, size, end, start, stop in zip(self.parts, self.sizes, ends, cuts, cuts[1:], strict=False)
            if stop > start
        ]
        found = self.executor.gather([self.executor.submit(parts.pick, part, some) for part, some in wanted])
        sparse = vstack([some.features.as_sparse() for some in found], format="csr")
        return PartRows(Features.of(csr_array(sparse)), csr_array(vstack([some.labels for some in found])), 0)

    def count(self, selection: Selection, run: Run) -> Selected:
        """Count what is selected."""
        counted = self.executor.gather(
            [self.executor.submit(parts.count, part, selection, run.seed) for part in self.parts]
        )
        return Selected(selection, [size for size, _ in counted], sum(annotations for _, annotations in counted))


class FeaturesOfAll:
    """Stands for the `Features` of all instances: what is asked for is fetched."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances

    def __len__(self) -> int:
        return len(self._instances)

    def __getitem__(self, rows: np.ndarray) -> Features:
        return self._instances.fetch(rows).features

    @cached_property
    def coherence(self) -> float:
        """As `Features.coherence`, of a sample that is fetched."""
        drawn = draws(len(self))
        every = np.unique(np.concatenate(drawn))
        found = self[every]
        return coherence([found[np.searchsorted(every, rows)] for rows in drawn])

    @cached_property
    def _squared_norms(self) -> float:
        submit, whole = self._instances.executor.submit, self._instances.parts
        return sum(self._instances.executor.gather([submit(parts.sum_of_squared_norms, part) for part in whole]))

    def mean_squared_norm(self) -> float:
        """As `Features.mean_squared_norm`, summed part by part."""
        return self._squared_norms / len(self) or 1.0


class LabelsOfAll:
    """Stands for their annotated labels."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self.shape = (len(instances), len(instances.annotations))

    def __getitem__(self, rows: np.ndarray) -> csr_array:
        return self._instances.fetch(rows).labels

    @cached_property
    def indptr(self) -> np.ndarray:
        """Where the labels of each instance would begin: int64, shape (n + 1,)."""
        submit, gather = self._instances.executor.submit, self._instances.executor.gather
        counts = gather([submit(parts.label_counts, part) for part in self._instances.parts])
        return np.cumsum([0, *np.concatenate(counts)])

    @property
    def nnz(self) -> int:
        """Number of annotations."""
        return int(self._instances.annotations.sum())
