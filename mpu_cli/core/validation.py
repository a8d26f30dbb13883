"""Learning labels from rows, and out-of-fold predictions by m-fold cross-validation (Kong et al. 2014).

Labels are learned block by block in the threads of one process. `plan` chooses how instances are held out:

- Cross-validation: a model of all instances, and for each fold a model of the others, which predicts the fold.
- Two halves: a model of each half is learned in one pass and predicts the other half, and the mean of both is the model
  of all instances. If one pass over half the instances is enough, a third training adds nothing: the mean of models of
  parts, each learned with larger steps, is as good as one model of all instances (McDonald, Hall and Mann 2010,
  "Distributed training strategies for the structured perceptron"; Zinkevich et al. 2010, "Parallelized stochastic
  gradient descent").
- Progressive validation: one pass over all instances, in which the last ones are predicted before they are learned
  from. Their predictions are out of sample, and need no separate training (Blum, Kalai and Langford 1999, "Beating the
  hold-out: bounds for k-fold and progressive cross-validation").

For a higher level that is validated itself, predictions come from nested cross-validation: `predict_nested`.
"""

from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.calibration import HeldOut
from mpu_cli.core.features import Features
from mpu_cli.core.linear_model import LinearModel, rows_among
from mpu_cli.core.loss import loss_named
from mpu_cli.core.options import MACRO_F1, PER_LABEL, Options
from mpu_cli.core.predictions import FEW_LABELS, Block, Predictions, SourceModels, Top, count_positives, strata_of
from mpu_cli.core.problem import Instances
from mpu_cli.core.sgd import LearningTask, Split, learn_labels, model_of_unlearned_labels
from mpu_cli.errors import DataError
from mpu_cli.runtime.run import DEFAULT_RUN, Run

_ROWS = 1 << 14
_TOP_ROWS = 1 << 11
# The folds with many labels, whose models take long to train, for up to this many instances.
_FOLDS_OF_MANY, _FEW_INSTANCES = 3, 200_000
# From this many sets of instances per fold on, random folds have about equal sizes.
_FEW_SETS = 10


def default_folds(n: int) -> int:
    """Return 5; 3 above 50,000 instances, and 2 above 200,000, since a model of half of them is nearly as good."""
    return 5 if n <= 50_000 else 3 if n <= 200_000 else 2


def usual_folds(n: int, q: int, wanted: int | None = None) -> int | None:
    """Return the number of folds for choosing settings; None: by the number of instances in the sample.

    Raises DataError (more folds are wanted than there are instances, and more than two).
    """
    if wanted is not None and wanted > max(n, 2):
        raise DataError(f"{wanted:,} folds need at least {wanted:,} instances, not {n:,}; give fewer folds")
    return wanted or (_FOLDS_OF_MANY if q > FEW_LABELS and n <= _FEW_INSTANCES else None)


def deal(n: int, m: int, seed: int, kin: np.ndarray | None = None) -> list[np.ndarray]:
    """Deal n instances at random into m folds whose sizes differ by at most one; at most n folds.

    `kin`: int, shape (n,): instances with equal numbers go into one fold, so that sizes differ, and folds may be fewer.
    Returns: the instances of each fold, ascending.
    """
    m = min(m, n)
    folds = np.empty(n, int)
    folds[np.random.default_rng(seed).permutation(n)] = np.arange(n) % m
    if kin is not None:
        folds = together(folds, kin, m)
    in_order = np.argsort(folds, kind="stable")
    return [rows for rows in np.split(in_order, np.cumsum(np.bincount(folds))[:-1]) if len(rows)]


