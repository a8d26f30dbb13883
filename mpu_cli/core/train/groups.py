"""A level of many labels, learned from instances in parts.

Groups of labels are the units of work: the instances on the list of a group are picked from all parts, and one process
learns from them what a single machine would learn. So what is learned does not depend on the parts, but for the most
annotated labels: these learn from all instances, by shards (`mixing`). A few groups at a time are picked together, and
only so many instances that a process has room for them.

Each part keeps the lists of its own instances. The directions of labels are sums over the parts. The model that tells
to which groups of labels an instance is near is learned by shards too, a block of groups at a time.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import add, getitem

import numpy as np

from mpu_cli.core import sgd
from mpu_cli.core.side.negative_sampling import INSTANCES, SIZE, directions_of, labels_to_group
from mpu_cli.core.train import group_units, parts
from mpu_cli.core.train.group_units import Whole
from mpu_cli.core.train.instances import Selected
from mpu_cli.core.train.mixing import Shards, arrays_of, models_of, pruned_model
from mpu_cli.core.validate.validation import EVERYTHING, Plan
from mpu_cli.runtime.parallel import Handle, reduced

# Labels whose instances are summed up at a time.
_LABELS = 4096
# Instances of a part by which a label is known, at least, if it has so many there.
_FEWEST = 20
# Instances that are picked together, at most, but for those of one group.
_TOGETHER = 200_000
# How many times as many pieces of work there are as can run at a time, at least.
_PIECES = 4


@dataclass(frozen=True, kw_only=True)
class GroupedLevel(Shards):
    """A level of many labels that are learned in groups.

    Attributes
    ----------
    groups : list of ndarray of int
        The labels of each group, ascending.
    prune : float
        Weights below this are dropped.
    """

    groups: list[np.ndarray]
    prune: float

    @classmethod
    def at_first(cls, level: Shards, prune: float) -> "GroupedLevel":
        """Return how level 0 is learned: find the groups, and the instances of each part to learn each from."""
        lists, groups = _negative_samples(level, prune)
        group_of = level.executor.gather([level.executor.submit(group_units.group_of, groups)])[0]
        order = np.argsort(group_of, kind="stable")
        labels = np.split(order, np.cumsum(np.bincount(group_of))[:-1])
        inherited = {field.name: getattr(level, field.name) for field in fields(level)}
        return cls(**inherited | {"parts": lists, "groups": labels, "prune": prune})

    def _models(self, plan: Plan) -> list[Handle]:
        """Return the models that predict, and that of all instances; learned, or kept."""
        executor, step = self.executor, f"level {self.number}"
        pieces = list(self._pieces())
        with self.run.step(step, len(pieces) + self.passes(plan) * len(self.parts)) as tick:
            checkpoint = self.run.checkpoints.load(step)
            if checkpoint is not None:
                return [executor.keep(model) for model in models_of(checkpoint)]
            # In turn: one chain, of two selections. Else each chain has one.
            selected = [
                self.instances.count(selection, self.run)
                for chain in (*plan.folds, *plan.whole)
                for selection in chain.learned
            ]
            submitted: list[Handle] = []
            wholes = [self._whole(one, is_last=one is selected[-1]) for one in selected]
            first = self._first_group(selected, wholes, plan.is_progressive, submitted.append)
            others = self._other_groups(pieces, selected, wholes, plan.is_progressive, tick)
            executor.wait(submitted, tick)
            labels = [self.groups[0], *(np.concatenate(self.groups[start:end]) for start, end in pieces)]
            models = [
                executor.submit(group_units.side_by_side, list(of_model), labels)
                for of_model in zip(first, *others, strict=True)
            ]
            self.run.checkpoints.save(step, lambda: arrays_of(executor.gather(models)))
            executor.wait(models)
        return models

    def _whole(self, selected: Selected, is_last: bool) -> Whole:
        """Return what all labels begin with on a selection; the last one is that of all instances."""
        chosen, start = self.chosen, selected.start(self.chosen.rates)
        if is_last and self.start_of is not None:
            start = self.start_of(self.number)
        settings = chosen.level_settings if is_last else chosen.settings
        return Whole(len(selected), self._mean_squared_norm(selected), settings, start)

    def _first_group(
        self, selected: Sequence[Selected], wholes: Sequence[Whole], in_turn: bool, submitted: Callable[[Handle], None]
    ) -> list[Handle]:
        """Learn the most annotated labels, from all instances."""
        labels = self.groups[0]
        of_group = [self.executor.submit(group_units.of_first_group, part, labels) for part in self.parts]
        chains = [selected] if in_turn else [[one] for one in selected]
        models: list[Handle] = []
        for chain, whole in zip(chains, wholes, strict=False):
            mixing = self.mixing(self.chosen.rates[labels], whole.settings, submitted)
            models += mixing.through(of_group, chain, whole.start.block(labels))
        return [self.executor.submit(pruned_model, model, self.prune) for model in models]

    def _other_groups(
        self,
        pieces: Sequence[tuple[int, int]],
        selected: Sequence[Selected],
        wholes: Sequence[Whole],
        in_turn: bool,
        tick: Callable[[], None],
    ) -> list[list[Handle]]:
        """Learn the groups of each piece, from the instances on their lists; few pieces at a time are under way."""
        executor, selections = self.executor, [one.selection for one in selected]

        def pick(start: int, end: int) -> list[Handle]:
            arguments = start, end, np.concatenate(self.groups[start:end]), selections, self.run.seed
            return [executor.submit(group_units.pick_groups, part, *arguments) for part in self.parts]

        def learn(start: int, end: int, picked: list[Handle]) -> Handle:
            groups = self.groups[start:end]
            sizes, labels = np.array([len(group) for group in groups]), np.concatenate(groups)
            of_labels = [whole.of_labels(labels) for whole in wholes]
            arguments = picked, sizes, of_labels, self.chosen.rates[labels], self.prune, self.unit_run, in_turn
            return executor.submit(group_units.learn_groups, *arguments)

        under_way = max(executor.threads, 1)
        # Picked before what is learned, lest a worker waits for it.
        ahead: deque[tuple[int, int, list[Handle]]] = deque()
        learned: list[Handle] = []
        for number in range(len(pieces) + under_way):
            if number < len(pieces):
                ahead.append((*pieces[number], pick(*pieces[number])))
            if number >= min(under_way, len(pieces)) and ahead:
                learned.append(learn(*ahead.popleft()))
            if len(learned) > under_way:
                executor.wait([learned[-under_way - 1]], tick)
        executor.wait(learned[-under_way:], tick)
        models = range(len(selections))
        return [[executor.submit(getitem, of_piece, model) for model in models] for of_piece in learned]

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Part the groups but the first into ranges that are learned together."""
        executor, n = self.executor, len(self.instances)
        sizes = sum(executor.gather([executor.submit(group_units.sample_sizes, part) for part in self.parts]))
        most = -(-(len(sizes) - 1) // (_PIECES * max(executor.threads, 1)))
        start, on_none = 1, 1.0  # the share of the instances that no group is learned from, were they independent
        for group in range(1, len(sizes)):
            without = on_none * (1 - sizes[group] / n)
            if group > start and (group - start == most or n * (1 - without) > _TOGETHER):
                yield start, group
                start, without = group, 1 - sizes[group] / n
            on_none = without
        yield start, len(sizes)

    def _mean_squared_norm(self, selected: Selected) -> float:
        """Return that of the features of this level."""
        submit, selection, seed = self.executor.submit, selected.selection, self.run.seed
        norms = self.executor.gather([submit(parts.squared_norms, part, selection, seed) for part in self.parts])
        return sum(total for total, _ in norms) / max(len(selected), 1) or 1.0


def _negative_samples(level: Shards, prune: float) -> tuple[Sequence[Handle], Handle]:
    """Find the groups of labels, and the instances of each part to learn each from.

    Returns
    -------
    parts : sequence of Handle
        Of `parts.PartRows`, with their negative samples.
    groups : Handle
        Of `negative_sampling.LabelGroups`.
    """
    instances, executor, level_parts, unit_run = level.instances, level.executor, level.parts, level.unit_run
    counts = executor.gather([executor.submit(group_units.count_positives, part) for part in level_parts])
    grouped = labels_to_group(np.sum(counts, axis=0))
    n_groups = -(-len(grouped) // SIZE)
    blocks = sgd.label_blocks(n_groups, level.run)
    submitted: list[Handle] = []
    mixing = level.mixing(np.ones(n_groups), level.chosen.settings, submitted.append)
    of_labels = executor.keep(instances.label_features) if level.chosen.settings.prior else None
    with level.run.step("shortlist", len(level_parts) * (len(blocks) * mixing.rounds(len(level_parts)) + 1)) as tick:
        most = max(-(-INSTANCES // len(level_parts)), _FEWEST)
        directions = []
        for start in range(0, len(grouped), _LABELS):
            labels = grouped[start : start + _LABELS]
            of_parts = [executor.submit(group_units.sums_of_labels, part, labels, most) for part in level_parts]
            directions.append(executor.submit(directions_of, reduced(executor, add, of_parts)))
        arguments = directions, grouped, len(instances.annotations), level.run.seed, of_labels
        groups = executor.submit(group_units.group, *arguments)

        annotated = [executor.submit(group_units.annotated_groups, part, groups) for part in level_parts]
        selected = replace(instances, parts=annotated).count(EVERYTHING, level.run)
        models = []
        for block in blocks:
            of_block = [executor.submit(group_units.of_labels, part, block) for part in annotated]
            of_groups = replace(selected, counts=selected.counts.block(block))
            model = replace(mixing, rates=mixing.rates[block]).learn(of_block, of_groups, len(instances))
            models.append(executor.submit(pruned_model, model, prune))
        model = executor.submit(group_units.side_by_side, models)
        lists = [
            executor.submit(group_units.listed, part, groups, model, len(instances), unit_run) for part in level_parts
        ]
        executor.wait([*submitted, *lists], tick)
    return lists, groups
