"""Units of work where labels are many: on one part of the instances, and on some groups of labels.

A group of labels (`core.side.negative_sampling`) is learned from few of the instances. These are picked from all parts,
and one process learns from them, as a single machine does: their order depends on nothing but their number. Only they,
and the weights that pruning leaves, leave a process.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, vstack

from mpu_cli.core import sgd
from mpu_cli.core.data.features import Features, unit_rows
from mpu_cli.core.data.predictions import Block
from mpu_cli.core.data.verified_labels import VerifiedLabels, joined_verified
from mpu_cli.core.frequency.label_frequency import LabelFrequency, count_annotations
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.sgd import Settings, TrainingSet
from mpu_cli.core.side.information import NO_SIDE_INFORMATION, Prior, SideInformation
from mpu_cli.core.side.negative_sampling import LabelGroups, NegativeSample, sums_of_instances
from mpu_cli.core.train.mixing import pruned_model
from mpu_cli.core.train.parts import PartRows, seed_of
from mpu_cli.core.train.sample_negatives import sample_instances
from mpu_cli.core.validate.level import through
from mpu_cli.core.validate.validation import Selection
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class Picked:
    """The instances of a part that some groups are learned from.

    Attributes
    ----------
    features : Features, m instances
    labels : csr_array of bool, shape (m, k)
        Annotated labels of these groups, group by group.
    instances : csr_array of bool, shape (groups, m)
        Where a group is learned from an instance.
    selected : ndarray of bool, shape (selections, m)
        Which of them are in each of some selections.
    vectors : csc_array of float32, shape (D, k), or None
        Where the weights are drawn to (`core.side.information`).
    """

    features: Features
    labels: csr_array
    instances: csr_array
    selected: np.ndarray
    verified: VerifiedLabels | None = None
    vectors: csc_array | None = None


@dataclass(frozen=True)
class Whole:
    """All instances of a selection, of which a group is learned from some.

    Attributes
    ----------
    start : LinearModel
        Where the labels of the groups start.
    """

    size: int
    mean_squared_norm: float
    settings: Settings
    start: LinearModel

    def of_labels(self, labels: np.ndarray) -> "Whole":
        """Return the same for some of the labels."""
        return replace(self, start=self.start.of_labels(labels))


def count_positives(part: PartRows) -> np.ndarray:
    """Return of how many instances each label is true, as far as is verified."""
    return count_annotations(part.positives)


def sums_of_labels(part: PartRows, labels: np.ndarray, most: int) -> csr_array:
    """Sum up at most so many instances of each of some labels, of unit length each."""
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
    """Return a part with groups in place of labels, but for that of the most annotated labels."""
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

    Parameters
    ----------
    picked : list of Picked
        Of each part.
    sizes : ndarray of int
        How many labels each group has.
    wholes : list of Whole
        The selections.
    prune : float
        Weights below this are dropped, so that those of the models, (D, k), are sparse.
    in_turn : bool
        Whether one model learns from two selections, one after the other, in one pass.
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

    model = sgd.by_blocks(sets[-1], learn, prune, lambda: None)
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
