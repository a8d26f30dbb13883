"""Learning labels from rows, and out-of-fold predictions by m-fold cross-validation (Kong et al. 2014).

Labels are learned block by block in the threads of one process. `plan` chooses how instances are held out:

- Cross-validation: a model of all instances, and for each fold a model of the others, which predicts it.
- Two halves: each half is learned in one pass and predicts the other, and the mean of both is the model of all
  instances. Where a pass over half of them is enough to learn from, a third training has nothing to add: the mean of
  models of parts, each learned with larger steps, is as good as one model of all (McDonald, Hall and Mann 2010,
  "Distributed training strategies for the structured perceptron"; Zinkevich et al. 2010, "Parallelized stochastic
  gradient descent").
- Progressive validation: one pass over all instances, whose last ones are predicted before they are learned from. Their
  predictions are out of sample, and cost no training of their own (Blum, Kalai and Langford 1999, "Beating the
  hold-out: bounds for k-fold and progressive cross-validation").

For a level above that is validated itself, predictions are by nested cross-validation: `predict_nested`.
"""

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core import sgd
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.side_information import NO_SIDE_INFORMATION, SideInformation
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.loss import loss_named
from mpu_cli.core.predictions import Block, SourceModels, Top
from mpu_cli.core.sgd import NO_ROWS, Fold, Settings, TrainingSet, learn_labels
from mpu_cli.core.thresholds import HeldOut
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run

_ROWS = 1 << 14
_TOP_ROWS = 1 << 11
# Sets of instances that stay together, for each fold, from which on chance makes folds of about one size.
_FEW_SETS = 10


def default_folds(n: int) -> int:
    """Five; three above 50,000 instances and two above 200,000, where a model of half of them is nearly as good."""
    return 5 if n <= 50_000 else 3 if n <= 200_000 else 2


def deal(n: int, m: int, seed: int, kin: np.ndarray | None = None) -> list[np.ndarray]:
    """Deal n instances at random into m folds of equal size (to one); at most n folds.

    `kin`: int, shape (n,): instances with equal numbers go into one fold, so that sizes differ and folds may be fewer.
    Returns: the instances of each fold, ascending.
    """
    order = np.random.default_rng(seed).permutation(n)
    m = min(m, n)
    if kin is None:
        return [np.sort(order[f::m]) for f in range(m)]
    folds = np.empty(n, int)
    folds[order] = np.arange(n) % m
    folds = together(folds, kin, m)
    return [rows for rows in (np.flatnonzero(folds == f) for f in range(m)) if len(rows)]


def together(folds: np.ndarray, kin: np.ndarray, m: int) -> np.ndarray:
    """Return the folds, of m, where instances with equal numbers in `kin` are in the fold of the first of them.

    Where there are few different numbers, chance would leave folds of very different sizes: the largest set of
    instances comes first, and each goes into the smallest fold.
    """
    _, first, of_rows, sizes = np.unique(kin, return_index=True, return_inverse=True, return_counts=True)
    of_sets = folds[first]
    if len(sizes) < _FEW_SETS * m:
        filled = np.zeros(m, int)
        for k in np.argsort(-sizes, kind="stable"):
            of_sets[k] = filled.argmin()
            filled[of_sets[k]] += sizes[k]
    return of_sets[of_rows]


def leading(fold_rows: Sequence[Sized], size: int) -> int:
    """Count the folds, from the first on, that hold out at least `size` instances together; all of them if need be."""
    return min(int(np.searchsorted(np.cumsum([len(rows) for rows in fold_rows]), size)) + 1, len(fold_rows))


def split(
    features: Features,
    labels: csr_array,
    rows: np.ndarray,
    run: Run = DEFAULT_RUN,
    side: SideInformation = NO_SIDE_INFORMATION,
) -> Fold:
    """Hold out these rows."""
    return Fold((TrainingSet(features, labels, without(rows, len(features)), run, side),), rows)


