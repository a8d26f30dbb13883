"""Training on the workers of a cluster: the instances stay there, each file a part, and the models travel.

c, the settings, the calibrations and the thresholds are estimated from samples that are fetched. Each level is learned
by iterative parameter mixing (McDonald, Hall and Mann, "Distributed training strategies for the structured perceptron",
NAACL 2010). The instances of each part are dealt at random into shards. A shard's model goes from part to part, and
learns from its instances there, with larger steps, since they are fewer; each block of labels does so independently.
After each pass, the models of the shards are averaged. A shard is also a fold: the mean over the others has not seen
it, and predicts it.

The cost in F1: docs/choices/speed.md, "More than one machine".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import getitem

import numpy as np
from dask.sizeof import sizeof
from scipy.sparse import csr_array, vstack

from mpu_cli.cluster import refuse_other
from mpu_cli.cluster.dask_executor import DaskExecutor, Handle, size_of
from mpu_cli.core import sgd
from mpu_cli.core.calibration import Calibration, HeldOut
from mpu_cli.core.features import Columns, Features, with_width
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.loss import DEFAULT
from mpu_cli.core.options import LINEAR, Options
from mpu_cli.core.predictions import FEW_LABELS, count_positives, refuse_large_sample, refuse_too_large
from mpu_cli.core.problem import Instances, Problem, widened
from mpu_cli.core.sample import draw_rows, step_for_all
from mpu_cli.core.selection import TrainingResult, choose_hyper_parameters
from mpu_cli.core.stacking import (
    MOST_AUTOMATIC_LEVELS,
    Stack,
    StackedModel,
    scale_of_predictions,
    train,
    with_predictions,
)
from mpu_cli.core.validation import leading, predict
from mpu_cli.errors import DataError
from mpu_cli.runtime.files import State, state_of
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import Dataset, no_labels, read
from mpu_cli.svmlight.streams import as_one

# Up to this many, the mean of models learned in one pass each is as good as one model of all instances.
_SHARDS = 4


@dataclass(frozen=True)
class PartRows:
    """The instances of a part, with the features of a level."""

    features: Features
    labels: csr_array  # bool, shape (n, q): annotated labels
    seed: int  # deals them into shards

    def __len__(self) -> int:
        return len(self.features)

    def shard(self, number: int) -> np.ndarray:
        """Return the instances of a shard, ascending."""
        return np.sort(np.random.default_rng(self.seed).permutation(len(self))[number::_SHARDS])


sizeof.register(PartRows, size_of)


def _read_unchanged(file: str, state: State | None, reading: Reading, run: Run) -> Dataset:
    """Read a file, which must not have changed since the training began; InputError if it has."""
    refuse_other(file, state)
    data = read(file, reading, run, may_be_empty=True)
    refuse_other(file, state)
    return data


def _facts_of(data: Dataset) -> tuple[int, np.ndarray, np.ndarray, Columns, float]:
    """Return the statistics that a `Collection` has, of one part."""
    labels, ids = data.occurring_labels()
    squares = float(np.square(data.features.data, dtype=float).sum())
    return len(data), ids, count_positives(labels), Columns.occurring(data.features), squares


def _place(data: Dataset, ids: np.ndarray, columns: Columns, seed: int) -> PartRows:
    """Return a part with the label and feature numbers of all parts: `ids`, ascending, and `columns`."""
    return PartRows(Features.of(columns.narrowed(data.features)), widened(*data.occurring_labels(), ids), seed)


@dataclass(frozen=True)
class Collection:
    """Instances on the workers of a cluster; each file is a part."""

    executor: DaskExecutor
    data: list[Handle]  # handles of the `Dataset` of each part
    sizes: Sequence[int]  # number of instances of each part
    ids: np.ndarray  # int, shape (q,): the labels that occur, ascending
    annotations: np.ndarray  # int, shape (q,): number of annotations of each of them
    columns: Columns  # the features that occur
    squares: float  # the sum of the squares of all feature values

    def __len__(self) -> int:
        return sum(self.sizes)


def read_files(executor: DaskExecutor, files: Sequence[str], reading: Reading, run: Run) -> Collection:
    """Let the workers of a cluster read files. Every worker must be able to read every file.

    Raises InputError (a file cannot be read, or no instance has a label), DataError (there are too many labels),
    ClusterError (the cluster failed).
    """
    with run.step("reading data", len(files)) as tick:
        data = [executor.submit(_read_unchanged, file, state_of(file), reading, run.on_a_worker()) for file in files]
        facts = executor.gather([executor.submit(_facts_of, one) for one in data], tick)
    sizes, ids_of_parts, counts, columns, squares = zip(*facts, strict=True)
    ids, places = np.unique(np.concatenate(ids_of_parts), return_inverse=True)
    annotations = np.bincount(places, np.concatenate(counts)).astype(int)
    if not (q := len(ids)):
        raise no_labels(as_one(files))
    if q > FEW_LABELS:
        raise DataError(f"there are {q:,} labels, and a cluster learns at most {FEW_LABELS}: train on one machine")
    return Collection(executor, data, sizes, ids, annotations, reduce(Columns.joined, columns), sum(squares))


def _train_block(
    part: PartRows,
    shard_and_round: tuple[int, int],
    block: slice,
    rates: np.ndarray,
    settings: sgd.Settings,
    start: LinearModel,
    seen: int,
    run: Run,
) -> LinearModel:
    """Continue the training of a block of labels on a shard, from the model trained on the previous parts."""
    shard, round_ = shard_and_round
    frequency = LabelFrequency.of(rates, part.labels.shape)
    of_round = replace(run, seed=_seed(part.seed, round_))
    task = sgd.LearningTask(part.features, part.labels, frequency, settings, of_round)
    return sgd.train_block(sgd.TrainingSet(task, part.shard(shard)), block, start, seen)


def _mean(models: list[LinearModel], sizes: list[int]) -> LinearModel:
    shares = np.array(sizes, np.float32) / np.float32(sum(sizes))
    weights = sum(model.weights * share for model, share in zip(models, shares, strict=True))
    bias = sum(model.bias * share for model, share in zip(models, shares, strict=True))
    return LinearModel(np.asarray(weights), np.asarray(bias))


def _joined(blocks: list[LinearModel]) -> LinearModel:
    weights = np.hstack([model.weights for model in blocks])
    return LinearModel(weights, np.concatenate([model.bias for model in blocks]))


def _predict(part: PartRows, models: list[list[LinearModel]], run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the instances of the first shards, and predictions by the blocks of models that have not seen them."""
    shards = [part.shard(number) for number in range(len(models))]
    rows = np.sort(np.concatenate(shards))
    predictions = np.empty((len(rows), part.labels.shape[1]), np.float32)
    for of_shard, blocks in zip(shards, models, strict=True):
        places = np.searchsorted(rows, of_shard)
        predict(_joined(blocks), part.features, of_shard, slice(None), predictions, run, places=places)
    return rows, predictions


