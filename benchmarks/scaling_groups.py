"""A simulated training of many labels: the units of work that `core.train.groups` makes.

Units that take a part are run here, once of their kind, on a part of a file: so their results are as large as they are.
What cannot be run here is reckoned from what `rehearsal` has measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add, getitem
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.rehearsal import Rehearsal, cells_of
from benchmarks.simulation import FLOAT, DenseModel, Simulation, Unit
from mpu_cli.cluster.dask_executor import size_of
from mpu_cli.core import parts
from mpu_cli.core.data.predictions import HeldOut
from mpu_cli.core.instances import Instances
from mpu_cli.core.linear_learner import rows_of
from mpu_cli.core.options import FEW_SHARDS
from mpu_cli.core.parts import PartRows
from mpu_cli.core.train import groups as group_units
from mpu_cli.core.train import mixing
from mpu_cli.core.train.algorithm import train_on_parts
from mpu_cli.runtime.run import Run

# A weight that is left, with its column.
_WEIGHT = 8


@dataclass(frozen=True)
class PickedCells:
    """Stands for picked instances: how many features there are, those of what each group learns from, and the bytes."""

    features: int
    cells: int
    bytes: int


class GroupSimulation(Simulation):
    """A `Simulation` of a training of many labels.

    Parameters
    ----------
    rehearsal : Rehearsal
    n_parts, workers : int
    """

    def __init__(self, rehearsal: Rehearsal, n_parts: int, workers: int) -> None:
        super().__init__(rehearsal.costs, len(rehearsal.part), rehearsal.part.features.width, workers)
        self._rehearsal = rehearsal
        weights = rehearsal.model.weights.nnz * n_parts**rehearsal.growth
        self._weights = weights / len(rehearsal.annotations)  # of a label
        self._predicting = rehearsal.of_instance + rehearsal.of_weight * weights  # an instance
        self._pieces = 0

    def estimate(self, function: Callable, arguments: Sequence[Any], inputs: Sequence[Unit]) -> tuple[float, int, Any]:
        """Return the seconds of a unit, and the bytes and value of its result."""
        rehearsal, value = self._rehearsal, inputs[0].value
        size = sum(one.bytes for one in inputs)
        if function is group_units.group:
            return rehearsal.grouping, size_of(rehearsal.groups), rehearsal.groups
        if function is mixing.pruned_model:
            return self.costs.add * value.bytes, self._bytes_left(value.features, value.labels), value
        if function is group_units.side_by_side:
            return self.costs.add * size, size, rehearsal.model_of_groups if len(arguments) == 1 else rehearsal.model
        if function is group_units.learn_groups:
            return self._learn_groups(value.features, sum(one.value.cells for one in inputs), *arguments[1:3])
        if function is group_units.pick_groups:
            found, seconds = rehearsal.run(_picked_cells, *map(_value, arguments))
            return seconds, found.bytes, found
        if function is getitem:
            return 0.0, size // value, None
        if function is parts.predict_held_out:
            selections, seed = arguments[2], arguments[-1].seed
            rows = rows_of([value.rows(selection, seed) for selection in selections], len(value))
            held_out = HeldOut(rows, rehearsal.predictions[rows])
            return self._predicting * held_out.probabilities.shape[0], size_of(held_out), held_out
        if isinstance(value, DenseModel) or function is parts.learn:
            return super().estimate(function, arguments, inputs)
        return self._rehearsed(function, arguments, inputs)

    def _rehearsed(
        self, function: Callable, arguments: Sequence[Any], inputs: Sequence[Unit]
    ) -> tuple[float, int, Any]:
        found, seconds = self._rehearsal.run(function, *map(_value, arguments))
        size = size_of(found)
        if isinstance(found, PartRows):  # shares with the part that it was made from what has not changed
            size -= sum(size_of(array) for name, array in vars(found).items() if array is vars(inputs[0].value)[name])
        if function is add and isinstance(found, csr_array):
            size = round(sum(one.bytes for one in inputs) / 2 * self._rehearsal.growth_of_sums)
            size = min(size, _WEIGHT * found.shape[0] * found.shape[1])
        return seconds, size, found

    def _learn_groups(self, features: int, cells: int, sizes: np.ndarray, wholes: list) -> tuple[float, int, int]:
        seconds = self._rehearsal.of_cell * cells + self._rehearsal.of_group * features * len(sizes) * len(wholes)
        return seconds, len(wholes) * self._bytes_left(features, sizes.sum()), len(wholes)

    def _bytes_left(self, features: int, labels: int) -> int:
        """Return the size of a model with sparse weights."""
        weights = min(self._weights, features) * labels
        return round(_WEIGHT * weights) + FLOAT * (features + 1)

    def width(self, part: PartRows) -> int:
        """Return the number of features of a part."""
        return part.features.width

    def place(self, function: Callable, inputs: Sequence[Unit]) -> int:
        """Return the worker of a unit: pieces of groups, which take instances of all workers, are dealt out."""
        if function is not group_units.learn_groups:
            return super().place(function, inputs)
        self._pieces += 1
        return self._pieces % self.threads


def _picked_cells(*arguments: Any) -> PickedCells:
    picked = group_units.pick_groups(*arguments)
    return PickedCells(picked.features.width, cells_of(picked), size_of(picked))


def _value(argument: Any) -> Any:
    if isinstance(argument, list):
        return [_value(one) for one in argument]
    return argument.value if isinstance(argument, Unit) else argument


def simulated(rehearsal: Rehearsal, n_parts: int, workers: int, shards: int = FEW_SHARDS) -> GroupSimulation:
    """Return the simulation of a training on so many parts, each as that of the rehearsal."""
    simulation = GroupSimulation(rehearsal, n_parts, workers)
    part = rehearsal.part
    n = n_parts * len(part)
    annotations = (rehearsal.annotations * n).astype(int)
    placed = simulation.placed(n_parts, shards, part)
    instances = Instances(simulation, placed, [len(part)] * n_parts, annotations, part.features.width)
    train_on_parts(instances, rehearsal.options, Run(), shards)
    return simulation