def without(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the others of n instances, ascending, to learn from; where there are none (one instance), these."""
    others = np.delete(np.arange(n), rows)
    return others if len(others) else rows


def source_models(folds: Sequence[Fold], positives: csr_array) -> SourceModels:
    """Return the models of folds, by the positive labels of all instances, for those that are held out, ascending."""
    return SourceModels.learned([fold.rows for fold in folds], [fold.training.rows for fold in folds], positives)


def out_of_fold(
    folds: Iterable[Fold],
    shape: tuple[int, int],
    frequency: LabelFrequency,
    settings: Settings,
    run: Run = DEFAULT_RUN,
    tick: Callable[[], None] = lambda: None,
    into: np.ndarray | None = None,
) -> np.ndarray:
    """Predict every instance by a model that has not seen it: float32, shape (n, q).

    Arguments as for `learn_labels`. Probabilities go into `into`, which keeps its rows of instances that no fold holds
    out, or into a new array.
    """
    probabilities = np.empty(shape, np.float32) if into is None else into

    def predict_block(fold: Fold, block: Block, models: list[LinearModel]) -> None:
        predict(models[0], fold.training.features, fold.rows, block, probabilities, run)

    for _ in learn_labels(folds, frequency, settings, predict_block, run, tick):
        pass
    return probabilities


def predict_top(model: LinearModel, features: Features, rows: np.ndarray, top: Top, run: Run) -> csr_array:
    """Predict the most probable of many labels of some of the instances: float32, shape (r, q)."""

    def predict_rows(start: int) -> csr_array:
        return model.top(features[rows[start : start + _TOP_ROWS]], top, run)

    starts = ((start,) for start in range(0, len(rows), _TOP_ROWS))
    none = csr_array((0, len(model.bias)), dtype=np.float32)
    return csr_array(vstack([none, *parallel.run(predict_rows, starts, run.jobs)], format="csr"))


def predict(
    model: LinearModel,
    features: Features,
    rows: np.ndarray,
    block: Block,
    into: np.ndarray,
    run: Run = DEFAULT_RUN,
    places: np.ndarray | None = None,
) -> None:
    """Predict these of all instances by the model of a block of labels.

    Probabilities go into the rows `places` of `into`, float32, n x q; default: the same rows. OverflowingError where
    the numbers may leave their range.
    """
    places = rows if places is None else places
    for start in range(0, len(rows), _ROWS):  # all together would be a copy of much of the data
        part = slice(start, start + _ROWS)
        cells = (places[part], block) if isinstance(block, slice) else (places[part, None], block)
        into[cells] = model.probabilities(features[rows[part]], run)


# A half makes half of the steps.
LARGER_STEPS = 2.0


# What a model learns from, some instances after others, each in one pass if there are several; and the instances that
# are predicted when it has learned from the first of them. Rows of either ascend.
Chain: TypeAlias = tuple[tuple[np.ndarray, ...], np.ndarray]


def holding_out(rows: np.ndarray, n: int) -> Chain:
    """Hold out these rows of n instances."""
    return (without(rows, n),), rows


def plan(
    n: int,
    enough: int,
    settings: Settings,
    folds: int | None,
    seed: int,
    *,
    many: bool = False,
    kin: np.ndarray | None = None,
) -> tuple[list[Chain], list[Chain]]:
    """Return how a level is learned.

    `n`: number of instances.
    `enough`: how many are to be predicted, at least.
    `folds`: of cross-validation; None: by the number of instances.
    `seed`: deals the instances into folds.
    `many`: whether labels are many: the rarest are in one half only, and the mean of sparse weights is less sparse.
    `kin`: as for `deal`.
    Returns: models whose mean is that of all instances, and models that only predict.
    """
    m = folds or default_folds(n)
    is_one_pass = settings.epochs == 1 and loss_named(settings.loss).has_step
    if is_one_pass and n >= 2 * enough:
        fold = deal(n, n // enough, seed, kin)[0]
        return [((without(fold, n), fold), fold)], []
    dealt = deal(n, m, seed, kin)
    if is_one_pass and m == 2 and enough >= n and not many:
        return [holding_out(fold, n) for fold in dealt], []
    return [((np.arange(n),), NO_ROWS())], [holding_out(fold, n) for fold in dealt[: leading(dealt, enough)]]


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

    def fold(self, chain: Chain) -> Fold:
        """Return the instances of a chain, ready to learn from."""
        learned, predicted = chain
        return Fold(
            tuple(TrainingSet(self.features, self.labels, rows, self.run, self.side) for rows in learned), predicted
        )

    def blocks(self) -> Sequence[Block]:
        """Return the blocks of labels that are learned one by one."""
        return sgd.blocks_to_learn(self.labels.shape[1], self.side, self.run)


def learn(
    task: LearningTask, chains: Sequence[Chain], tick: Callable[[], None] = lambda: None
) -> tuple[LinearModel, HeldOut]:
    """Learn models of the instances of each chain, and take the mean of them: of several, with larger steps.

    `chains`: one where labels are many.
    `tick`: called once per chain and block of labels.
    Returns: the mean, and what the chains have predicted; of no instances where they predict none.
    """
    if len(chains) > 1:
        task = replace(task, settings=replace(task.settings, step=LARGER_STEPS * task.settings.step))
    if task.top is not None and task.prune is not None:  # weights are sparse: those of all labels predict together
        (chain,) = chains
        after = sgd.train_sparse(task.fold(chain), task.frequency, task.settings, task.prune, tick)
        _, held_out = chain
        predictions = predict_top(after(0), task.features, held_out, task.top, task.run)
        return after(-1), HeldOut(held_out, predictions, task.labels, task.frequency)
    rows, q = rows_of([held_out for _, held_out in chains], len(task)), task.labels.shape[1]
    probabilities = np.empty((len(task) if isinstance(rows, slice) else len(rows), q), np.float32)
    weights, bias = np.zeros((task.features.width, q), np.float32), np.zeros(q, np.float32)

    def predict_first(fold: Fold, block: Block, models: list[LinearModel]) -> tuple[Block, LinearModel]:
        places = fold.rows if isinstance(rows, slice) else np.searchsorted(rows, fold.rows)
        predict(models[0], task.features, fold.rows, block, probabilities, task.run, places)
        tick()
        return block, models[-1]

    folds = map(task.fold, chains)
    for block, model in learn_labels(folds, task.frequency, task.settings, predict_first, task.run):
        weights[:, block] += model.weights / len(chains)
        bias[block] += model.bias / len(chains)
    return LinearModel(weights, bias), HeldOut(rows, probabilities, task.labels, task.frequency)


def rows_of(parts: Sequence[np.ndarray], n: int) -> np.ndarray | slice:
    """Return the rows of some parts together, ascending, as `HeldOut` has them: a slice where they are all n rows."""
    rows = np.sort(np.concatenate([np.empty(0, int), *parts]))
    return slice(None) if len(rows) == n else rows


def predict_out_of_fold(
    task: LearningTask,
    chains: Sequence[Chain],
    features_of: Callable[[int], Features],
    tick: Callable[[], None],
) -> HeldOut:
    """Predict the instances of some folds by models that have not seen them.

    `features_of` gives the features of all n instances for each fold, by its number. `tick` is called once per fold.
    """
    fold_rows = [rows for _, rows in chains]
    held_out = rows_of(fold_rows, len(task))
    tasks = (replace(task, features=features_of(number)) for number in range(len(chains)))
    if task.top is None:
        folds = (one.fold(chain) for one, chain in zip(tasks, chains, strict=True))
        probabilities = out_of_fold(folds, task.labels.shape, task.frequency, task.settings, task.run, tick)
        predicted = probabilities if isinstance(held_out, slice) else probabilities[held_out]
        return HeldOut(held_out, predicted, task.labels, task.frequency)
    predictions = []
    for one, chain in zip(tasks, chains, strict=True):
        predictions.append(learn(one, [chain])[1].probabilities)
        tick()
    in_order = np.argsort(np.concatenate(fold_rows))
    predicted = csr_array(vstack(predictions, format="csr")[in_order])
    return HeldOut(held_out, predicted, task.labels, task.frequency)


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

    def predict_pair(pair: Fold, block: Block, models: list[LinearModel]) -> None:
        i, j = np.unique(fold_of[pair.rows])
        for held_out, of in ((i, j), (j, i)):
            if held_out < outer:
                predict(models[0], task.features, fold_rows[of], block, predictions[held_out], task.run)

    pairs = pairs_of(len(fold_rows), outer)
    chains = (holding_out(np.sort(np.concatenate([fold_rows[i], fold_rows[j]])), len(task)) for i, j in pairs)
    for _ in learn_labels(map(task.fold, chains), task.frequency, task.settings, predict_pair, task.run, tick):
        pass
    return predictions
