"""One cell of an experiment: train, predict the test fold, count."""

import time
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import MpuError
from mpu_cli.evaluation.incomplete import corrected_metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, RankingMetrics
from mpu_cli.evaluation.propensities import FEWEST_INSTANCES, Propensities, PropensityScoredMetrics
from mpu_cli.evaluation.reliability import Reliability
from mpu_cli.experiment.design import Cell, Design
from mpu_cli.experiment.methods import make
from mpu_cli.experiment.results import AVERAGES, LOSSES, Row
from mpu_cli.runtime.parallel import blas_on_one_thread
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.version import __version__


class Predictions(NamedTuple):
    """Scores of a method and its thresholds, with its label frequency and times."""

    scores: np.ndarray  # float32, shape (n, q): 0 for a label without annotation in training
    thresholds: np.ndarray | np.floating  # float32, shape (q,); infinite for a label without annotation in training
    c: float  # mean label frequency of the method
    fit_seconds: float
    predict_seconds: float


def fit_and_predict(label: str, training: Dataset, instances: Dataset, run: Run) -> Predictions:
    """Learn from training instances and predict others, from their features alone.

    Raises MpuError (no label is left in training, or the method cannot learn from the data).
    """
    S, annotated = training.occurring_labels()
    if not len(annotated):
        raise MpuError("no label is left in the training part")
    method = make(label, run)
    start = time.perf_counter()
    method.fit(training.features, S, *([instances.features] if getattr(method, "transductive", False) else []))
    fitted = time.perf_counter()
    predicted = method.predict(instances.features)
    end = time.perf_counter()
    q = training.labels.shape[1]
    scores, thresholds = np.zeros((len(instances), q), np.float32), np.full(q, np.inf, np.float32)
    scores[:, annotated] = predicted
    thresholds[annotated] = getattr(method, "threshold", 0.5)
    c = float(np.broadcast_to(getattr(method, "c", 1.0), len(annotated)).mean())
    return Predictions(scores, thresholds, c, fitted - start, end - fitted)


def measure(
    truth: csr_array, scores: np.ndarray, predicted: np.ndarray, training: csr_array, c: float | None
) -> dict[str, float]:
    """Return metrics by name: of `METRICS`, the corrected ones where the labels are incomplete, with label frequency c.

    `truth`, `scores` and `predicted` are of the test instances (n x q). `training` has the labels of the training
    instances before any were removed, for the propensities of Jain et al.; of too few there are no such metrics.
    """
    label_sets, ranking = LabelSetMetrics(), RankingMetrics()
    n, q = scores.shape
    of_all = csr_array((scores.ravel(), np.tile(np.arange(q), n), np.arange(n + 1) * q), shape=(n, q))
    label_sets.add(truth, csr_array(predicted))
    ranking.add(truth, of_all)
    metrics = label_sets.results() | ranking.results()
    if training.shape[0] >= FEWEST_INSTANCES:
        scored = PropensityScoredMetrics(Propensities.of_annotations([training]))
        scored.add(truth, of_all)
        metrics |= scored.results()
    with suppress(MpuError):  # scores of a method that are no probabilities
        (reliability := Reliability()).add(truth, of_all)
        metrics |= {name: reliability.summary()[name] for name in LOSSES}
    if c is not None:
        estimates = corrected_metrics(label_sets, c)
        metrics |= {f"corrected_{name}": float(estimates[name]) for name in AVERAGES}
    return metrics


@cache
def _warm(label: str, kernel: str | None) -> None:
    """Load what a method needs, such as compiled code, and keep it out of the times that are measured."""
    toy = Dataset(csr_array(np.eye(8, 2, dtype=bool)), csr_array(np.eye(8, dtype=np.float32)))
    with suppress(Exception):  # so few instances may be too few
        fit_and_predict(label, toy, toy, Run(jobs=1, kernel=kernel))


def run(cell: Cell, design: Design, data: Dataset, dataset: str, kernel: str | None, c: float | None) -> Row:
    """Run a cell on one thread, and return its row. If it fails, the row says why.

    `dataset`: name of the data in results.
    `c`: label frequency of the data, if their labels are incomplete before any are removed.
    """
    how = Run(seed=design.seed, jobs=1, kernel=kernel)
    row: Row = {"dataset": dataset, **asdict(cell), "seed": design.seed, "version": __version__, "error": ""}
    try:
        with blas_on_one_thread():
            _warm(cell.method, kernel)
            training, test, of_training = design.split(data, cell)
            found = fit_and_predict(cell.method, training, test, how)
            predicted = found.scores >= found.thresholds
            metrics = measure(test.labels, found.scores, predicted, data.labels[of_training], c)
            times = {"fit_seconds": found.fit_seconds, "predict_seconds": found.predict_seconds}
            return {**row, "c": found.c, **times, **metrics}
    except Exception as error:  # of a method, which may be anyone's
        name = "" if isinstance(error, MpuError) else f"{type(error).__name__}: "
        return {**row, "error": (name + " ".join(str(error).split())).rstrip(": ")}
