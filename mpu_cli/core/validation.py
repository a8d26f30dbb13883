"""Out-of-fold predictions by m-fold cross-validation (Kong et al. 2014, the cross-validation figure)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import parallel, sgd
from mpu_cli.core.features import Features

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


def split(features: Features, labels: csr_array, rows: np.ndarray, seed: int) -> Fold:
    """Hold out the given rows. Where they are all there is (one instance), learn from them too."""
    rest = np.setdiff1d(np.arange(len(features)), rows, assume_unique=True)
    if not len(rest):
        rest = rows
    return Fold(features, rows, sgd.TrainingSet(features, labels, rest, seed))


def out_of_fold(
    folds: Iterable[Fold],
    shape: tuple[int, int],
    c: np.ndarray,
    settings: sgd.Settings,
    jobs: int,
    tick: Callable[[], None] = lambda: None,
) -> np.ndarray:
    """Predict every instance by a model that has not seen it.

    Parameters
    ----------
    folds : iterable of Fold
        A list where they serve several times; a generator where they should be made one at a time.
    shape : (n, q)
    c : ndarray, shape (q,)
        Label frequency.
    settings : Settings
    jobs : int
        Threads over folds and label blocks.
    tick : callable
        Called once a fold.

    Returns
    -------
    ndarray of float32, shape (n, q)
        Probabilities.
    """
    probabilities = np.empty(shape, np.float32)
    tasks = ((fold, block, c, settings) for fold in folds for block in fold.training.blocks())
    for rows, block, predicted in parallel.run(_predict_block, tasks, jobs):
        probabilities[rows, block] = predicted
        if block.stop == shape[1]:
            tick()
    return probabilities


def _predict_block(fold: Fold, block: slice, c: np.ndarray, settings: sgd.Settings):
    model = sgd.train_block(fold.training, block, c, settings)
    predicted = np.empty((len(fold.rows), len(model.bias)), np.float32)
    for start in range(0, len(predicted), _ROWS):  # a fold of its own would be a copy of a good part of the data
        rows = slice(start, start + _ROWS)
        predicted[rows] = model.probabilities(fold.features[fold.rows[rows]])
    return fold.rows, block, predicted
