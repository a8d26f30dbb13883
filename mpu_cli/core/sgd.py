"""Learning all labels of a level: PU-SGD (Kong et al. 2014, Section 2.1), or dual coordinate descent."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import logit

from mpu_cli.core.features import Features, only_entries
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import SIMD, Batches, descent, kernel
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.loss import DEFAULT, loss_named
from mpu_cli.core.loss.pu_logistic import LOSS
from mpu_cli.core.predictions import LEAST, Block, Predictions, Top
from mpu_cli.core.side_information import NegativeSample, Prior, unannotated_bias
from mpu_cli.errors import OverflowingError
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Instances per mini-batch: usually, and if many instances share few features, where larger ones make NumPy faster.
BATCH_SIZE, LARGE_BATCH_SIZE = 32, 64
_MANY, _FEW_SHARED = 25_000, 2.0
# The initial eta0: the largest for a single pass, and the largest product with the coherence of the instances.
_LARGEST_STEP, _STABLE = 8.0, 12.0
# The candidates for C, and the largest power of ten by which it is larger for instances shorter than 1.
COSTS = tuple(float(f"{m}e{e}") for e in range(-3, 27) for m in (1, 3))
_MOST_SHORTER = 24
# The maximum number of passes with many labels.
_EPOCHS_OF_MANY = 3
# eta0 of the biases over eta0 of the weights for unit-length instances: small, since biases start near their optimum,
# and are not regularised.
BIAS_STEP = 0.02
# The smallest a of labels that do not learn: nothing else makes their weights longer (docs/choices/texts.md).
UNLEARNED_PRIOR = 45.0

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """The hyper-parameters for learning a level."""

    # C; the weights are regularised by lambda / 2 ||w||^2 with lambda = 1 / (C n)
    cost: float = LOSS.cost
    eta0: float = 1.0  # in units of 1 / mean ||x||^2, which makes it independent of the scale of the features
    epochs: int = 1  # passes over the data
    # a, the length of the mean of a label's weights (`core.side_information`), times sqrt(mean ||x||^2)
    prior: float = 0.0
    thin: bool = False  # whether weights may move by a sample of the small gradients (`numpy_kernel.thinned`)
    loss: str = DEFAULT  # one of `core.loss.LOSSES`
    labelled_only: bool = False  # whether only instances with labels are learned from, as if these were complete


@dataclass(frozen=True)
class LearningTask:
    """n instances with q labels, and how to learn these, for models of all or some of the instances."""

    features: Features
    labels: csr_array  # bool or float32, shape (n, q): annotated labels
    frequency: LabelFrequency
    settings: Settings
    run: Run = DEFAULT_RUN  # its seed draws the order of the instances, the same for every label block
    prior: Prior | None = None  # None: weights are drawn to 0
    negatives: NegativeSample | None = None  # None: each label is learned from all instances
    top: Top | None = None  # which predictions are kept, with many labels; None: all
    prune: float | None = None  # with many labels, weights below this are dropped; None: weights are dense

    def __len__(self) -> int:
        return len(self.features)

    def blocks(self, rows: np.ndarray | slice = slice(None)) -> Sequence[Block]:
        """Return the groups of labels in the negative sample, if there is one, or else labels cut into blocks.

        If labels without instances do not learn, only the labels of instances in these rows are included.
        """
        groups = None if self.negatives is None else self.negatives.groups()
        if self.prior is None or (counts := self.prior.counts(rows)) is None:
            return groups or label_blocks(self.labels.shape[1], self.run)
        learned = np.flatnonzero(counts)
        if groups is None:
            return [learned[block] for block in label_blocks(len(learned), self.run)] if len(learned) else []
        return [some for group in groups if len(some := np.intersect1d(group, learned, assume_unique=True))]

    def above(self, features: Features, predictions: Predictions) -> "LearningTask":
        """Return the task of the next level, which learns from these features, including out-of-fold predictions."""
        prior = self.prior and self.prior.of_next_level(predictions, features.width)
        negatives = self.negatives and self.negatives.widened(predictions)
        return replace(self, features=features, prior=prior, negatives=negatives)

    @property
    def positives(self) -> csr_array:
        """Return the annotated labels, corrected by verified ones."""
        return self.frequency.positives(self.labels)

    @cached_property
    def learnable(self) -> Features:
        """The features whose weights can move."""
        if self.prior is None or self.prior.columns is None:
            return self.features
        return Features.of(self.prior.columns.of(self.features.as_sparse()))

    @cached_property
    def by_label(self) -> csc_array:
        """The labels by column: with many blocks, finding each in all rows would take longer than learning it."""
        return self.labels.tocsc()


class TrainingSet:
    """The training instances of a task, cut into mini-batches once for all blocks of labels.

    `rows`: int, shape (m,): the numbers of the instances, ascending.
    """

    def __init__(self, task: LearningTask, rows: np.ndarray) -> None:
        if task.settings.labelled_only and len(labelled := rows[task.frequency.labelled(task.labels)[rows]]):
            complete = LabelFrequency.of(1.0, task.labels.shape, task.frequency.verified)
            task, rows = replace(task, frequency=complete), labelled
        self.task, self.size = task, len(rows)
        is_large = len(rows) >= _MANY and task.features.coherence <= _FEW_SHARED
        self.batch_size = LARGE_BATCH_SIZE if is_large else BATCH_SIZE
        self.rows = np.random.default_rng(task.run.seed).permutation(rows)
        self.mean_squared_norm = task.features.mean_squared_norm(rows)
        if task.negatives is None:
            self._batches = Batches(task.learnable, self.rows, self.batch_size)
        else:
            self._among = np.zeros(len(task), bool)
            self._among[rows] = True

    def batches(self, block: Block) -> Batches:
        """Return the mini-batches of the instances that a block of labels is learned from."""
        negatives = self.task.negatives
        if negatives is None:
            return self._batches
        instances = negatives.instances_of(block)
        rows = np.random.default_rng(self.task.run.seed).permutation(instances[self._among[instances]])
        return Batches(self.task.learnable, rows, BATCH_SIZE)


def label_blocks(q: int, run: Run) -> list[slice]:
    """Cut q labels into blocks of nearly equal size, all but the last a multiple of the SIMD width.

    The blocks depend on the number of labels only, so that a label's weights never depend on the number of threads.
    """
    n_blocks = -(-q // kernel(run).BLOCK_SIZE)
    cuts = [min(-(-b * q // (SIMD * n_blocks)) * SIMD, q) for b in range(n_blocks + 1)]
    return [slice(start, stop) for start, stop in pairwise(cuts)]


@dataclass(frozen=True)
class Split:
    """The instances that a model learns from, and those that it predicts before it has seen them."""

    task: LearningTask
    # The training instances, ascending: the model learns from several sets one after the other, each in one pass
    training: tuple[np.ndarray, ...]
    held_out: np.ndarray = field(default_factory=partial(np.empty, 0, int))  # predicted after the first set, ascending

    def sets(self) -> list[TrainingSet]:
        """Return the sets, ready to learn from."""
        task, given, n = self.task, self.task.settings, sum(map(len, self.training))
        if len(self.training) == 1:
            return [TrainingSet(task, self.training[0])]
        settings = [replace(given, epochs=1, cost=given.cost * n / len(rows)) for rows in self.training]  # one lambda
        return [TrainingSet(replace(task, settings=s), rows) for s, rows in zip(settings, self.training, strict=True)]


def learn_labels(
    splits: Iterable[Split],
    use: Callable[[Split, Block, list[LinearModel]], T],
    run: Run,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[T]:
    """Learn all labels, block by block, from the training instances of each split.

    All learning happens here, except on a cluster, which calls `train_block`. The threads of the run work on splits,
    which may be generated one at a time, and on blocks of labels.

    `use`: called in a thread with the models of a block after each set of a split; its results are yielded in order.
    """

    def learn_block(unit: tuple[Split, list[TrainingSet], Block, LinearModel, bool]) -> tuple[T, bool]:
        split, sets, block, begin, is_last = unit
        models, seen = [begin.block(block)], 0
        for data in sets:
            models.append(train_block(data, block, models[-1], seen))
            seen += data.size
        return use(split, block, models[1:]), is_last

    def units() -> Iterator[tuple[Split, list[TrainingSet], Block, LinearModel, bool]]:
        for split in splits:
            sets, blocks = split.sets(), split.task.blocks(np.concatenate(split.training))
            rows = sets[0].rows
            of_split = sets[0].task.frequency.rows(rows).single_precision()
            bias = initial_bias(of_split.true_labels(split.task.labels[rows]), of_split.cells(len(rows)))
            begin = LinearModel(np.empty((0, len(bias)), np.float32), bias)  # no weights: a cold start
            yield from ((split, sets, block, begin, block is blocks[-1]) for block in blocks)

    with closing(run.in_threads(learn_block, units())) as finished:  # if a tick fails, the rest is cancelled
        for used, is_last in finished:
            if is_last:
                tick()
            yield used


def model_of_unlearned_labels(
    data: TrainingSet, learned: Sequence[Block], prune: float
) -> list[tuple[LinearModel, np.ndarray]]:
    """Return the model of the labels that do not learn, if there are any, and the numbers of these labels.

    Their weights are the mean of the prior, made longer. Their expected number per instance is the number of labels
    annotated once, over the number of instances and c: on average, the next instance has once / n annotations of
    unannotated labels (Good, "The population frequencies of species and the estimation of population parameters",
    Biometrika 1953, who credits Turing).
    """
    task = data.task
    prior, is_other = task.prior, np.ones(task.labels.shape[1], bool)
    for block in learned:
        is_other[block] = False
    others = np.flatnonzero(is_other)
    if prior is None or not len(others) or (counts := prior.counts(data.rows)) is None:
        return []
    vectors = csr_array(prior.vectors[:, others])
    vectors.data *= np.float32(max(task.settings.prior, UNLEARNED_PRIOR) / np.sqrt(data.mean_squared_norm))
    is_named = np.diff(prior.vectors.indptr) > 0
    once = np.count_nonzero(is_named & (counts == 1))
    expected = max(float(once), 0.5) / (len(data.rows) * float(task.frequency.rates.mean()))
    rng = np.random.default_rng(task.run.seed)
    bias = unannotated_bias(task.features.as_sparse(), data.rows, vectors, expected, rng)
    weights = only_entries(vectors, np.abs(vectors.data) >= np.float32(prune))
    return [(LinearModel(weights, bias), others)]


def train_block(data: TrainingSet, block: Block, start: LinearModel, seen: int) -> LinearModel:
    """Learn one block of labels, the unit of work.

    `start`: the initial model of this block; without features, a cold start. It has learned from `seen` instances in
    the same pass; the decay of the steps continues from there.
    """
    task, settings, prior = data.task, data.task.settings, data.task.prior
    loss = loss_named(settings.loss)
    frequency = task.frequency.block(block).single_precision()
    batches = data.batches(block)
    n = max(len(batches.rows), 1)  # total decay is the same as if instances left out were visited
    weights, mean, offsets = start.weights if len(start.weights) else None, None, None
    if prior is not None and settings.prior:
        length = settings.prior / np.sqrt(data.mean_squared_norm)
        mean, offsets = prior.mean(block, length), prior.offsets(block, length)
        weights = None if weights is None else weights - mean
    annotated = frequency.positives(task.by_label[:, block].tocsr())
    of_block = batches, annotated, frequency
    shared = {"epochs": settings.epochs, "rng": np.random.default_rng(task.run.seed), "offsets": offsets}
    with np.errstate(over="ignore", invalid="ignore"):
        if loss.gradient is None:
            of_dual = {"cost": settings.cost, "bias_norm": data.mean_squared_norm}
            weights, bias = kernel(task.run).descend_dual(*of_block, **of_dual, **shared)
        else:
            weights, bias = descent(task.run, loss.gradient)(
                *of_block,
                start.bias,
                step=settings.eta0 / data.mean_squared_norm,
                bias_step=BIAS_STEP * settings.eta0,
                decay=1 / (settings.cost * n),
                weights=weights,
                seen=round(seen * n / data.size),
                thin=settings.thin,
                **shared,
            )
        if mean is not None:
            weights[mean.tocoo().coords] += mean.data  # few: a dense mean per block would take as long as an epoch
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise OverflowingError
    return LinearModel(weights, bias)


def default_epochs(n: int, coherence: float = 1.0) -> int:
    """Return 10 to 50 passes for up to 5,000 instances; above that, 5, fewer from 12,500 on, and 1 from 50,000 on.

    There are fewer than 5 only if large steps can make up for them, since the instances are not too similar
    (`Features.coherence`).
    """
    if n <= 5_000:
        return int(np.clip(50_000 // n, 10, 50))
    return int(np.ceil(np.clip(max(50_000 / n, _LARGEST_STEP / _bold_step(coherence)), 1, 5)))


def default_settings(
    features: Features, epochs: int | None = None, many: bool = False, loss: str = DEFAULT
) -> Settings:
    """Return the initial settings for choosing, perhaps with these epochs.

    If labels are many, most are rare: they need larger C and eta0, and at most 3 epochs.
    """
    start = loss_named(loss)
    if not start.has_step:
        squared_length = max(features.mean_squared_norm(), LEAST)
        cost = min(COSTS, key=lambda cost: abs(np.log(cost * squared_length / start.cost)))
        return Settings(cost, epochs=epochs or start.epochs, loss=loss)
    coherence = features.coherence
    usual_epochs = default_epochs(len(features), coherence)
    if many and start.cost_of_many is not None:
        cost, epochs = cost_for(features, start.cost_of_many), epochs or min(usual_epochs, _EPOCHS_OF_MANY)
        return Settings(cost, 2 * _bold_step(coherence), epochs, thin=True, loss=loss)
    epochs = epochs or usual_epochs
    return Settings(cost_for(features, start.cost), default_step(epochs, coherence), epochs, loss=loss)


def cost_for(features: Features, cost: float) -> float:
    """Return C for instances, from C for unit length: larger by a power of ten if their squared length is smaller.

    Otherwise, the weights would be too short. Longer instances keep C: few passes do not make their weights too long.
    """
    shorter = np.floor(-np.log10(features.mean_squared_norm()))
    return float(f"{cost}e{int(np.clip(shorter, 0, _MOST_SHORTER))}")  # exactly one of `COSTS`


def default_step(epochs: int, coherence: float = 1.0) -> float:
    """Return the initial eta0 for choosing: the fewer passes over the data, the larger, as long as that is stable."""
    if epochs >= 10:
        return 1.0
    return min(2.0 if epochs >= 5 else 4.0 if epochs >= 3 else _LARGEST_STEP, _bold_step(coherence))


def _bold_step(coherence: float) -> float:
    """Return the largest power of two at which steps on mini-batches with this coherence are stable."""
    return float(2.0 ** np.floor(np.log2(np.clip(_STABLE / coherence, 0.25, _LARGEST_STEP))))


def initial_bias(true: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return the log-odds of each label's estimated share, within what its cells can resolve: float32, shape (q,).

    `true`: the estimated number of instances with each label. `cells`: of each label.
    """
    margin = 1 / (cells + 2)
    return logit(np.clip(true / np.maximum(cells, 1), margin, 1 - margin)).astype(np.float32)
