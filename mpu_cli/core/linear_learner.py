"""Learn linear models of many labels, block by block in the threads of one process, and predict in passing.

For a level above that is validated itself, predictions are by nested cross-validation: `predict_nested`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core import sgd
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import Block, HeldOut, Top
from mpu_cli.core.sgd import Settings, TrainingSet
from mpu_cli.core.side_information import NO_SIDE_INFORMATION, SideInformation
from mpu_cli.core.validation import (
    Chain,
    Fold,
    learn_folds,
    out_of_fold,
    predict,
    predict_top,
    split,
)
from mpu_cli.core.work import USUAL, Work
from mpu_cli.runtime import parallel


@dataclass(frozen=True)
class LearningTask:
    """What all models of a level share, whichever of its instances they learn from."""

    features: Features
    labels: csr_array
    frequency: LabelFrequency
    settings: Settings
    run: Work = USUAL
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


def learn(
    task: LearningTask,
    chains: Sequence[Chain],
    larger_steps: float = 1.0,
    tick: Callable[[], None] = lambda: None,
) -> tuple[LinearModel, HeldOut]:
    """Learn models of the instances of each chain, rows in ascending order, and take the mean of them.

    `chains`: one where labels are many.
    `larger_steps` multiplies the step size. `tick` is called once per chain and block of labels.
    Returns: the mean, and what the chains have predicted; of no instances where they predict none.
    """
    task = replace(task, settings=replace(task.settings, step=larger_steps * task.settings.step))
    if task.top is None or task.prune is None:
        return _learn_few(task, chains, tick)
    (chain,) = chains
    return _learn_many(task, chain, task.top, task.prune, tick)


def _learn_few(task: LearningTask, chains: Sequence[Chain], tick: Callable[[], None]) -> tuple[LinearModel, HeldOut]:
    """Learn dense weights, and predict block by block, in passing."""
    q, blocks = task.labels.shape[1], task.blocks()
    rows = rows_of([chain.predicted for chain in chains if chain.predicted is not None], len(task))
    predictions = np.empty((len(task) if isinstance(rows, slice) else len(rows), q), np.float32)
    weights, bias = np.zeros((task.features.width, q), np.float32), np.zeros(q, np.float32)

    def learn_block(
        sets: list[TrainingSet], predicted: np.ndarray | None, start: LinearModel, block: Block
    ) -> tuple[Block, LinearModel]:
        first, *others = through(sets, block, task.frequency, task.settings, start.block(block))
        if predicted is not None:
            places = predicted if isinstance(rows, slice) else np.searchsorted(rows, predicted)
            predict(first, task.features, predicted, block, predictions, task.run, places)
        tick()
        return block, (others or [first])[-1]

    def units() -> Iterator[tuple[list[TrainingSet], np.ndarray | None, LinearModel, Block]]:
        for chain in chains:
            sets = [task.training_set(rows) for rows in chain.learned]
            start = sets[0].cold_start(task.frequency)
            yield from ((sets, chain.predicted, start, block) for block in blocks)

    for block, model in parallel.run(learn_block, units(), task.run.jobs):
        if len(chains) == 1:
            weights[:, block], bias[block] = model.weights, model.bias
        else:
            weights[:, block] += model.weights / len(chains)
            bias[block] += model.bias / len(chains)
    return LinearModel(weights, bias), HeldOut(rows, predictions)


def _learn_many(
    task: LearningTask, chain: Chain, top: Top, prune: float, tick: Callable[[], None]
) -> tuple[LinearModel, HeldOut]:
    """Learn sparse weights, and predict by those of all labels together."""
    sets, blocks = [task.training_set(rows) for rows in chain.learned], task.blocks()
    start = sets[0].cold_start(task.frequency)
    others = sgd.of_others(sets[0], blocks, task.frequency, task.settings, prune)  # labels that are in no block

    def learn_block(block: Block) -> list[LinearModel]:
        models = through(sets, block, task.frequency, task.settings, start.block(block))
        tick()
        return [sgd.sparse_model(sets[0], model, prune) for model in models]

    of_blocks = list(parallel.run(learn_block, ((block,) for block in blocks), task.run.jobs))
    labels = [np.arange(task.labels.shape[1])[block] for block in blocks]

    def after(place: int) -> LinearModel:
        of_set = [(models[place], of_block) for models, of_block in zip(of_blocks, labels, strict=True)]
        return LinearModel.of_blocks(*zip(*of_set, *others, strict=True))

    if chain.predicted is None:
        return after(-1), HeldOut(np.empty(0, int), csr_array((0, task.labels.shape[1]), dtype=np.float32))
    # One of the models is in memory at a time.
    predictions = predict_top(after(0), task.features, chain.predicted, top, task.run)
    return after(-1), HeldOut(chain.predicted, predictions)


def through(
    sets: Sequence[TrainingSet], block: Block, frequency: LabelFrequency, settings: Settings, start: LinearModel
) -> list[LinearModel]:
    """Learn a block of labels from instances after others, each in one pass if there are several.

    Returns: the model after each of them.
    """
    n, seen, models = sum(data.size for data in sets), 0, [start]
    for data in sets:
        of_set = settings
        if len(sets) > 1:  # lambda is that for n instances
            of_set = replace(settings, epochs=1, cost=settings.cost * n / data.size)
        models.append(sgd.train_block(data, block, frequency, of_set, models[-1], seen))
        seen += data.size
    return models[1:]


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
    held_out = rows_of(fold_rows, len(task))
    folds = (replace(task, features=features_of(number)).without(rows) for number, rows in enumerate(fold_rows))
    if task.top is not None:
        predictions = []
        for fold in folds:  # by the sparse weights of all labels together
            model = sgd.train_linear(fold.training, task.frequency, task.settings, prune=task.prune)
            predictions.append(predict_top(model, fold.features, fold.rows, task.top, task.run))
            tick()
        in_order = np.argsort(np.concatenate(fold_rows))
        return HeldOut(held_out, csr_array(vstack(predictions, format="csr")[in_order]))
    probabilities = out_of_fold(folds, task.labels.shape, task.frequency, task.settings, task.run, tick)
    return HeldOut(held_out, probabilities if isinstance(held_out, slice) else probabilities[held_out])


# With fewer folds too little is left where two are held out.
FEWEST_FOLDS = 4


def pairs_of(m: int, outer: int) -> list[tuple[int, int]]:
    """Return the pairs of m folds in which one of the first `outer` folds is."""
    return [(i, j) for i in range(outer) for j in range(i + 1, m)]


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
    predictions, fold_of = [], np.empty(len(task), int)
    for number, rows in enumerate(fold_rows):
        fold_of[rows] = number
    for rows in fold_rows[:outer]:
        predictions.append(np.empty(task.labels.shape, np.float32))
        predictions[-1][rows] = out_of_fold[rows]

    def predict_pair(pair: Fold, block: Block, model: LinearModel) -> None:
        i, j = np.unique(fold_of[pair.rows])
        for without, of in ((i, j), (j, i)):
            if without < outer:
                predict(model, task.features, fold_rows[of], block, predictions[without], task.run)

    pairs = pairs_of(len(fold_rows), outer)
    folds = (task.without(np.sort(np.concatenate([fold_rows[i], fold_rows[j]]))) for i, j in pairs)
    learn_folds(folds, task.frequency, task.settings, predict_pair, task.run, tick)
    return predictions
