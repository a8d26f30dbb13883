"""Training and prediction for all labels of an experiment."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpu_cli import methods
from mpu_cli.core.data.problem import Problem
from mpu_cli.errors import MpuError
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model, with its label frequency and times.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (n, q)
        0 for a label without annotation in training.
    thresholds : ndarray of float32, shape (q,)
        Thresholds of the method; infinite for a label without annotation in training.
    c : float
        Mean label frequency of the method.
    fit_seconds, predict_seconds : float
    """

    probabilities: np.ndarray
    thresholds: np.ndarray
    c: float
    fit_seconds: float
    predict_seconds: float


def fit_and_predict(name: str, options: Any, training: Dataset, instances: Dataset, run: Run) -> Predictions:
    """Learn from training instances and predict others, from their features alone.

    Raises
    ------
    MpuError
        No label is left in training, or the method cannot learn from the data.
    """
    labels, annotated = training.occurring_labels()
    if not len(annotated):
        raise MpuError("no label is left in the training part")
    start = time.perf_counter()
    fitted = methods.fit(name, Problem(training.features, labels), options, run, instances.features)
    fitted_at = time.perf_counter()
    predicted = fitted.model.probabilities(instances.features, run)
    end = time.perf_counter()
    q = training.labels.shape[1]
    probabilities = np.zeros((len(instances), q), np.float32)
    probabilities[:, annotated] = predicted
    thresholds = np.full(q, np.inf, np.float32)
    thresholds[annotated] = fitted.model.thresholds
    return Predictions(probabilities, thresholds, float(fitted.c.mean()), fitted_at - start, end - fitted_at)
