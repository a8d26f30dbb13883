"""Progressive validation: one pass over all instances, whose last ones are predicted before they are learned from.

A model that has made less than the whole of a single pass has not seen the instances that come last. So their
predictions are out of sample, and cost no training of their own (Blum, Kalai and Langford 1999, "Beating the hold-out:
bounds for k-fold and progressive cross-validation").
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.core.sgd import LinearModel, Settings, TrainingSet, train_linear
from mpu_cli.core.validation import predicted
from mpu_cli.runtime.run import Run


def train_progressively(
    features: Features,
    labels: csr_array,
    last: np.ndarray,
    frequency: LabelFrequency,
    settings: Settings,
    run: Run,
) -> tuple[LinearModel, np.ndarray]:
    """Learn all labels from all instances in one pass.

    Parameters
    ----------
    features : Features, n instances
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    last : ndarray of int, shape (m,)
        The instances that come last, ascending; fewer than n.
    frequency : LabelFrequency
        Of these instances and labels.
    settings : Settings
        Its epochs are not looked at.
    run : Run

    Returns
    -------
    model : LinearModel
    probabilities : ndarray of float32, shape (m, q)
        Of the last instances, by the model that has learned from all others.
    """
    n = len(features)
    first = np.setdiff1d(np.arange(n), last, assume_unique=True)

    def learn(rows: np.ndarray, start: LinearModel | None, seen: int) -> LinearModel:
        in_part = replace(settings, epochs=1, cost=settings.cost * n / len(rows))  # lambda is that of n instances
        return train_linear(TrainingSet(features, labels, rows, run), frequency, in_part, start, seen)

    model = learn(first, None, 0)
    probabilities = run.empty((len(last), labels.shape[1]), np.float32)
    done = 0
    for rows, of_rows in predicted(model, features, last, run):
        probabilities[done : done + len(rows)] = of_rows
        done += len(rows)
    return learn(last, model, len(first)), probabilities
