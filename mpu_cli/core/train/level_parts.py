"""What a level that is learned from parts has, whether labels are few or many."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Self

from mpu_cli.core.model.bins import BinnedCells
from mpu_cli.core.model.calibration import Calibration
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.select.settling import Settled
from mpu_cli.core.train import parts
from mpu_cli.core.train.instances import Instances
from mpu_cli.core.train.mixing import rounds_of
from mpu_cli.runtime.executor import Handle, reduced
from mpu_cli.runtime.journal import Found, packed, unpacked
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class LevelParts:
    """How a level is learned.

    Attributes
    ----------
    instances : Instances
    level_parts : sequence of Handle
        The parts as the level learns from them.
    settled : Settled
    run : Run
    n_shards : int
    """

    instances: Instances
    level_parts: Sequence[Handle]
    settled: Settled
    run: Run
    n_shards: int

    @property
    def rounds(self) -> int:
        """How often the shards learn from each instance."""
        return rounds_of(self.n_shards, self.settled.settings.epochs)

    def of_next_level(self, predictions: list[Handle], calibration: Calibration | None, scale: float) -> Self:
        """Return how the next level is learned, from the predictions of this one too."""
        submit = self.instances.executor.submit
        parts_and_predictions = zip(self.level_parts, predictions, strict=True)
        return replace(
            self, level_parts=[submit(parts.stacked, *both, calibration, scale) for both in parts_and_predictions]
        )

    def count_cells(self, predictions: list[Handle]) -> BinnedCells:
        """Count the cells of all parts by their predictions."""
        executor, rates = self.instances.executor, self.settled.frequency.rates
        counted = [
            executor.submit(parts.count_cells, part, of_part, rates)
            for part, of_part in zip(self.level_parts, predictions, strict=True)
        ]
        return executor.gather([reduced(executor, add, counted)])[0]


def found_of(models: list[LinearModel]) -> Found:
    """Return the arrays of models, by name."""
    found: Found = {}
    for number, model in enumerate(models):
        found |= packed(f"weights {number}", model.weights) | {f"bias {number}": model.bias}
    return found


def models_of(found: Found) -> list[LinearModel]:
    """Return the models that `found_of` has taken apart."""
    n_models = sum(name.startswith("bias ") for name in found)
    return [LinearModel(unpacked(f"weights {i}", found), found[f"bias {i}"]) for i in range(n_models)]
