"""Out-of-fold predictions for a level above that is validated itself: by models that have not seen two of the folds.

Where fold i is held out of the level above, that level learns from predictions of the other folds j. A model without
fold j alone has learned from the labels of fold i, so its predictions of j depend on them, while those of fold i itself
cannot. The level above takes this for a connection between predictions and labels, and finds it wrong on fold i, though
not on new instances. So here, predictions of fold j are those of a model without i and j.
"""

from collections.abc import Callable, Sequence

import numpy as np

from mpu_cli.core.data.predictions import FEW_LABELS, DensePredictions
from mpu_cli.core.solver import sgd
from mpu_cli.core.validate.level import LevelTask
from mpu_cli.core.validate.validation import predict
from mpu_cli.runtime import parallel

# With fewer folds too little is left where two are held out.
FEWEST_FOLDS = 4


def pairs_of(m: int, outer: int) -> list[tuple[int, int]]:
    """Return the pairs of m folds in which one of the first `outer` folds is."""
    return [(i, j) for i in range(outer) for j in range(i + 1, m)]


def is_worthwhile(labels: int, m: int) -> bool:
    """Whether there are few enough labels, and enough folds."""
    return labels <= FEW_LABELS and m >= FEWEST_FOLDS


def predict_nested(
    task: LevelTask,
    fold_rows: Sequence[np.ndarray],
    outer: int,
    out_of_fold: np.ndarray,
    tick: Callable[[], None] = lambda: None,
) -> list[np.ndarray]:
    """Predict all instances for each of the first `outer` folds that the level above holds out.

    Parameters
    ----------
    task : LevelTask
    fold_rows : sequence of ndarray of int
        The instances of each fold, from `validation.deal`.
    outer : int
    out_of_fold : ndarray of float32, shape (n, q)
        Predictions by models without one fold.
    tick : callable
        Called once per pair of folds (`pairs_of`).

    Returns
    -------
    list of ndarray of float32, shape (n, q)
        Predictions for each of these folds: of it by the model without it, and of the others by models without both.
    """
    run, predictions = task.run, []
    for rows in fold_rows[:outer]:
        predictions.append(run.empty(task.labels.shape, np.float32))
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
