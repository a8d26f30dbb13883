"""Learn linear models of many labels, block by block in the threads of one process, and predict in passing.

For a level above that is validated itself, predictions are by nested cross-validation: `predict_nested`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import sgd
from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import (
    FEW_LABELS,
    Block,
    DensePredictions,
    HeldOut,
    Predictions,
    Top,
    TopPredictions,
    collector,
)
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.stacking import LinearModel
from mpu_cli.core.sgd import Settings, TrainingSet
from mpu_cli.core.side_information import NO_SIDE_INFORMATION, SideInformation
from mpu_cli.core.validation import (
    Chain,
    Fold,
    out_of_fold,
    predict,
    predict_top,
    predict_top_of_folds,
    split,
)
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run


@dataclass(frozen=True)
class LearningTask:
    """What all models of a level share, whichever of its instances they learn from."""

    features: Features
    labels: csr_array
    frequency: LabelFrequency
    settings: Settings
    run: Run = DEFAULT_RUN
    side: SideInformation = NO_SIDE_INFORMATION  # of these instances and labels
    top: Top | None = None  # which predictions are kept, where labels are many; None: all
    prune: float | None = None  # where labels are many, weights below this are dropped; None: weights are dense

    def __len__(self) -> int:
        return len(self.features)

    def training_set(self, rows: np.ndarray) -> TrainingSet:
        """Return the instances of these rows, ascending, ready to learn from."""
        return TrainingSet(self.features, self.labels, rows, self.run, self.side)

    def without(self, rows: np.ndarray) -> Fold:
        """Hold out the instances of these rows, as `split` does."""
        return split(self.features, self.labels, rows, self.run, self.side)

    def blocks(self) -> Sequence[Block]:
        """Return the blocks of labels that are learned one by one."""
        return sgd.blocks_to_learn(self.labels.shape[1], self.side, self.run)


@dataclass(frozen=True)
class Learned:
    """A model of a level."""

    model: LinearModel
    held_out: HeldOut  # what its chains have predicted; of no instances where they predict none


# A block, and its model where that is not kept yet.
_Part: TypeAlias = tuple[Block, LinearModel | None]


def learn(
    task: LearningTask,
    chains: Sequence[Chain],
    larger_steps: float = 1.0,
    tick: Callable[[], None] = lambda: None,
) -> Learned:
    """Learn models of the instances of each chain, rows in ascending order, and take the mean of them.

    `larger_steps` multiplies the step size. `tick` is called once per chain and block of labels.
    """
    passing, learned = _InPassing(task, chains), _Blocks(task, len(chains))
    settings = replace(task.settings, step=larger_steps * task.settings.step)
    blocks = task.blocks()
    others: list[tuple[LinearModel, np.ndarray]] = []  # with sparse weights, models of labels that are in no block

    def learn_block(sets: list[TrainingSet], predicted: np.ndarray | None, begin: LinearModel, block: Block) -> _Part:
        look = None if predicted is None else partial(passing.look, sets, predicted)
        model = through(sets, block, task.frequency, settings, begin.block(block), look)
        tick()
        return block, learned.take(sets[0], block, model)

    def units() -> Iterator[tuple[list[TrainingSet], np.ndarray | None, LinearModel, Block]]:
        for chain in chains:
            sets = [task.training_set(rows) for rows in chain.learned]
            begin = sets[0].cold_start(task.frequency)
            if task.prune is not None:
                others.extend(sgd.of_others(sets[0], blocks, task.frequency, settings, task.prune))
            yield from ((sets, chain.predicted, begin, block) for block in blocks)

    for part in parallel.run(learn_block, units(), task.run.jobs):
        learned.add(*part)
    held_out = passing.held_out(others)
    return Learned(learned.joined(others), held_out)


class _Blocks:
    """Models of blocks of labels, put together: in place, as a mean over chains, or with sparse weights."""

    def __init__(self, task: LearningTask, n_chains: int) -> None:
        self.prune, self.n_chains, q = task.prune, n_chains, task.labels.shape[1]
        self.weights = np.empty((task.features.width, q if task.prune is None else 0), np.float32)
        self.bias = np.zeros(q, np.float32)
        self.sparse: list[tuple[LinearModel, np.ndarray]] = []
        if n_chains > 1:
            self.weights[:] = 0

    def take(self, data: TrainingSet, block: Block, model: LinearModel) -> LinearModel | None:
        """Keep a model in the thread that has learned it, or return what `add` keeps."""
        if self.prune is not None:
            return sgd.sparse_model(data, model, self.prune)
        if self.n_chains > 1:
            return model
        self.weights[:, block], self.bias[block] = model.weights, model.bias
        return None

    def add(self, block: Block, model: LinearModel | None) -> None:
        """Keep what `take` returned; in one thread, since sums depend on the order."""
        if self.prune is not None and model is not None:
            self.sparse.append((model, np.arange(len(self.bias))[block]))
        elif model is not None:
            self.weights[:, block] += model.weights / self.n_chains
            self.bias[block] += model.bias / self.n_chains

    def joined(self, others: list[tuple[LinearModel, np.ndarray]]) -> LinearModel:
        """Return the model of all labels."""
        if self.prune is not None:
            return LinearModel.of_blocks(*zip(*self.sparse, *others, strict=True))
        return LinearModel(self.weights, self.bias)


class _InPassing:
    """What chains predict in passing, block by block; with sparse weights of many labels, at the end."""

    def __init__(self, task: LearningTask, chains: Sequence[Chain]) -> None:
        self.task, self.q = task, task.labels.shape[1]
        self.rows = rows_of([chain.predicted for chain in chains if chain.predicted is not None], len(task))
        self.n = len(task) if isinstance(self.rows, slice) else len(self.rows)
        self.predictions = collector((self.n, self.q), task.top)
        self.begun: list[tuple[LinearModel, np.ndarray]] = []

    def look(self, sets: list[TrainingSet], rows: np.ndarray, block: Block, model: LinearModel) -> None:
        """Predict instances by the model of a block, or keep it for the end."""
        task = self.task
        if task.top is not None and task.prune is not None:
            self.begun.append((sgd.sparse_model(sets[0], model, task.prune), np.arange(self.q)[block]))
        else:
            places = rows if isinstance(self.rows, slice) else np.searchsorted(self.rows, rows)
            predict(model, task.features, rows, block, self.predictions, task.run, places)

    def held_out(self, others: list[tuple[LinearModel, np.ndarray]]) -> HeldOut:
        """Return all predictions."""
        task = self.task
        if self.begun and task.top is not None:
            whole = LinearModel.of_blocks(*zip(*self.begun, *others, strict=True))
            rows = np.arange(len(task))[self.rows]
            predict_top(whole, task.features, rows, self.predictions, task.top, task.run, np.arange(self.n))
        return HeldOut(self.rows, self.predictions.result())


def through(
    sets: Sequence[TrainingSet],
    block: Block,
    frequency: LabelFrequency,
    settings: Settings,
    start: LinearModel,
    look: Callable[[Block, LinearModel], None] | None = None,
) -> LinearModel:
    """Learn a block of labels from instances after others, each in one pass if there are several.

    `look` is shown the model that has learned from the first of them.
    """
    n, seen, model = sum(data.size for data in sets), 0, start
    for number, data in enumerate(sets):
        of_set = settings
        if len(sets) > 1:  # lambda is that for n instances
            of_set = replace(settings, epochs=1, cost=settings.cost * n / data.size)
        model = sgd.train_block(data, block, frequency, of_set, model, seen)
        if look is not None and not number:
            look(block, model)
        seen += data.size
    return model


def rows_of(parts: Sequence[np.ndarray], n: int) -> np.ndarray | slice:
    """Return the rows of some parts together, ascending, as `HeldOut` has them: a slice where they are all n rows."""
    rows = np.sort(np.concatenate([np.empty(0, int), *parts]))
    return slice(None) if len(rows) == n else rows


def predict_out_of_fold(
    task: LearningTask,
    fold_rows: list[np.ndarray],
    features_of: Callable[[int], Features],
    tick: Callable[[], None],
) -> HeldOut:
    """Predict the instances of some folds by models that have not seen them.

    `features_of` gives the features of all n instances for each fold, by its number. `tick` is called once per fold.
    """
    folds = (replace(task, features=features_of(number)).without(rows) for number, rows in enumerate(fold_rows))
    shape, held_out, how = task.labels.shape, rows_of(fold_rows, len(task)), (task.frequency, task.settings)
    probabilities: Predictions
    if task.top is None:
        probabilities = out_of_fold(folds, shape, *how, task.run, tick)
    else:
        predictions = TopPredictions(task.top, shape)
        predict_top_of_folds(folds, predictions, *how, task.top, task.prune, task.run, tick)
        probabilities = predictions.result()
    return HeldOut(held_out, probabilities if isinstance(held_out, slice) else probabilities[held_out])


# With fewer folds too little is left where two are held out.
FEWEST_FOLDS = 4


def pairs_of(m: int, outer: int) -> list[tuple[int, int]]:
    """Return the pairs of m folds in which one of the first `outer` folds is."""
    return [(i, j) for i in range(outer) for j in range(i + 1, m)]


def is_worthwhile(labels: int, m: int) -> bool:
    """Whether there are few enough labels, and enough folds."""
    return labels <= FEW_LABELS and m >= FEWEST_FOLDS


def predict_nested(
    task: LearningTask,
    fold_rows: Sequence[np.ndarray],
    outer: int,
    out_of_fold: np.ndarray,
    tick: Callable[[], None] = lambda: None,
) -> list[np.ndarray]:
    """Predict all instances for each of the first `outer` folds that the level above holds out: float32, n x q each.

    Where fold i is held out of the level above, that level learns from predictions of the other folds j. A model
    without fold j alone has learned from the labels of fold i, so its predictions of j depend on them, while
    predictions of fold i itself cannot. The level above takes this for a connection between predictions and labels, and
    finds it wrong on fold i, though not on new instances. So here, fold j is predicted by a model without i and j, and
    fold i by models without one fold: `out_of_fold`. `tick` is called once per pair of folds (`pairs_of`).
    """
    run, predictions = task.run, []
    for rows in fold_rows[:outer]:
        predictions.append(np.empty(task.labels.shape, np.float32))
        predictions[-1][rows] = out_of_fold[rows]

    def predict_pair(i: int, j: int) -> None:
        training = task.without(np.sort(np.concatenate([fold_rows[i], fold_rows[j]]))).training
        start = training.cold_start(task.frequency)
        for block in training.blocks():
            model = sgd.train_block(training, block, task.frequency, task.settings, start.block(block))
            for without, of in ((i, j), (j, i)):
                if without < outer:
                    into = DensePredictions(predictions[without])
                    predict(model, task.features, fold_rows[of], block, into, run)

    for _ in parallel.run(predict_pair, pairs_of(len(fold_rows), outer), run.jobs):
        tick()
    return predictions
