"""Units of work on one part of the instances: plain functions of arrays, which any process can run.

Only models, counts and the instances of a sample leave the process that has the part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import sgd
from mpu_cli.core.data.predictions import HeldOut, SourceModels, Top, collector, count_positives
from mpu_cli.core.data.problem import Rows
from mpu_cli.core.data.verified_labels import VerifiedLabels
from mpu_cli.core.frequency.label_frequency import LabelCounts, LabelFrequency
from mpu_cli.core.linear_learner import rows_of
from mpu_cli.core.loss import loss_named
from mpu_cli.core.model.calibration import BinnedCells, Calibration
from mpu_cli.core.model.stacking import LinearModel, stack
from mpu_cli.core.model.thresholds import ComparedCells
from mpu_cli.core.side_information import NO_SIDE_INFORMATION, Prior, SideInformation
from mpu_cli.core.validation import EVERYTHING, Chain, Selection, predict, predict_top
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class PartRows(Rows):
    """The instances of a part, as a level learns from them."""

    number: int = 0  # of the part; its order and folds are drawn with a seed of its own.
    side: SideInformation = NO_SIDE_INFORMATION  # of these instances

    def frequency(self, rates: np.ndarray) -> LabelFrequency:
        """Return the label frequency of these cells, from the rates of labels."""
        return LabelFrequency.of(rates, self.labels.shape, self.verified, self.groups)

    @property
    def positives(self) -> csr_array:
        """Return the annotated labels, corrected by verified ones."""
        return self.frequency(np.ones(self.labels.shape[1])).positives(self.labels)

    def rows(self, selection: Selection, seed: int) -> np.ndarray:
        """Return the selected instances, ascending."""
        return selection.rows(len(self), seed_of(seed, self.number))

    def chain(self, chain: Chain[Selection], seed: int) -> Chain[np.ndarray]:
        """Return the instances of a chain. One that holds out all there is (one instance) learns from it too."""
        predicted = None if chain.predicted is None else self.rows(chain.predicted, seed)
        learned = [self.rows(selection, seed) for selection in chain.learned]
        if predicted is not None and not len(learned[0]):
            learned[0] = predicted
        return Chain(tuple(learned), predicted)


@dataclass(frozen=True)
class Pass:
    """A pass over the selected instances of all parts."""

    selection: Selection
    settings: sgd.Settings
    n: int  # instances that the model is to learn from in all: the weights are regularised by 1 / (C n)
    seen: int = 0  # instances that it has learned from before
    round_: int = 0  # of the passes over all parts


def seed_of(seed: int, part: int, round_: int = 0) -> int:
    """Return the seed of a part in a round; of the first part in the first round it is the seed itself."""
    if not part and not round_:
        return seed
    return int(np.random.SeedSequence((seed, part, round_)).generate_state(1)[0])


def count(part: PartRows, selection: Selection, seed: int) -> tuple[int, LabelCounts]:
    """Count the selected instances, and their annotations."""
    rows = part.rows(selection, seed)
    frequency = part.frequency(np.ones(part.labels.shape[1])).rows(rows)
    return len(rows), frequency.count(part.labels[rows])


def positives_of_labels(part: PartRows, selection: Selection, seed: int) -> np.ndarray:
    """Count the positive labels of the selected instances: ndarray of int, shape (q,)."""
    return count_positives(part.positives[part.rows(selection, seed)])


def pick(part: PartRows, rows: np.ndarray | None) -> Rows:
    """Return some instances, or all."""
    return part.fetch(rows)


def with_prior(part: PartRows, label_features: csr_array) -> PartRows:
    """Return the part with a prior that draws weights towards the features of labels."""
    return replace(part, side=SideInformation(Prior.of(part.features, label_features)))


def labels_of(part: PartRows) -> tuple[csr_array, VerifiedLabels | None]:
    """Return the annotated labels of all instances, and the verified ones."""
    return part.labels, part.verified


def group_annotations(part: PartRows) -> np.ndarray:
    """Count the annotations of each group of instances, without implied ones; 0 without groups."""
    if part.groups is None:
        return np.zeros(1)
    by_chance = part.labels if part.verified is None else part.verified.without_implied(part.labels)
    return part.groups.sums(np.diff(by_chance.indptr))


def with_group_rates(part: PartRows, rates: np.ndarray) -> PartRows:
    """Return the part with a label frequency for each group of instances."""
    return part if part.groups is None else replace(part, groups=replace(part.groups, rates=rates))


def squared_norms(part: PartRows, selection: Selection = EVERYTHING, seed: int = 0) -> tuple[float, int]:
    """Return the sum of the squared norms of the selected instances, and how many there are."""
    rows = part.rows(selection, seed)
    return float(part.features.squared_norms[rows].sum()), len(rows)


def learn(part: PartRows, pass_: Pass, block: slice, rates: np.ndarray, start: LinearModel, run: Run) -> LinearModel:
    """Go on learning a block of labels from the selected instances of a part, where the parts before have left it."""
    rows = part.rows(pass_.selection, run.seed)
    if not len(rows):
        return start
    run = replace(run, seed=seed_of(run.seed, part.number, pass_.round_))
    data = sgd.TrainingSet(part.features, part.labels, rows, run, part.side)
    settings = pass_.settings
    if len(rows) != pass_.n:
        settings = _of_part(settings, pass_.n / len(rows), data.mean_squared_norm)
    return sgd.train_block(data, block, part.frequency(rates), settings, start, pass_.seen)


def _of_part(settings: sgd.Settings, share: float, mean_squared_norm: float) -> sgd.Settings:
    """Return settings by which a part is learned as all instances are, which are `share` times as many.

    Regularised as before, a part has a larger C. By that, dual coordinate descent needs more passes: its rate is about
    1 / (1 + C ||x||^2).
    """
    cost, epochs = settings.cost * share, settings.epochs
    if epochs is not None and not loss_named(settings.loss).has_step:
        epochs = int(np.ceil(epochs * (1 + cost * mean_squared_norm) / (1 + settings.cost * mean_squared_norm)))
    return replace(settings, cost=cost, epochs=epochs)


def joined(blocks: list[LinearModel]) -> LinearModel:
    """Join models of consecutive blocks of labels."""
    weights = np.hstack([model.weights for model in blocks])
    return LinearModel(weights, np.concatenate([model.bias for model in blocks]))


def scaled(model: LinearModel, share: float) -> LinearModel:
    """Return a model times its share of a mean; 0 is added, which leaves no negative zero."""
    return LinearModel(model.weights * np.float32(share) + np.float32(0), model.bias * np.float32(share))


def added(first: LinearModel, second: LinearModel) -> LinearModel:
    """Return the sum of two models."""
    return LinearModel(first.weights + second.weights, first.bias + second.bias)


def predict_held_out(
    part: PartRows,
    models: list[LinearModel],
    selections: Sequence[Selection],
    annotations: Sequence[np.ndarray] | None,
    top: Top | None,
    run: Run,
) -> HeldOut:
    """Predict the instances of each selection by its model; the selections share no instance.

    `annotations`: how many annotations of each label each model has learned from; None: labels are not stratified.
    """
    of_models = [part.rows(selection, run.seed) for selection in selections]
    held_out = rows_of(of_models, len(part))
    m = len(part) if isinstance(held_out, slice) else len(held_out)
    predictions = collector((m, part.labels.shape[1]), top)
    for model, rows in zip(models, of_models, strict=True):
        places = rows if isinstance(held_out, slice) else np.searchsorted(held_out, rows)
        if top is None:
            predict(model, part.features, rows, slice(None), predictions, run, places=places)
        else:
            predict_top(model, part.features, rows, predictions, top, run, places)
    made_by = None if annotations is None else SourceModels.of(of_models, annotations)
    return HeldOut(held_out, predictions.result(), made_by)


def compared(part: PartRows, held_out: HeldOut, rates: np.ndarray) -> tuple[csr_array, LabelFrequency]:
    """Return the annotated labels of instances that were predicted, and the label frequency of their cells."""
    return part.labels[held_out.rows], part.frequency(rates).rows(held_out.rows)


def count_cells(part: PartRows, held_out: HeldOut, rates: np.ndarray, annotated: np.ndarray) -> BinnedCells:
    """Count the cells of a part by their predictions: in strata, or of these labels, which are annotated somewhere."""
    counted = annotated if held_out.made_by is None else np.arange(len(rates))
    labelled = ComparedCells(held_out, part.labels, part.frequency(rates)).of_labels(counted)
    return BinnedCells.of(*labelled, made_by=held_out.made_by)


def stacked(
    part: PartRows,
    held_out: HeldOut,
    calibration: Calibration | None,
    scale: float,
) -> PartRows:
    """Return a part as the next level learns from it; all of its instances were predicted."""
    predictions = held_out.probabilities
    features = stack(part.features, predictions, scale, calibration)
    return replace(part, features=features, side=part.side.of_next_level(predictions, features.width))


def label_counts(part: PartRows) -> np.ndarray:
    """Return how many labels each instance is annotated with."""
    return np.diff(part.labels.indptr)
