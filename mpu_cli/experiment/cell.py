"""One cell of an experiment: train, predict the test fold, count.

The tuned threshold is one criterion for all methods, which compares them apart from their own rules. A fifth of the
training instances is held out and predicted by a model of the others. The threshold, one for all labels, maximises the
micro-F1 that is estimated for complete labels from the incomplete ones (`mpu_cli.core.thresholds`). The label
frequency c that the estimate needs comes from all training instances as in `mpu train`, whatever the method. The
threshold is then used for the model of all training instances.
"""

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.sparse import csr_array

from mpu_cli import methods
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import estimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.options import Validation
from mpu_cli.core.problem import Problem, Rows
from mpu_cli.core.sample import Sample
from mpu_cli.core.thresholds import pooled_threshold
from mpu_cli.core.validation import deal
from mpu_cli.errors import MpuError
from mpu_cli.experiment.design import OWN, TUNED, Cell, Design, Method
from mpu_cli.experiment.results import Row, measure
from mpu_cli.runtime.memory import peak_bytes
from mpu_cli.runtime.parallel import blas_on_one_thread
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model, with its label frequency and times."""

    probabilities: np.ndarray  # float32, shape (n, q): 0 for a label without annotation in training
    # float32, shape (q,): thresholds of the method; infinite for a label without annotation in training
    thresholds: np.ndarray
    c: float  # mean label frequency of the method
    fit_seconds: float
    predict_seconds: float


def fit_and_predict(name: str, options: Any, training: Dataset, instances: Dataset, run: Run) -> Predictions:
    """Learn from training instances and predict others, from their features alone.

    Raises MpuError (no label is left in training, or the method cannot learn from the data).
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


_PARTS = 5


def tune(name: str, options: Any, training: Dataset, run: Run) -> tuple[float, float]:
    """Choose the threshold of a method with these options on instances with incomplete labels; return it, and c.

    MpuError as from `fit_and_predict`.
    """
    labels, _ = training.occurring_labels()
    sample = Sample(Rows(Features.of(training.features), labels), Validation.sample, Validation.folds, run)
    c = estimate(sample.naive_probabilities(), sample.labels, folds=sample.fold_of_instances).c
    held_out = deal(len(training), _PARTS, run.seed)[0]
    rest = np.setdiff1d(np.arange(len(training)), held_out, assume_unique=True)
    predictions = fit_and_predict(name, options, training[rest], training[held_out], run)
    annotated = training.labels[held_out]
    frequency = LabelFrequency.of(c, annotated.shape)
    threshold, _ = pooled_threshold(predictions.probabilities, annotated, frequency)
    return threshold, c


@dataclass(frozen=True)
class Task:
    """The arguments of a process that runs a cell."""

    cell: Cell
    method: Method
    design: Design
    dataset: str  # name of the data in results
    data: Path  # the instances, as `joblib.dump` wrote a `Dataset`
    kernel: str | None  # the inner loops, as in `Run`
    c: float | None = None  # label frequency of the data, if their labels are incomplete before any are removed


def run(task: Task) -> list[Row]:
    """Run a cell on one thread.

    Returns: one for each decision rule.
    Raises MpuError (the method cannot learn from these data).
    """
    data = joblib.load(task.data, mmap_mode="r")  # shared by processes
    training, test = task.design.split(data, task.cell)
    measured = partial(_measured, task, test, data.labels[task.design.rows(len(data), task.cell)[0]])
    name, options = task.method.name, task.method.options
    how = Run(seed=task.design.seed, jobs=1, kernel=task.kernel)
    with blas_on_one_thread():
        predictions = fit_and_predict(name, options, training, test, how)
        rows = [measured(OWN, predictions, predictions.thresholds)]
        if TUNED in task.design.rules:
            start = time.perf_counter()
            threshold, c = tune(name, options, training, how)
            seconds = predictions.fit_seconds + time.perf_counter() - start
            tuned = replace(predictions, c=c, fit_seconds=seconds)
            rows.append(measured(TUNED, tuned, np.float32(threshold)))
    return rows


def _measured(
    task: Task,
    test: Dataset,
    annotated: csr_array,
    rule: str,
    predictions: Predictions,
    thresholds: np.ndarray | np.floating,
) -> Row:
    probabilities = predictions.probabilities
    return Row.of(
        task.cell,
        task.dataset,
        rule,
        metrics=measure(test.labels, probabilities, probabilities >= thresholds, annotated, task.c),
        fit_seconds=predictions.fit_seconds,
        predict_seconds=predictions.predict_seconds,
        peak_bytes=peak_bytes(),
        c=predictions.c,
    )
