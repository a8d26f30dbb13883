"""One model from many parts: shards learn side by side, and the mean of their models is the model.

The parts are dealt out to shards. A shard's model goes from part to part and learns from each in turn; each block of
labels does so on its own, and begins at another part, so that they keep as many workers busy. The mean of the shards'
models, by their numbers of instances, is the model, or the start of another round (iterative parameter mixing:
McDonald, Hall and Mann, "Distributed training strategies for the structured perceptron", NAACL 2010). A shard makes
fewer steps than one that learns from all, so they are larger, by the square root of the number of shards.

How many shards and rounds lose nothing: docs/choices.md, "More than one machine".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.options import FEW_SHARDS
from mpu_cli.core.solver import sgd
from mpu_cli.core.train import parts
from mpu_cli.core.train.instances import Selected
from mpu_cli.runtime.executor import Executor, Handle, reduced
from mpu_cli.runtime.run import Run

# Up to so many take two rounds, and more three.
_SOME_SHARDS = 16


def rounds_of(n_shards: int, epochs: int | None = None) -> int:
    """Return how many rounds make the mean of so many shards as good as one that learns from all; at least `epochs`."""
    return max(epochs or 1, 1 if n_shards <= FEW_SHARDS else 2 if n_shards <= _SOME_SHARDS else 3)


def shards_of(n_parts: int, n_shards: int) -> list[range]:
    """Deal parts out to shards: the numbers of those of each."""
    return [range(shard, n_parts, n_shards) for shard in range(n_shards)]


@dataclass(frozen=True)
class Mixing:
    """Learns models of selected instances.

    Attributes
    ----------
    executor : Executor
    frequency : LabelFrequency
    n_shards, rounds : int
    run : Run
        What units of work run with.
    submitted : callable
        Is given each unit that learns from a part.
    """

    executor: Executor
    frequency: LabelFrequency
    n_shards: int
    rounds: int
    run: Run
    submitted: Callable[[Handle], None] = lambda _: None

    def learn(self, level_parts: Sequence[Handle], selected: Selected, settings: sgd.Settings, n: int) -> Handle:
        """Learn a model of the selected instances of all parts.

        Parameters
        ----------
        level_parts : sequence of Handle
            Of `parts.PartRows`.
        selected : Selected
        settings : Settings
            Of one shard alone.
        n : int
            Instances that the model is to learn from, perhaps by going on: it is regularised by 1 / (C n).

        Returns
        -------
        Handle
            Of a LinearModel.
        """
        size = len(selected)
        model: Handle = selected.start(self.frequency)
        for round_ in range(self.rounds):
            model = self._round(level_parts, selected, settings, model, round_, round_ * size, n)
        return model

    def go_on(
        self,
        level_parts: Sequence[Handle],
        selected: Selected,
        settings: sgd.Settings,
        start: Handle,
        seen: int,
    ) -> Handle:
        """Go on with the last round of a model, which has so many instances behind it, on others."""
        n = seen + len(selected)
        return self._round(level_parts, selected, settings, start, self.rounds - 1, self.rounds * seen, n)

    def mean(self, models: Sequence[Handle], sizes: Sequence[int]) -> Handle:
        """Return the mean of models, weighted by how many instances each has learned from."""
        if len(models) == 1:
            return models[0]
        terms = [
            self.executor.submit(parts.scaled, model, size / sum(sizes))
            for model, size in zip(models, sizes, strict=True)
        ]
        return reduced(self.executor, parts.added, terms)

    def _round(
        self,
        level_parts: Sequence[Handle],
        selected: Selected,
        settings: sgd.Settings,
        start: Handle,
        round_: int,
        seen: int,
        n: int,
    ) -> Handle:
        """Learn from each selected instance once, after so many others, of n that make the model; return the mean."""
        settings = replace(settings, step=settings.step * float(np.sqrt(self.n_shards)))

        def through(numbers: Sequence[int], model: Handle, block: slice) -> Handle:
            """Have the model of a shard and block of labels learn from these parts, one after another."""
            size = 0
            for number in numbers:
                before = seen // self.n_shards + size
                model = self.executor.submit(
                    parts.learn,
                    level_parts[number],
                    selected.selection,
                    block,
                    self.frequency.rates,
                    settings,
                    model,
                    before,
                    n,
                    round_,
                    self.run,
                )
                self.submitted(model)
                size += selected.sizes[number]
            return model

        shards = shards_of(len(level_parts), self.n_shards)
        sizes = [sum(selected.sizes[number] for number in shard) for shard in shards]
        shards = [shard for shard, size in zip(shards, sizes, strict=True) if size]
        if not shards:
            return start
        sizes = [size for size in sizes if size]
        blocks = sgd.label_blocks(len(self.frequency.rates), self.run)
        means = []
        for place, block in enumerate(blocks):
            begin = self.executor.submit(LinearModel.block, start, block)
            models = [through(_rotated(shard, place / len(blocks)), begin, block) for shard in shards]
            means.append(self.mean(models, sizes))
        return self.executor.submit(parts.joined, means) if len(means) > 1 else means[0]


def _rotated(numbers: Sequence[int], share: float) -> list[int]:
    """Return numbers from the place at this share of them on, and then those before it."""
    place = int(share * len(numbers))
    return [*numbers[place:], *numbers[:place]]
