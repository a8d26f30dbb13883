"""A level of many labels, learned from instances in parts.

Groups of labels are the units of work: the instances on the list of a group are picked from all parts, and one process
learns from them what a single machine would learn. So what is learned does not depend on the parts, but for the most
annotated labels: these learn from all instances, by shards (`mixing`). A few groups at a time are picked together, and
only as many instances as a process has room for.

Each part keeps the lists of its own instances. The directions of labels are sums over the parts. The model that tells
to which groups of labels an instance is near is learned by shards too, a block of groups at a time.

On one machine, `sample_negatives` draws the instances that each group of labels is learned from.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import add, getitem

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, vstack

from mpu_cli.core import parts, sgd
from mpu_cli.core.data.features import Features, unit_rows
from mpu_cli.core.data.predictions import LEAST, Block, Top
from mpu_cli.core.data.verified_labels import VerifiedLabels, joined_verified
from mpu_cli.core.frequency.label_frequency import LabelFrequency, count_annotations
from mpu_cli.core.instances import Selected
from mpu_cli.core.kernels import kernel
from mpu_cli.core.linear_learner import through
from mpu_cli.core.model.stacking import LinearModel
from mpu_cli.core.negative_sampling import (
    INSTANCES,
    SIZE,
    LabelGroups,
    NegativeSample,
    centroids,
    directions_of,
    joined_cells,
    labels_to_group,
    rows_of,
    sums_of_instances,
)
from mpu_cli.core.parts import PartRows, seed_of
from mpu_cli.core.sgd import Settings, TrainingSet, train_linear
from mpu_cli.core.side_information import NO_SIDE_INFORMATION, Prior, SideInformation
from mpu_cli.core.train.mixing import Shards, pruned_model
from mpu_cli.core.validation import EVERYTHING, Plan, Selection
from mpu_cli.runtime.parallel import Handle, reduced
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.steps import Step

# The share of the groups that an instance is near to, times the square root of the number of instances; and random
# groups that learn from it, by those.
_NEAREST, _RANDOM = 15.0, 1.0
# Labels to whose instances an instance is the most similar.
_SIMILAR = 20


def sample_negatives(
    features: Features,
    labels: csr_array,
    frequency: LabelFrequency,
    settings: Settings,
    prune: float | None,
    run: Run,
    prior: Prior | None = None,
) -> NegativeSample:
    """Find the groups of labels, and the instances to learn each from; there are more labels than are in a group.

    `settings` and `prune` are for the model of groups. With a prior, labels are also like instances that have
    features of their own.
    """
    n, q = labels.shape
    positives = frequency.positives(labels)
    grouped = labels_to_group(np.bincount(positives.indices, minlength=q))
    directions = centroids(features, positives[:, grouped])
    if prior is not None:
        directions = unit_rows(directions + csr_array(prior.vectors[:, grouped].T))
    groups = LabelGroups.of(directions, grouped, q, run.seed)
    annotated = groups.annotated(positives)[:, 1:]
    data = TrainingSet(features, annotated, np.arange(n), run)
    model = train_linear(data, LabelFrequency.of(1.0, annotated.shape), settings, prune=prune)
    return sample_instances(features, positives, groups, model, n, groups.generator(), run, frequency.verified)


def sample_instances(
    features: Features,
    positives: csr_array,
    groups: LabelGroups,
    model: LinearModel,
    of: int,
    rng: np.random.Generator,
    run: Run,
    verified: VerifiedLabels | None = None,
) -> NegativeSample:
    """Find the instances to learn each group from, of n.

    Their positives (n x q) are annotated labels, corrected by verified labels. The model is of the groups but the
    first; there are `of` instances in all; the generator draws the random groups of an instance.
    """
    n, n_groups = len(features), len(groups)
    no_bias = np.zeros(len(groups.grouped), np.float32)
    similar = kernel(run).top_scores(features.as_sparse(), groups.by_feature, no_bias, Top(_SIMILAR, 0.5))
    similar.eliminate_zeros()
    most = int(np.ceil(min(_NEAREST / np.sqrt(of), 1.0) * (n_groups - 1)))
    nearest = model.top(features, Top(most, LEAST), run)
    at_random = rng.integers(1, n_groups, (n, int(np.ceil(_RANDOM * most))), np.int32)

    group_of = groups.group_of
    cells = [
        (np.zeros(n, np.int32), np.arange(n, dtype=np.int32)),
        (group_of[positives.indices], rows_of(positives)),
        (group_of[groups.grouped[similar.indices]], rows_of(similar)),
        (nearest.indices + 1, rows_of(nearest)),
        (at_random.ravel(), np.repeat(np.arange(n, dtype=np.int32), at_random.shape[1])),
    ]
    if verified is not None:
        cells.append((group_of[verified.cells.indices], rows_of(verified.cells)))
    return NegativeSample(group_of, joined_cells((n_groups, n), cells))


@dataclass(frozen=True)
class Picked:
    """The instances of a part that some groups are learned from."""

    features: Features
    labels: csr_array  # bool, shape (m, k): annotated labels of these groups, group by group
    instances: csr_array  # bool, shape (groups, m): where a group is learned from an instance
    selected: np.ndarray  # bool, shape (selections, m): which of them are in each of some selections
    verified: VerifiedLabels | None = None
    # float32, shape (D, k): where the weights are drawn to (`core.side_information`)
    vectors: csc_array | None = None


@dataclass(frozen=True)
class Whole:
    """All instances of a selection; each group is learned from some of them."""

    size: int
    mean_squared_norm: float
    settings: Settings
    start: LinearModel  # where the labels of the groups start

    def of_labels(self, labels: np.ndarray) -> "Whole":
        """Return the same for some of the labels."""
        return replace(self, start=self.start.of_labels(labels))


def count_positives(part: PartRows) -> np.ndarray:
    """Count the instances of each label, verified labels considered."""
    return count_annotations(part.positives)


def sums_of_labels(part: PartRows, labels: np.ndarray, most: int) -> csr_array:
    """Sum up instances of each of some labels, scaled to unit length, up to a maximum number."""
    return sums_of_instances(part.features, part.positives[:, labels], most)


def group(
    directions: list[csr_array], grouped: np.ndarray, q: int, seed: int, label_features: csr_array | None = None
) -> LabelGroups:
    """Group labels by their directions, which come in blocks of labels, and by their features."""
    stacked = csr_array(vstack(directions, format="csr"))
    if label_features is not None:
        stacked = unit_rows(stacked + unit_rows(label_features)[grouped])
    return LabelGroups.of(stacked, grouped, q, seed)


def group_of(groups: LabelGroups) -> np.ndarray:
    """Return the group of each label."""
    return groups.group_of


def annotated_groups(part: PartRows, groups: LabelGroups) -> PartRows:
    """Return a part with groups in place of labels, without the group of the most annotated labels."""
    return replace(part, labels=groups.annotated(part.positives)[:, 1:], verified=None, side=NO_SIDE_INFORMATION)


def of_labels(part: PartRows, labels: Block) -> PartRows:
    """Return a part with a block of its labels."""
    return replace(part, labels=part.labels[:, labels])


def listed(part: PartRows, groups: LabelGroups, model: LinearModel, n: int, run: Run) -> PartRows:
    """Return a part with the instances that each group is learned from; there are n in all parts."""
    rng = np.random.default_rng(seed_of(run.seed, part.number)) if part.number else groups.generator()
    negatives = sample_instances(part.features, part.positives, groups, model, n, rng, run, part.verified)
    return replace(part, side=replace(part.side, negatives=negatives))


def negatives_of(part: PartRows) -> NegativeSample:
    """Return the instances that each group is learned from."""
    if part.side.negatives is None:
        raise ValueError("a part without a negative sample")
    return part.side.negatives


def sample_sizes(part: PartRows) -> np.ndarray:
    """Return from how many instances each group is learned."""
    return np.diff(negatives_of(part).instances.indptr)


def of_first_group(part: PartRows, labels: np.ndarray) -> PartRows:
    """Return a part with the labels of the first group, which is learned from all instances."""
    every = NegativeSample(np.zeros(len(labels), np.int32), csr_array(np.ones((1, len(part)), bool)))
    prior = part.side.prior and part.side.prior.block(labels)
    verified = part.verified and part.verified.block(labels)
    return replace(part, labels=part.labels[:, labels], verified=verified, side=SideInformation(prior, every))


def pick_groups(
    part: PartRows, first: int, end: int, labels: np.ndarray, selections: Sequence[Selection], seed: int
) -> Picked:
    """Return the instances that the groups from one up to another, with these labels, are learned from."""
    instances = negatives_of(part).instances[first:end]
    rows = np.unique(instances.indices)
    places = np.searchsorted(rows, instances.indices).astype(np.int32)
    selected = np.zeros((len(selections), len(part)), bool)
    for of_selection, selection in zip(selected, selections, strict=True):
        of_selection[part.rows(selection, seed)] = True
    return Picked(
        part.features[rows],
        part.labels[rows][:, labels],
        csr_array((instances.data, places, instances.indptr), shape=(end - first, len(rows))),
        selected[:, rows],
        part.verified and part.verified.rows(rows).block(labels),
        part.side.prior and part.side.prior.block(labels).vectors,
    )


class _SampledTrainingSet(TrainingSet):
    """Instances that some groups are learned from, of all of a selection."""

    def __init__(
        self, features: Features, labels: csr_array, rows: np.ndarray, run: Run, side: SideInformation, whole: Whole
    ) -> None:
        super().__init__(features, labels, rows, run, side)
        self.size, self.mean_squared_norm = whole.size, whole.mean_squared_norm


def learn_groups(
    picked: list[Picked],
    sizes: np.ndarray,
    wholes: list[Whole],
    rates: np.ndarray,
    prune: float,
    run: Run,
    in_turn: bool = False,
) -> list[LinearModel]:
    """Learn some groups of k labels from each of some selections, or, in turn, from the first one and both.

    `picked`: of each part.
    `sizes`: how many labels each group has.
    `wholes`: the selections.
    `prune`: weights below this are dropped, so that the weights of models, (D, k), are sparse.
    `in_turn`: whether one model learns from two selections, one after the other, in one pass.
    """
    sets = _training_sets(picked, sizes, wholes, run)
    frequency = LabelFrequency.of(rates, sets[0].labels.shape, joined_verified([part.verified for part in picked]))
    if not in_turn:
        return [
            sgd.train_linear(data, frequency, whole.settings, whole.start, prune=prune)
            for data, whole in zip(sets, wholes, strict=True)
        ]
    begun: list[tuple[LinearModel, np.ndarray]] = []

    def look(block: Block, model: LinearModel) -> None:
        begun.append((pruned_model(model, prune), np.arange(len(rates))[block]))

    def learn(block: Block) -> LinearModel:
        return through(sets, block, frequency, wholes[0].settings, wholes[0].start.block(block), look)

    model = sgd.by_blocks(sets[-1], learn, prune)
    return [LinearModel.of_blocks(*zip(*begun, strict=True)), model]


def _training_sets(picked: list[Picked], sizes: np.ndarray, wholes: list[Whole], run: Run) -> list[_SampledTrainingSet]:
    features = _side_by_side([part.features for part in picked])
    labels = csr_array(vstack([part.labels for part in picked], format="csr"))
    instances = csr_array(hstack([part.instances for part in picked], format="csr"))
    vectors = picked[0].vectors
    prior = None if vectors is None else Prior(vectors, features.as_sparse().tocsc())
    side = SideInformation(prior, NegativeSample(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), instances))
    selected = np.concatenate([part.selected for part in picked], axis=1)
    return [
        _SampledTrainingSet(features, labels, np.flatnonzero(rows), run, side, whole)
        for rows, whole in zip(selected, wholes, strict=True)
    ]


def _side_by_side(parts: list[Features]) -> Features:
    """Return the instances of all; dense features where all have them."""
    if len({part.dense.shape[1] for part in parts}) > 1:
        parts = [Features(part.as_sparse(), np.empty((len(part), 0), np.float32)) for part in parts]
    sparse = csr_array(vstack([part.sparse for part in parts], format="csr"))
    return Features(sparse, np.concatenate([part.dense for part in parts]))


def side_by_side(models: list[LinearModel], labels: list[np.ndarray] | None = None) -> LinearModel:
    """Put models of blocks of labels together; without the labels of each, these are side by side."""
    if labels is None:
        ends = np.cumsum([len(model.bias) for model in models])
        labels = np.split(np.arange(ends[-1]), ends[:-1])
    return LinearModel.of_blocks(models, labels)


# Labels whose instances are summed up at a time.
_LABELS = 4096
# How many instances of a part a label is known by, at least, if it has that many there.
_FEWEST = 20
# How many instances are picked together, at most; one group may have more.
_TOGETHER = 200_000
# How many times as many pieces of work there are as can run at a time, at least.
_PIECES = 4


@dataclass(frozen=True, kw_only=True)
class GroupedLevel(Shards):
    """A level of many labels that are learned in groups."""

    groups: list[np.ndarray]  # the labels of each group, ascending
    prune: float  # weights below this are dropped

    @classmethod
    def at_first(cls, level: Shards, prune: float) -> "GroupedLevel":
        """Return how level 0 is learned: find the groups, and the instances of each part to learn each from."""
        lists, groups = _negative_samples(level, prune)
        group_of_label = level.executor.gather([level.executor.submit(group_of, groups)])[0]
        order = np.argsort(group_of_label, kind="stable")
        labels = np.split(order, np.cumsum(np.bincount(group_of_label))[:-1])
        inherited = {field.name: getattr(level, field.name) for field in fields(level)}
        return cls(**inherited | {"parts": lists, "groups": labels, "prune": prune})

    def _models(self, plan: Plan) -> list[Handle]:
        """Return the models that predict, and the model of all instances."""
        executor, step = self.executor, f"level {self.number}"
        pieces = list(self._pieces())
        with self.run.step(step, len(pieces) + self.passes(plan) * len(self.parts)) as tick:
            # In turn: one chain, of two selections. Else each chain has one.
            selected = [
                self.instances.count(selection, self.run)
                for chain in (*plan.folds, *plan.whole)
                for selection in chain.learned
            ]
            submitted: list[Handle] = []
            wholes = [self._whole(one) for one in selected]
            first = self._first_group(selected, wholes, plan.is_progressive, submitted.append)
            others = self._other_groups(pieces, selected, wholes, plan.is_progressive, tick)
            executor.wait(submitted, tick)
            labels = [self.groups[0], *(np.concatenate(self.groups[start:end]) for start, end in pieces)]
            models = [
                executor.submit(side_by_side, list(of_model), labels) for of_model in zip(first, *others, strict=True)
            ]
            executor.wait(models)
        return models

    def _whole(self, selected: Selected) -> Whole:
        """Return what all labels begin with on a selection."""
        start = selected.start(self.chosen.rates)
        return Whole(len(selected), self._mean_squared_norm(selected), self.chosen.settings, start)

    def _first_group(
        self, selected: Sequence[Selected], wholes: Sequence[Whole], in_turn: bool, submitted: Callable[[Handle], None]
    ) -> list[Handle]:
        """Learn the most annotated labels, from all instances."""
        labels = self.groups[0]
        of_group = [self.executor.submit(of_first_group, part, labels) for part in self.parts]
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
            return [executor.submit(pick_groups, part, *arguments) for part in self.parts]

        def learn(start: int, end: int, picked: list[Handle]) -> Handle:
            groups = self.groups[start:end]
            sizes, labels = np.array([len(group) for group in groups]), np.concatenate(groups)
            of_labels = [whole.of_labels(labels) for whole in wholes]
            arguments = picked, sizes, of_labels, self.chosen.rates[labels], self.prune, self.unit_run, in_turn
            return executor.submit(learn_groups, *arguments)

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
        sizes = sum(executor.gather([executor.submit(sample_sizes, part) for part in self.parts]))
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
        """Return the mean squared length of the selected instances, with the features of this level."""
        submit, selection, seed = self.executor.submit, selected.selection, self.run.seed
        norms = self.executor.gather([submit(parts.squared_norms, part, selection, seed) for part in self.parts])
        return sum(total for total, _ in norms) / max(len(selected), 1) or 1.0


def _negative_samples(level: Shards, prune: float) -> tuple[Sequence[Handle], Handle]:
    """Find the groups of labels, and the instances of each part to learn each from.

    Returns: `parts`: handles of `parts.PartRows`, with their negative samples; `groups`: a handle of `LabelGroups`.
    """
    instances, executor, level_parts, unit_run = level.instances, level.executor, level.parts, level.unit_run
    counts = executor.gather([executor.submit(count_positives, part) for part in level_parts])
    grouped = labels_to_group(np.sum(counts, axis=0))
    n_groups = -(-len(grouped) // SIZE)
    blocks = sgd.label_blocks(n_groups, level.run)
    submitted: list[Handle] = []
    mixing = level.mixing(np.ones(n_groups), level.chosen.settings, submitted.append)
    label_features = executor.keep(instances.label_features) if level.chosen.settings.prior else None
    with level.run.step(Step.SHORTLIST, len(level_parts) * (len(blocks) * mixing.rounds(len(level_parts)) + 1)) as tick:
        most = max(-(-INSTANCES // len(level_parts)), _FEWEST)
        directions = []
        for start in range(0, len(grouped), _LABELS):
            labels = grouped[start : start + _LABELS]
            of_parts = [executor.submit(sums_of_labels, part, labels, most) for part in level_parts]
            directions.append(executor.submit(directions_of, reduced(executor, add, of_parts)))
        arguments = directions, grouped, len(instances.annotations), level.run.seed, label_features
        groups = executor.submit(group, *arguments)

        annotated = [executor.submit(annotated_groups, part, groups) for part in level_parts]
        selected = replace(instances, parts=annotated).count(EVERYTHING, level.run)
        models = []
        for block in blocks:
            of_block = [executor.submit(of_labels, part, block) for part in annotated]
            of_groups = replace(selected, counts=selected.counts.block(block))
            model = replace(mixing, rates=mixing.rates[block]).learn(of_block, of_groups, len(instances))
            models.append(executor.submit(pruned_model, model, prune))
        model = executor.submit(side_by_side, models)
        lists = [executor.submit(listed, part, groups, model, len(instances), unit_run) for part in level_parts]
        executor.wait([*submitted, *lists], tick)
    return lists, groups
