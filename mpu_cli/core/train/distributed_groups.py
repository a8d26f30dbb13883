"""A level of many labels, learned from instances in parts.

Groups of labels are the units of work: the instances on the list of a group are picked from all parts, and one process
learns from them what a single machine would learn. So what is learned does not depend on the parts, but for the most
annotated labels: these learn from all instances, by shards (`mixing`). A few groups at a time are picked together, and
only so many instances that a process has room for them.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import getitem

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.data.predictions import HeldOut, Top
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.train import group_units, parts
from mpu_cli.core.train.distributed_shortlist import with_shortlists
from mpu_cli.core.train.group_units import Whole
from mpu_cli.core.train.instances import Selected
from mpu_cli.core.train.level_parts import LevelParts, found_of, models_of
from mpu_cli.core.train.mixing import Mixing
from mpu_cli.core.train.parts import EVERYTHING, Selection
from mpu_cli.core.validate.validation import default_folds, leading
from mpu_cli.runtime.executor import Handle

# Instances that are picked together, at most, but for those of one group.
_TOGETHER = 200_000
# How many times as many pieces of work there are as can run at a time, at least.
_PIECES = 4


@dataclass(frozen=True)
class GroupLearner(LevelParts):
    """How a level of many labels is learned.

    Attributes
    ----------
    top : Top
        Which predictions are kept.
    groups : list of ndarray of int
        The labels of each group, ascending.
    """

    top: Top
    groups: list[np.ndarray]

    @classmethod
    def at_first(cls, before: LevelParts, top: Top) -> "GroupLearner":
        """Return how level 0 is learned: find the shortlists."""
        given = before.instances, before.settled, before.n_shards
        lists, groups = with_shortlists(*given, before.rounds, before.run)
        executor = before.instances.executor
        group_of = executor.gather([executor.submit(group_units.group_of, groups)])[0]
        order = np.argsort(group_of, kind="stable")
        labels = np.split(order, np.cumsum(np.bincount(group_of))[:-1])
        return cls(before.instances, lists, before.settled, before.run, before.n_shards, top, labels)

    def learn(self, level: int) -> tuple[LinearModel, list[Handle]]:
        """Learn a level; return its model, and predictions of each part by models that have not seen its instances."""
        return self._learn(level, len(self.instances))

    def learn_last(self, level: int, enough: int) -> tuple[LinearModel, HeldOut, csr_array]:
        """Learn the last level; return its model, held-out predictions of so many instances, and their annotations.

        Where one pass will do, the last instances are predicted before they are learned from, as in `progressive`.
        """
        n, executor = len(self.instances), self.instances.executor
        if self.settled.settings.epochs != 1 or n < 2 * enough:
            model, found = self._learn(level, enough)
            folds, seed = self._folds, self.run.seed
            some = folds, self._leading(enough), seed
            predictions = [
                executor.submit(group_units.held_out, of_part, part, *some)
                for of_part, part in zip(found, self.level_parts, strict=True)
            ]
            labels = [executor.submit(group_units.held_out_labels, part, *some) for part in self.level_parts]
        else:
            selections = [Selection(n // enough), Selection(n // enough, inside=True)]
            begun, whole = self._models(level, selections, in_turn=True)
            model = executor.gather([whole])[0]
            last, unit_run = selections[1], self.run.on_a_worker()
            predictions = [
                executor.submit(group_units.predict_top_selected, part, last, begun, self.top, unit_run)
                for part in self.level_parts
            ]
            labels = [executor.submit(parts.labels_of, part, last, self.run.seed) for part in self.level_parts]
        together = csr_array(vstack(executor.gather(predictions), format="csr"))
        return model, HeldOut(slice(None), together), csr_array(vstack(executor.gather(labels), format="csr"))

    @property
    def _folds(self) -> int:
        return self.settled.folds or default_folds(len(self.instances))

    def _leading(self, enough: int) -> int:
        """Count the folds, from the first on, that hold out at least so many instances together."""
        size, larger = divmod(len(self.instances), self._folds)
        return leading([range(size + (fold < larger)) for fold in range(self._folds)], enough)

    def _learn(self, level: int, enough: int) -> tuple[LinearModel, list[Handle]]:
        """Learn a level, and predict as many folds of each part as have so many instances."""
        folds, executor = self._folds, self.instances.executor
        selections = [Selection(folds, fold) for fold in range(self._leading(enough))]
        *of_folds, whole = self._models(level, [*selections, EVERYTHING])
        run = self.run.on_a_worker()
        predictions = [
            executor.submit(group_units.predict_top_out_of_fold, part, of_folds, folds, self.top, run)
            for part in self.level_parts
        ]
        return executor.gather([whole])[0], predictions

    def _models(self, level: int, selections: Sequence[Selection], in_turn: bool = False) -> list[Handle]:
        """Return the models of some selections, or, in turn, of the first one and both; learned, or kept."""
        executor, step = self.instances.executor, f"level {level}"
        pieces = list(self._pieces())
        passes = self.rounds + 1 if in_turn else self.rounds * len(selections)
        ticks = len(pieces) + passes * len(self.level_parts)
        with self.run.step(step, ticks) as tick:
            found = self.run.journal.kept(step)
            if found is not None:
                return [executor.keep(model) for model in models_of(found)]
            selected = [self.instances.count(selection, self.run) for selection in selections]
            submitted: list[Handle] = []
            first = self._first_group(selected, in_turn, submitted.append)
            others = self._other_groups(pieces, selected, in_turn, tick)
            executor.wait(submitted, tick)
            labels = [self.groups[0], *(np.concatenate(self.groups[start:end]) for start, end in pieces)]
            models = [
                executor.submit(group_units.side_by_side, list(of_model), labels)
                for of_model in zip(first, *others, strict=True)
            ]
            self.run.journal.keep(step, lambda: found_of(executor.gather(models)))
            executor.wait(models)
        return models

    def _first_group(
        self, selected: Sequence[Selected], in_turn: bool, submitted: Callable[[Handle], None]
    ) -> list[Handle]:
        """Learn the most annotated labels, from all instances."""
        executor, labels, settings = self.instances.executor, self.groups[0], self.settled.settings
        of_group = [executor.submit(group_units.of_first_group, part, labels) for part in self.level_parts]
        frequency = self.settled.frequency.block(labels)
        run = self.run.on_a_worker()
        mixing = Mixing(executor, frequency, self.n_shards, self.rounds, run, submitted)
        given = [replace(some, annotations=some.annotations[labels]) for some in selected]
        if in_turn:
            begun = mixing.learn(of_group, given[0], settings, len(self.instances))
            models = [begun, mixing.go_on(of_group, given[1], settings, begun, len(given[0]))]
        else:
            models = [mixing.learn(of_group, some, settings, len(some)) for some in given]
        return [executor.submit(group_units.pruned_model, model, self.settled.prune) for model in models]

    def _other_groups(
        self, pieces: Sequence[tuple[int, int]], selected: Sequence[Selected], in_turn: bool, tick: Callable[[], None]
    ) -> list[list[Handle]]:
        """Learn the groups of each piece, from the instances on their lists; few pieces at a time are under way."""
        executor, settled, run = self.instances.executor, self.settled, self.run.on_a_worker()
        unit = group_units.learn_groups_in_turn if in_turn else group_units.learn_groups
        selections = [some.selection for some in selected]
        norms = [self._mean_squared_norm(some) for some in selected]
        starts = [some.start(settled.frequency).bias for some in selected]

        def pick(start: int, end: int) -> list[Handle]:
            given = start, end, np.concatenate(self.groups[start:end]), selections, self.run.seed
            return [executor.submit(group_units.pick_groups, part, *given) for part in self.level_parts]

        def learn(start: int, end: int, picked: list[Handle]) -> Handle:
            groups = self.groups[start:end]
            sizes, labels = np.array([len(group) for group in groups]), np.concatenate(groups)
            of_selections = zip(selected, norms, starts, strict=True)
            wholes = [Whole(len(some), norm, bias[labels]) for some, norm, bias in of_selections]
            rates = settled.frequency.rates[labels]
            return executor.submit(unit, picked, sizes, wholes, rates, settled.settings, settled.prune, run)

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
        executor, n = self.instances.executor, len(self.instances)
        sizes = sum(executor.gather([executor.submit(group_units.list_sizes, part) for part in self.level_parts]))
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
        executor, seed = self.instances.executor, self.run.seed
        sums = [
            executor.submit(parts.sum_of_squared_norms, part, selected.selection, seed) for part in self.level_parts
        ]
        return sum(executor.gather(sums)) / max(len(selected), 1) or 1.0