def _drawn(part: PartRows, held_out: tuple[np.ndarray, np.ndarray], share: float) -> tuple[np.ndarray, csr_array]:
    """Return the predictions and annotated labels for a share of the predicted instances."""
    rows, predictions = held_out
    places = draw_rows(len(rows), int(np.ceil(len(rows) * share)), part.seed)
    return predictions[places], part.labels[rows[places]]


def _above(
    part: PartRows, held_out: tuple[np.ndarray, np.ndarray], calibration: Calibration | None, scale: float
) -> PartRows:
    """Return a part with the features of the next level; all of its instances were predicted."""
    return replace(part, features=with_predictions(part.features, held_out[1], scale, calibration=calibration))


def _seed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence((seed, number)).generate_state(1)[0])


@dataclass(frozen=True)
class _Level:
    executor: DaskExecutor
    parts: list[Handle]  # of `PartRows`
    sizes: list[list[int]]  # instances of each shard in each part
    start: LinearModel  # where all labels start
    rates: np.ndarray
    settings: sgd.Settings
    run: Run

    def train(self, enough: int, number: int) -> tuple[LinearModel, list[Handle]]:
        """Train the model of all instances, and predict at least `enough` by models that have not seen them.

        Returns: the model; `held_out`: handles of the results of `_predict` for each part.
        """
        shards = [shard for shard, of_parts in enumerate(self.sizes) if any(of_parts)]
        n_held = leading([range(size) for size in self._sizes(shards)], enough)
        whole: list[Handle] = []
        without: list[list[Handle]] = [[] for _ in range(n_held)]
        for block in sgd.label_blocks(len(self.rates), self.run):
            model, models = self._mixed(block, shards)
            whole.append(model)
            for held_shard, of_shard in zip(shards, without, strict=False):
                others = [shard for shard in shards if shard != held_shard] or shards
                if self.settings.epochs == 1 and others != shards:  # models of one pass are independent
                    of_shard.append(self._mean([models[shards.index(shard)] for shard in others], others))
                else:
                    of_shard.append(self._mixed(block, others)[0])
        with self.run.step(f"learning level {number}", len(whole)) as tick:
            self.executor.wait(whole, tick)
        with self.run.step(f"predicting level {number} out of fold", len(self.parts)) as tick:
            unit_run = self.run.on_a_worker()
            held_out = [self.executor.submit(_predict, part, without, unit_run) for part in self.parts]
            self.executor.wait(held_out, tick)
        return _joined(self.executor.gather(whole)), held_out

    def _mixed(self, block: slice, shards: Sequence[int]) -> tuple[Handle, list[Handle]]:
        """Learn a block of labels from some shards; return the mean, and the models of the last pass."""
        model: Handle = self.start.block(block)
        models: list[Handle] = []
        for round_ in range(self.settings.epochs):
            models = [self._through(shard, round_, block, model, shards) for shard in shards]
            model = self._mean(models, shards)
        return model, models

    def _through(self, shard: int, round_: int, block: slice, model: Handle, shards: Sequence[int]) -> Handle:
        """Train the model of a shard on its instances in each part; each shard starts at a different part."""
        n, seen = sum(self._sizes(shards)), round_ * sum(self.sizes[shard])
        settings = replace(self.settings, epochs=1, eta0=self.settings.eta0 * float(np.sqrt(len(shards))))
        first = (shard * len(self.parts)) // _SHARDS
        for number in [*range(first, len(self.parts)), *range(first)]:
            if size := self.sizes[shard][number]:
                of_part = replace(settings, cost=settings.cost * n / size)  # lambda is defined for n instances
                arguments = (shard, round_), block, self.rates, of_part, model, seen, self.run.on_a_worker()
                model = self.executor.submit(_train_block, self.parts[number], *arguments)
                seen += size
        return model

    def _mean(self, models: list[Handle], shards: Sequence[int]) -> Handle:
        return self.executor.submit(_mean, models, self._sizes(shards))

    def _sizes(self, shards: Sequence[int]) -> list[int]:
        return [sum(self.sizes[shard]) for shard in shards]

    def compared(self, held_out: list[Handle], sample: int) -> HeldOut:
        """Fetch predictions for a sample of the predicted instances, and the labels to compare them with."""
        submit, share = self.executor.submit, min(sample / sum(map(sum, self.sizes)), 1.0)
        fetched = self.executor.gather(
            [submit(_drawn, part, of_part, share) for part, of_part in zip(self.parts, held_out, strict=True)]
        )
        predictions, labels = (list(of_parts) for of_parts in zip(*fetched, strict=True))
        together = csr_array(vstack(labels, format="csr"))
        frequency = LabelFrequency.of(self.rates, together.shape)
        return HeldOut(np.concatenate(predictions), together, frequency)

    def above(self, held_out: list[Handle], calibration: Calibration | None, scale: float) -> "_Level":
        """Return the next level, which also learns from this level's predictions."""
        of_parts = zip(self.parts, held_out, strict=True)
        return replace(self, parts=[self.executor.submit(_above, *of_part, calibration, scale) for of_part in of_parts])


