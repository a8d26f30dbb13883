"""One model from many parts: shards learn side by side, and the mean of their models is the model.

The parts are dealt out to shards. A shard's model goes from part to part and learns from each in turn; each block of
labels does so on its own, and begins at another part, so that they keep as many workers busy. The mean of the shards'
models, by their numbers of instances, is the model, or the start of another round (iterative parameter mixing:
McDonald, Hall and Mann, "Distributed training strategies for the structured perceptron", NAACL 2010). A shard makes
fewer steps than one that learns from all, so they are larger, by the square root of the number of shards.

How many shards and rounds lose nothing: docs/choices/speed.md, "More than one machine".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mpu_cli.core import parts, sgd
from mpu_cli.core.data.weights import pruned
from mpu_cli.core.instances import Selected
from mpu_cli.core.loss import DEFAULT, loss_named
from mpu_cli.core.model.stacking import LinearModel
from mpu_cli.core.options import FEW_SHARDS
from mpu_cli.core.parts import Pass
from mpu_cli.core.train.levels import Level
from mpu_cli.core.validation import Plan
from mpu_cli.runtime.parallel import Executor, Handle, reduced
from mpu_cli.runtime.run import Run

# Up to this many shards take two rounds, and more three.
_SOME_SHARDS = 16


def rounds_of(n_shards: int, epochs: int | None = None, loss: str = DEFAULT) -> int:
    """Return how many rounds make the mean of shards as good as one model of all instances; at least `epochs`.

    One of a loss that is not learned by PU-SGD: dual coordinate descent cannot go on with a mean.
    """
    if not loss_named(loss).has_step:
        return 1
    return max(epochs or 1, 1 if n_shards <= FEW_SHARDS else 2 if n_shards <= _SOME_SHARDS else 3)


def shards_of(n_parts: int, n_shards: int) -> list[range]:
    """Deal parts out to shards: the numbers of the parts of each."""
    return [range(shard, n_parts, n_shards) for shard in range(n_shards)]


@dataclass(frozen=True)
class Mixing:
    """Learns models of selected instances."""

    executor: Executor
    rates: np.ndarray
    settings: sgd.Settings  # of one shard alone
    n_shards: int
    run: Run  # what units of work run with
    submitted: Callable[[Handle], None] = lambda _: None  # is given each unit that learns from a part

    def rounds(self, n_parts: int) -> int:
        """Return how often the shards learn from each instance; a part that is a shard makes all passes at once."""
        return 1 if n_parts == 1 else rounds_of(self.n_shards, self.settings.epochs, self.settings.loss)

    def _at_once(self, n_parts: int) -> bool:
        """Whether each part alone is a shard. Dual coordinate descent cannot go on with the model of another part."""
        return n_parts == 1 or not loss_named(self.settings.loss).has_step

    def learn(self, level_parts: Sequence[Handle], selected: Selected, n: int, start: Handle | None = None) -> Handle:
        """Learn a model of the selected instances of all parts; return a handle of it.

        It is to learn from n instances, perhaps by going on: it is regularised by 1 / (C n). It starts at the model of
        a handle, or cold.
        """
        model: Handle = selected.start(self.rates) if start is None else start
        for round_ in range(self.rounds(len(level_parts))):
            model = self._round(level_parts, selected, model, n, round_ * len(selected), round_)
        return model

    def go_on(self, level_parts: Sequence[Handle], selected: Selected, start: Handle, seen: int) -> Handle:
        """Go on with the last round of a model, which has learned from other instances before, on more."""
        rounds = self.rounds(len(level_parts))
        return self._round(level_parts, selected, start, seen + len(selected), rounds * seen, rounds - 1)

    def through(
        self, level_parts: Sequence[Handle], chain: Sequence[Selected], start: Handle | None = None
    ) -> list[Handle]:
        """Learn from selections, one after another; return the model after each."""
        n, seen, models = sum(map(len, chain)), 0, list[Handle]()
        for selected in chain:
            if not models:
                models.append(self.learn(level_parts, selected, n, start))
            else:
                models.append(self.go_on(level_parts, selected, models[-1], seen))
            seen += len(selected)
        return models

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
        self, level_parts: Sequence[Handle], selected: Selected, start: Handle, n: int, seen: int, round_: int
    ) -> Handle:
        """Learn from selected instances, after others, of the n that the model learns from; return the mean."""
        at_once = self._at_once(len(level_parts))
        n_shards = len(level_parts) if at_once else self.n_shards
        settings = self.settings
        if not at_once:
            settings = replace(settings, epochs=1, step=settings.step * float(np.sqrt(n_shards)))

        def through(numbers: Sequence[int], model: Handle, block: slice) -> Handle:
            """Have the model of a shard and block of labels learn from these parts, one after another."""
            size = 0
            for number in numbers:
                pass_ = Pass(selected.selection, settings, n, seen // n_shards + size, round_)
                model = self.executor.submit(
                    parts.learn, level_parts[number], pass_, block, self.rates, model, self.run
                )
                self.submitted(model)
                size += selected.sizes[number]
            return model

        shards = shards_of(len(level_parts), n_shards)
        sizes = [sum(selected.sizes[number] for number in shard) for shard in shards]
        shards = [shard for shard, size in zip(shards, sizes, strict=True) if size]
        if not shards:
            return start
        sizes = [size for size in sizes if size]
        blocks = sgd.label_blocks(len(self.rates), self.run)
        means = []
        for place, block in enumerate(blocks):
            begin = self.executor.submit(LinearModel.block, start, block)
            models = [through(_rotated(shard, place / len(blocks)), begin, block) for shard in shards]
            means.append(self.mean(models, sizes))
        return self.executor.submit(parts.joined, means) if len(means) > 1 else means[0]


@dataclass(frozen=True, kw_only=True)
class Shards(Level):
    """A level of few labels that shards learn."""

    n_shards: int

    def mixing(self, rates: np.ndarray, settings: sgd.Settings, submitted: Callable[[Handle], None]) -> Mixing:
        """Return what learns labels of these rates."""
        return Mixing(self.executor, rates, settings, self.n_shards, self.unit_run, submitted)

    def passes(self, plan: Plan) -> int:
        """Count the passes over the parts."""
        rounds = self.mixing(self.chosen.rates, self.chosen.settings, lambda _: None).rounds(len(self.parts))
        return sum(rounds + len(chain.learned) - 1 for chain in plan.chains)

    def learn(self, enough: int) -> tuple[LinearModel, list[Handle]]:
        """Learn the level; see `Level`."""
        plan = self.plan(enough)
        *predicting, whole = self._models(plan)
        judging = [chain for chain in plan.chains if chain.predicted is not None]
        selections = [chain.predicted for chain in judging]
        annotations = None
        if self.is_guided:
            annotations = [self.instances.positives_of_labels(chain.learned[0], self.run.seed) for chain in judging]
        shared = predicting, selections, annotations, self.top, self.unit_run
        held_out = [self.executor.submit(parts.predict_held_out, part, *shared) for part in self.parts]
        return self.executor.gather([whole])[0], held_out

    def _models(self, plan: Plan) -> list[Handle]:
        """Return the models that predict, and the model of all instances."""
        chosen, step = self.chosen, f"level {self.number}"
        blocks = sgd.label_blocks(len(chosen.rates), self.run)
        with self.run.step(step, self.passes(plan) * len(self.parts) * len(blocks)) as tick:
            submitted: list[Handle] = []
            settings = replace(chosen.settings, step=plan.larger_steps * chosen.settings.step)
            mixing = self.mixing(chosen.rates, settings, submitted.append)
            predicting, whole = [], []
            for chain in plan.chains:
                of_chain = [self.instances.count(selection, self.run) for selection in chain.learned]
                models = mixing.through(self.parts, of_chain)
                if chain.predicted is not None:
                    begun = models[0]
                    predicting.append(begun)
                if chain in plan.whole:
                    whole.append(models[-1])
            mean = mixing.mean(whole, [1] * len(whole))
            self.executor.wait(submitted, tick)
        return [*predicting, mean]


def pruned_model(model: LinearModel, prune: float) -> LinearModel:
    """Return a model with dense weights without those below this absolute value, sparse."""
    return LinearModel(pruned(model.weights, prune), model.bias)


def _rotated(numbers: Sequence[int], share: float) -> list[int]:
    """Return numbers from the place at this share of them on, and then those before it."""
    place = int(share * len(numbers))
    return [*numbers[place:], *numbers[:place]]
