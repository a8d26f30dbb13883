"""Out-of-fold predictions by m-fold cross-validation (Kong et al. 2014, the cross-validation figure)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import sgd
from mpu_cli.core.features import Features
from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run

_ROWS = 1 << 14


@dataclass(frozen=True)
class Fold:
    """A held-out part of the instances and the rest, ready to learn from.

    Attributes
    ----------
    features : Features, n instances
        All of them; no fold has a copy.
    rows : ndarray of int, shape (n_f,)
        The held-out instances.
    training : TrainingSet, n - n_f instances
    """

    features: Features
    rows: np.ndarray
    training: sgd.TrainingSet


def default_folds(n: int) -> int:
    """Five; three above 50,000 instances and two above 200,000, where a model of half of them is nearly as good."""
    return 5 if n <= 50_000 else 3 if n <= 200_000 else 2


def deal(n: int, m: int, seed: int) -> list[np.ndarray]:
    """Deal n instances at random into m folds of equal size (to one); at most n folds.

    Returns
    -------
    list of ndarray of int
        The instances of each fold, ascending.
    """
    order = np.random.default_rng(seed).permutation(n)
    m = min(m, n)
    return [np.sort(order[f::m]) for f in range(m)]


def leading(fold_rows: list[np.ndarray], size: int) -> int:
    """Count the folds, from the first on, that hold out at least `size` instances together; all of them if need be."""
    return min(int(np.searchsorted(np.cumsum([len(rows) for rows in fold_rows]), size)) + 1, len(fold_rows))


def split(features: Features, labels: csr_array, rows: np.ndarray, run: Run = DEFAULT_RUN) -> Fold:
    """Hold out the given rows. Where they are all there is (one instance), learn from them too."""
    rest = np.setdiff1d(np.arange(len(features)), rows, assume_unique=True)
    if not len(rest):
        rest = rows
    return Fold(features, rows, sgd.TrainingSet(features, labels, rest, run))


def out_of_fold(
    folds: Iterable[Fold],
    shape: tuple[int, int],
    frequency: LabelFrequency,
    settings: sgd.Settings,
    run: Run = DEFAULT_RUN,
    tick: Callable[[], None] = lambda: None,
    into: np.ndarray | None = None,
) -> np.ndarray:
    """Predict every instance by a model that has not seen it.

    Parameters
    ----------
    folds : iterable of Fold
        A list where they serve several times; a generator where they should be made one at a time.
    shape : (n, q)
    frequency : LabelFrequency
        Of n instances and q labels.
    settings : Settings
    run : Run
        Its threads work on folds and label blocks.
    tick : callable
        Called once per fold, in their order.
    into : ndarray of float32, shape (n, q), optional
        Where to put the probabilities, and to leave those of instances that no fold holds out. Default: a new array.

    Returns
    -------
    ndarray of float32, shape (n, q)
        Probabilities.
    """
    probabilities = np.empty(shape, np.float32) if into is None else into
    tasks = ((fold, block, frequency, settings, probabilities) for fold in folds for block in fold.training.blocks())
    with closing(parallel.run(_predict_block, tasks, run.jobs)) as finished:  # if a tick fails, the rest is given up
        for block in finished:
            if block.stop == shape[1]:
                tick()
    return probabilities


def out_of_unfinished_folds(
    features: Features,
    labels: csr_array,
    fold_rows: list[np.ndarray],
    frequency: LabelFrequency,
    settings: sgd.Settings,
    run: Run,
    tick: Callable[[], None],
    step: str,
) -> np.ndarray:
    """Predict every instance by a model that has not seen it, or take a fold's predictions from a journal.

    Parameters
    ----------
    features : Features, n instances
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    fold_rows : list of ndarray of int
        The instances of each fold, from `deal`.
    frequency, settings, tick
        As for `out_of_fold`.
    run : Run
        Its journal keeps the predictions of each fold as a step.
    step : str
        What to call the folds in it.

    Returns
    -------
    ndarray of float32, shape (n, q)
        Probabilities.
    """
    probabilities = run.empty(labels.shape, np.float32)
    unfinished = []
    for number, rows in enumerate(fold_rows):
        name = f"{step}, fold {number}"
        if (found := run.journal.kept(name)) is None:
            unfinished.append((name, rows))
        else:
            probabilities[rows] = found["probabilities"]
            tick()
    finished = iter(unfinished)

    def keep() -> None:
        name, rows = next(finished)
        run.journal.keep(name, lambda: {"probabilities": probabilities[rows]})
        tick()

    folds = (split(features, labels, rows, run) for _, rows in unfinished)
    return out_of_fold(folds, labels.shape, frequency, settings, run, keep, probabilities)


def _predict_block(
    fold: Fold, block: slice, frequency: LabelFrequency, settings: sgd.Settings, into: np.ndarray
) -> slice:
    model = sgd.train_block(fold.training, block, frequency, settings)
    for rows, probabilities in predicted(model, fold.features, fold.rows, fold.training.run):
        into[rows, block] = probabilities
    return block


def predicted(
    model: sgd.LinearModel, features: Features, rows: np.ndarray, run: Run = DEFAULT_RUN
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Predict some of the instances, a slice of them at a time: all together would be a copy of much of the data.

    Yields
    ------
    rows : ndarray of int, shape (r,)
    probabilities : ndarray of float32, shape (r, q)

    Raises
    ------
    OverflowingError
        The numbers may leave their range.
    """
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        yield part, model.probabilities(features[part], run)
