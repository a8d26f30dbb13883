"""The cells of an experiment: samples of instances, their folds, the labels that are removed, a training, a test."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import only_entries
from mpu_cli.core.labels.problem import kin_of
from mpu_cli.core.validation import deal
from mpu_cli.errors import MpuError
from mpu_cli.evaluation.incomplete import corrected_metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, RankingMetrics
from mpu_cli.evaluation.propensities import FEWEST_INSTANCES, Propensities, PropensityScoredMetrics
from mpu_cli.evaluation.reliability import Reliability
from mpu_cli.experiment.methods import fit_and_predict
from mpu_cli.runtime.parallel import blas_on_one_thread
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.version import __version__

AVERAGES = tuple(f"{average}_{name}" for average in ("micro", "macro") for name in ("precision", "recall", "f1"))
LOSSES = ("brier", "log_loss", "ece")  # of scores from 0 to 1

# The result of a cell: values of `results.HEADER`, without empty ones. If it failed, `error` says why,
# and there are no metrics. Macro averages are over the labels that are true or predicted in the test fold.
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One training and its test."""

    method: str  # with its options, as the user wrote it: `mpu_cli.experiment.methods.make`
    missing_rate: float  # share of the training labels that is removed
    fold: int  # number of the test fold, from 0
    instances: int  # size of the sample: instances for training and for the test together


@dataclass(frozen=True)
class Design:
    """An experiment."""

    methods: tuple[str, ...]
    missing_rates: tuple[float, ...]  # from 0 to below 1
    instances: tuple[int, ...]  # sizes of the samples, which ascend
    folds: int  # number of folds of a sample
    run_folds: int  # how many of them are test folds, each with the others for training
    seed: int = 0

    def cells(self) -> list[Cell]:
        """All cells, fold by fold, so that the finished ones are a fair comparison at any time."""
        keys = product(self.instances, range(self.run_folds), self.missing_rates, self.methods)
        return [Cell(method, rate, fold, size) for size, fold, rate, method in keys]

    def split(self, data: Dataset, cell: Cell) -> tuple[Dataset, Dataset, np.ndarray]:
        """Return the training and the test instances of a cell, and which are the former; these have lost labels.

        They depend on the seed, the number of instances and the fold; the removed labels depend on the missing rate
        too. Nothing depends on the method. A larger sample contains a smaller one.
        """
        drawn = np.sort(np.random.default_rng(self.seed).permutation(len(data))[: cell.instances])
        held_out = deal(len(drawn), self.folds, self.seed, kin_of(data.features[drawn]))[cell.fold]
        rows = np.delete(drawn, held_out)
        left = remove_labels(data.labels[rows], cell.missing_rate, (self.seed, cell.fold))
        return Dataset(left, data.features[rows]), data[drawn[held_out]], rows


def remove_labels(labels: csr_array, missing_rate: float, seed: tuple[int, ...]) -> csr_array:
    """Remove a share of all labels uniformly: csr_array of bool, shape (n, q), before and after.

    With the same seed, labels removed at one rate are also removed at a higher one. So a curve over rates does not vary
    by the draw. (`mpu corrupt`, which never has all labels in memory, cannot do this.)
    """
    order = np.random.default_rng(seed).permutation(labels.nnz)
    keep = np.ones(labels.nnz, bool)
    keep[order[: round(missing_rate * labels.nnz)]] = False
    return only_entries(labels, keep)


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


def run_cell(cell: Cell, design: Design, data: Dataset, dataset: str, kernel: str | None, c: float | None) -> Row:
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