def fold_numbers(fold_rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the number of the fold of each instance, for the instances in the folds, ascending."""
    numbers = np.repeat(np.arange(len(fold_rows)), [len(rows) for rows in fold_rows])
    return numbers[np.argsort(np.concatenate(fold_rows))]


def together(folds: np.ndarray, kin: np.ndarray, m: int) -> np.ndarray:
    """Return the folds (of m) after moving instances with equal numbers in `kin` into the fold of the first of them.

    With few different numbers, random folds would have very different sizes. So each set of instances goes into the
    smallest fold, the largest set first.
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
    """Count the first folds that together hold out at least `size` instances; all folds if necessary."""
    return min(int(np.searchsorted(np.cumsum([len(rows) for rows in fold_rows]), size)) + 1, len(fold_rows))


def holding_out(task: LearningTask, rows: np.ndarray) -> Split:
    """Hold out these rows."""
    return Split(task, (without(rows, len(task)),), rows)


def without(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the other ones of n instances, ascending, to learn from; if there are none (n = 1), these."""
    others = np.delete(np.arange(n), rows)
    return others if len(others) else rows


def source_models(task: LearningTask, fold_rows: Sequence[np.ndarray]) -> SourceModels:
    """Return the source models of the instances in folds, ascending: each model has seen all others."""
    positives = task.positives
    annotations = np.array([count_positives(positives[without(rows, len(task))]) for rows in fold_rows])
    return SourceModels(fold_numbers(fold_rows), strata_of(annotations))


def dense_out_of_fold(
    task: LearningTask,
    fold_rows: Sequence[np.ndarray],
    tick: Callable[[], None] = lambda: None,
    into: np.ndarray | None = None,
    features_of: Callable[[int], Features] | None = None,
) -> np.ndarray:
    """Predict the instances of each fold by a model that has not seen them: float32, shape (n, q).

    `into`: the array for the probabilities; rows of instances that no fold holds out are unchanged. Default: a new
    array, in which these rows are undefined.
    `features_of`: maps the number of a fold to the features of all instances. Default: those of the task.
    """
    probabilities = np.empty(task.labels.shape, np.float32) if into is None else into

    def predict_block(split: Split, block: Block, models: list[LinearModel]) -> None:
        predict(models[0], split.task.features, split.held_out, block, probabilities, task.run)

    for _ in learn_labels(_splits(task, fold_rows, features_of), predict_block, task.run, tick):
        pass
    return probabilities


def _splits(
    task: LearningTask, fold_rows: Sequence[np.ndarray], features_of: Callable[[int], Features] | None
) -> Iterator[Split]:
    for number, rows in enumerate(fold_rows):
        yield holding_out(task if features_of is None else replace(task, features=features_of(number)), rows)


def predict(
    model: LinearModel,
    features: Features,
    rows: np.ndarray,
    block: Block,
    into: np.ndarray,
    run: Run = DEFAULT_RUN,
    places: np.ndarray | None = None,
) -> None:
    """Predict the given instances by the model of a block of labels.

    Probabilities go into the rows `places` of `into`, float32, n x q; default: the same rows. OverflowingError if
    scores may exceed their range.
    """
    places = rows if places is None else places
    for start in range(0, len(rows), _ROWS):  # all at once would copy much of the data
        part = slice(start, start + _ROWS)
        cells = (places[part], block) if isinstance(block, slice) else (places[part, None], block)
        into[cells] = model.probabilities(features[rows[part]], run)


# With many labels, this many annotations are enough to choose one threshold for all.
_ENOUGH_ANNOTATIONS = 5_000


def enough_at_last(instances: Instances, options: Options, hold_out_all: bool) -> int:
    """Return how many instances to predict out of fold at the last level: all, if each label gets a threshold."""
    n = len(instances)
    if hold_out_all or options.threshold in (PER_LABEL, MACRO_F1):
        return n
    if instances.labels.shape[1] <= FEW_LABELS:
        return options.sample
    return min(options.sample, int(np.ceil(_ENOUGH_ANNOTATIONS * n / instances.annotations.sum())))


# Step size factor for the mean of several models: a model of half the instances makes half the steps.
LARGER_STEPS = 2.0


def plan(
    task: LearningTask, enough: int, folds: list[np.ndarray], kin: np.ndarray | None = None
) -> tuple[list[Split], list[np.ndarray]]:
    """Plan how a level is learned.

    `enough`: the minimum number of instances to predict. 0: none are held out.
    `folds`: the instances of each, as from `deal`.
    Returns: the splits of the models whose mean is the model of all instances; and the folds that other models predict.
    """
    n, seed = len(task), task.run.seed
    is_one_pass = task.settings.epochs == 1 and loss_named(task.settings.loss).has_step
    if is_one_pass and n >= 2 * enough > 0:
        fold = deal(n, n // enough, seed, kin)[0]
        return [Split(task, (without(fold, n), fold), fold)], []
    # Not with many labels: the rarest are in one half only, and the mean of sparse weights is less sparse.
    if is_one_pass and len(folds) == 2 and enough >= n and task.top is None:
        return [holding_out(task, fold) for fold in folds], []
    return [Split(task, (np.arange(n),))], folds[: leading(folds, enough)] if enough else []


def train_splits(splits: Sequence[Split], tick: Callable[[], None] = lambda: None) -> tuple[LinearModel, HeldOut]:
    """Train a model on each split, with larger steps if there are several, and average the models.

    `splits`: one if weights are sparse.
    `tick`: called once per split and block of labels.
    Returns: the mean, and the predictions of the held-out instances, if any.
    """
    task, parts = splits[0].task, [split.held_out for split in splits]
    if task.prune is not None:
        return _train_sparse(splits[0], task.prune, tick)
    if len(splits) > 1:
        task = replace(task, settings=replace(task.settings, eta0=LARGER_STEPS * task.settings.eta0))
        splits = [replace(split, task=task) for split in splits]
    rows, q = rows_of(parts, len(task)), task.labels.shape[1]
    probabilities = np.empty((sum(map(len, parts)), q), np.float32)
    weights, bias = np.zeros((task.features.width, q), np.float32), np.zeros(q, np.float32)

    def keep_model(split: Split, block: Block, models: list[LinearModel]) -> tuple[Block, LinearModel]:
        places = split.held_out if isinstance(rows, slice) else np.searchsorted(rows, split.held_out)
        predict(models[0], task.features, split.held_out, block, probabilities, task.run, places)
        tick()
        return block, models[-1]

    for block, model in learn_labels(splits, keep_model, task.run):
        weights[:, block] += model.weights / len(splits)
        bias[block] += model.bias / len(splits)
    return LinearModel(weights, bias), HeldOut(probabilities, task.labels[rows], task.frequency.rows(rows))


def _train_sparse(split: Split, prune: float, tick: Callable[[], None]) -> tuple[LinearModel, HeldOut]:
    """Train like `train_splits`, but prune each block of labels before the next, to avoid storing D x q weights."""
    task, first = split.task, split.sets()[0]
    columns = None if task.prior is None else task.prior.columns

    def keep(_: Split, block: Block, models: list[LinearModel]) -> tuple[list[LinearModel], Block]:
        tick()
        sparse = [csr_array(model.pruned(prune).weights) for model in models]
        if columns is not None:
            sparse = [rows_among(weights, columns.indices, columns.width) for weights in sparse]
        return [LinearModel(weights, model.bias) for weights, model in zip(sparse, models, strict=True)], block

    of_blocks = list(learn_labels([split], keep, task.run))
    others = model_of_unlearned_labels(first, [block for _, block in of_blocks], prune)
    every = np.arange(task.labels.shape[1])

    def after(number: int) -> LinearModel:
        of_set = [(models[number], every[block]) for models, block in of_blocks]
        return LinearModel.of_blocks(*zip(*of_set, *others, strict=True))

    model = after(0)

    def predict_top(start: int) -> csr_array:
        return model.top(task.features[split.held_out[start : start + _TOP_ROWS]], task.top or Top(), task.run)

    starts = range(0, len(split.held_out), _TOP_ROWS)
    predicted = [csr_array((0, len(every)), dtype=np.float32), *task.run.in_threads(predict_top, starts)]
    predictions = csr_array(vstack(predicted, format="csr"))
    last = after(-1) if len(split.training) > 1 else model
    return last, HeldOut(predictions, task.labels[split.held_out], task.frequency.rows(split.held_out))


def rows_of(parts: Sequence[np.ndarray], n: int) -> np.ndarray | slice:
    """Return the rows of all parts, ascending; a slice if these are all n rows."""
    rows = np.sort(np.concatenate([np.empty(0, int), *parts]))
    return slice(None) if len(rows) == n else rows


def predict_out_of_fold(
    task: LearningTask,
    fold_rows: Sequence[np.ndarray],
    tick: Callable[[], None],
    features_of: Callable[[int], Features] | None = None,
) -> HeldOut:
    """Predict the instances of the given folds by models that have not seen them, with few or many labels."""
    rows = rows_of(fold_rows, len(task))
    if task.top is None:
        predicted: Predictions = dense_out_of_fold(task, fold_rows, tick, features_of=features_of)[rows]
    else:
        predictions = []
        for split in _splits(task, fold_rows, features_of):
            predictions.append(train_splits([split])[1].probabilities)
            tick()
        in_order = np.argsort(np.concatenate(fold_rows))
        predicted = csr_array(vstack(predictions, format="csr")[in_order])
    return HeldOut(predicted, task.labels[rows], task.frequency.rows(rows))


# With fewer folds, too few instances are left if two folds are held out.
FEWEST_FOLDS = 4


def predict_nested(
    task: LearningTask, fold_rows: Sequence[np.ndarray], outer: int, out_of_fold: np.ndarray
) -> list[np.ndarray]:
    """Predict all instances for each of the first `outer` folds that the level above holds out: float32, n x q each.

    If the level above holds out fold i, it learns from predictions for the other folds j, which must not depend on the
    labels of fold i (docs/method.md, "Out-of-fold predictions"). So fold j is predicted by a model without i and j, and
    fold i by a model without i alone: `out_of_fold`.
    """
    predictions, fold_of = [], fold_numbers(fold_rows)
    for rows in fold_rows[:outer]:
        predictions.append(np.empty(task.labels.shape, np.float32))
        predictions[-1][rows] = out_of_fold[rows]

    def predict_pair(pair: Split, block: Block, models: list[LinearModel]) -> None:
        i, j = np.unique(fold_of[pair.held_out])
        for held_out, of in ((i, j), (j, i)):
            if held_out < outer:
                predict(models[0], task.features, fold_rows[of], block, predictions[held_out], task.run)

    pairs = [(i, j) for i in range(outer) for j in range(i + 1, len(fold_rows))]
    folds = (holding_out(task, np.sort(np.concatenate([fold_rows[i], fold_rows[j]]))) for i, j in pairs)
    with task.run.step("predicting level 0 without two folds", len(pairs)) as tick:
        for _ in learn_labels(folds, predict_pair, task.run, tick):
            pass
    return predictions
