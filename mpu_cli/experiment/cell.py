"""One cell of an experiment: train, predict the test fold, count."""

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import joblib
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.experiment.design import OWN, TUNED, Cell, Design, Method
from mpu_cli.experiment.fit_predict import Predictions, fit_and_predict
from mpu_cli.experiment.measures import measure
from mpu_cli.experiment.results import Row
from mpu_cli.experiment.tuning import tune
from mpu_cli.runtime.parallel import blas_on_one_thread
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.storage import peak_bytes
from mpu_cli.svmlight.dataset import Dataset


@dataclass(frozen=True)
class Task:
    """The arguments of a process that runs a cell.

    Attributes
    ----------
    cell : Cell
    method : Method
    design : Design
    dataset : str
        Name of the data in results.
    data : Path
        The instances, as `joblib.dump` wrote a `Dataset`.
    kernel : str or None
        The inner loops, as in `Run`.
    c : float or None
        Label frequency of the data, if their labels are incomplete before any are removed.
    """

    cell: Cell
    method: Method
    design: Design
    dataset: str
    data: Path
    kernel: str | None
    c: float | None = None


def run(task: Task) -> list[Row]:
    """Run a cell on one thread.

    Returns
    -------
    list of Row
        One for each decision rule.

    Raises
    ------
    MpuError
        The method cannot learn from these data.
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