def train_by_workers(collection: Collection, options: Options, run: Run) -> tuple[StackedModel, TrainingResult]:
    """Train a linear model of all labels; errors as for `core.stacking.train`, and ClusterError.

    If there are no more instances than the sample has, they are fetched, and learned from here, as on one machine.
    """
    n, columns, ids = len(collection), collection.columns, collection.ids
    options = replace(options, features=LINEAR)
    n_levels = options.levels or MOST_AUTOMATIC_LEVELS
    width = len(columns.indices) if columns.are_few else columns.width
    refuse_too_large(width, len(ids), n_levels)
    refuse_large_sample(min(n, options.sample), len(ids))
    fetched = _fetched(collection, draw_rows(n, options.sample, run.seed), run)
    if n <= options.sample:
        return train(fetched, options, run)
    submit, seeds = collection.executor.submit, (_seed(run.seed, number) for number in range(len(collection.data)))
    parts = [submit(_place, data, ids, columns, seed) for data, seed in zip(collection.data, seeds, strict=True)]
    sizes = [[len(range(shard, size, _SHARDS)) for size in collection.sizes] for shard in range(_SHARDS)]
    collection.data.clear()  # so that the workers can release them
    sample = Instances.of(fetched, columns)
    epochs = options.epochs or sgd.default_epochs(n, sample.features.coherence)
    chosen = choose_hyper_parameters(sample, replace(options, epochs=epochs, loss=DEFAULT), run)
    if options.eta0 is None and options.cost is None:
        chosen = replace(chosen, settings=step_for_all(chosen.settings, len(sample) / n))
    scale, annotations = scale_of_predictions(collection.squares / n or 1.0), collection.annotations
    bias = sgd.initial_bias(annotations / chosen.c.astype(np.float32), np.full(len(ids), n))
    start = LinearModel(np.empty((0, len(ids)), np.float32), bias)
    level = _Level(collection.executor, parts, sizes, start, chosen.c, chosen.settings, run)
    levels = Stack(np.flatnonzero(annotations), annotations, scale)
    held_out: list[Handle] = []
    for number in range(n_levels):
        if number:
            level = level.above(held_out, levels.calibration_of_features, scale)
        model, held_out = level.train(n if number < n_levels - 1 else options.sample, number)
        levels.add(model, level.compared(held_out, options.sample))
    with run.step("choosing thresholds"):
        model_of_all, result = levels.finish(chosen, options.threshold)
    return replace(model_of_all, columns=columns if columns.are_few else None), result


def _fetched(collection: Collection, rows: np.ndarray, run: Run) -> Problem:
    starts = np.cumsum([0, *collection.sizes])
    wanted = pairwise(np.searchsorted(rows, starts))
    with run.step("fetching the sample"):
        picked = [
            collection.executor.submit(getitem, data, rows[first:end] - start)
            for data, start, (first, end) in zip(collection.data, starts, wanted, strict=False)
        ]
        of_parts: list[Dataset] = collection.executor.gather(picked)
    width, ids = collection.columns.width, collection.ids
    features = csr_array(vstack([with_width(part.features, width) for part in of_parts], format="csr"))
    labels = csr_array(vstack([widened(*part.occurring_labels(), ids) for part in of_parts], format="csr"))
    return Problem(features, labels)
