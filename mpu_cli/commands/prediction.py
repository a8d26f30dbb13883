"""Predict a file, in constant memory."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.bundle import TrainedModel
from mpu_cli.core.predictions import FEW_LABELS, Predictions
from mpu_cli.errors import InputError, OverflowingError
from mpu_cli.runtime.parallel import blas_on_one_thread, map_ahead
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.svmlight.streams import open_output
from mpu_cli.svmlight.writer import label_lines, score_lines

# Probabilities that a thread computes at a time; bounds memory where there are many lines of few features. Of many
# labels, a few of each instance are kept.
_PROBABILITIES = 1 << 20


@dataclass
class Report:
    """The result of `predict`.

    Attributes
    ----------
    instances : int
    labels : int
        Labels or scores written.
    entries, unknown : int
        Feature entries read, and those of features that never occurred in training.
    """

    instances: int = 0
    labels: int = 0
    entries: int = 0
    unknown: int = 0

    def __add__(self, other: "Report") -> "Report":
        """Add the numbers of two parts of a file."""
        return Report(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))


def predict(
    model: TrainedModel,
    source: str | Path,
    target: str | Path,
    *,
    scores: bool = False,
    top_k: int | None = None,
    threshold: float | None = None,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Write a line of labels or of scores for each instance of a file. A file without instances gives an empty output.

    Parameters
    ----------
    model : TrainedModel
    source : str or Path
        Data file. Its labels are ignored.
    target : str or Path
        Written completely or not at all.
    scores : bool
        Write ``label:probability``, the most probable first, instead of the labels in ascending order.
    top_k : int, optional
        Write at most this many labels per instance, the most probable ones. Default: all; a model of many labels
        (`core.predictions`) predicts only some of each instance.
    threshold : float, optional
        Write labels with at least this probability. Default: the thresholds of the model; for scores, all labels.
    reading : Reading
    run : Run

    Returns
    -------
    Report

    Raises
    ------
    InputError
        The data cannot be read.
    MpuError
        The target cannot be written.
    """
    if threshold is None:
        thresholds = np.zeros(1, np.float32) if scores else model.predictor.thresholds
    else:
        thresholds = np.array([threshold], np.float32)

    def predict_rows(features: csr_array) -> tuple[bytes, Report]:
        return _predict_rows(model, features, thresholds, top_k, scores, run)

    chunks = iter_chunks(source, reading, run=run, may_be_empty=True)
    rows = _slices(chunks, max(1, _PROBABILITIES // min(len(model.label_ids), FEW_LABELS)))
    report = Report()
    with open_output(target) as out, blas_on_one_thread():  # chunks already run in threads
        try:
            for text, counted in map_ahead(predict_rows, rows, run.jobs):
                out.write(text)
                report += counted
        except OverflowingError:
            raise InputError(str(source), None, "feature values are too large; scale them as in training") from None
    return report


def _slices(chunks: Iterator[Dataset], most_rows: int) -> Iterator[csr_array]:
    """Cut the features of chunks into slices of at most so many instances."""
    for chunk in chunks:
        if len(chunk) <= most_rows:
            yield chunk.features  # a slice would be a copy
            continue
        for start in range(0, len(chunk), most_rows):
            yield chunk.features[start : start + most_rows]


def _predict_rows(
    model: TrainedModel, features: csr_array, thresholds: np.ndarray, top_k: int | None, scores: bool, run: Run
) -> tuple[bytes, Report]:
    """Return the lines of some instances, and what was counted in them."""
    predictions = model.predictor.predictions(features, run, top_k)
    rows, columns, probabilities = _select(predictions, thresholds, top_k, ranked=scores)
    n = predictions.shape[0]
    counts = Report(n, len(columns), features.nnz, model.count_unknown(features))
    indptr = np.searchsorted(rows, np.arange(n + 1))
    ids = model.label_ids[columns]
    return (score_lines(indptr, ids, probabilities) if scores else label_lines(indptr, ids)), counts


def _select(
    predictions: Predictions, thresholds: np.ndarray, top_k: int | None, ranked: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose the labels at or over their threshold, the top k of them.

    Returns
    -------
    rows, columns : ndarray of int
        Their instances, ascending, and their labels: within a row from the most probable down (equals: lower column
        first) if `ranked`, else ascending.
    probabilities : ndarray of float32
    """
    if isinstance(predictions, np.ndarray):
        rows, columns = np.nonzero(predictions >= thresholds)
        probabilities = predictions[rows, columns]
    else:
        rows = np.repeat(np.arange(predictions.shape[0]), np.diff(predictions.indptr))
        columns, probabilities = predictions.indices, predictions.data
        reach = probabilities >= (thresholds if len(thresholds) == 1 else thresholds[columns])
        rows, columns, probabilities = rows[reach], columns[reach], probabilities[reach]
    if not ranked and top_k is None:
        return rows, columns, probabilities
    order = np.lexsort((-probabilities, rows))
    if top_k is not None:
        first = np.searchsorted(rows, rows)  # rows ascend before and after
        order = order[np.arange(len(rows)) - first < top_k]
    if not ranked:
        order.sort()
    return rows[order], columns[order], probabilities[order]
