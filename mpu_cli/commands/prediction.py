"""Predict a file, in constant memory."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.bundle import TrainedModel
from mpu_cli.errors import InputError, OverflowingError
from mpu_cli.runtime.parallel import blas_on_one_thread, map_ahead
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.svmlight.streams import open_output
from mpu_cli.svmlight.writer import label_lines, score_lines

# Probabilities that a thread computes at a time; bounds memory where there are many labels, or empty lines.
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
        Write at most this many labels per instance, the most probable ones.
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
    rows = _slices(chunks, max(1, _PROBABILITIES // len(model.label_ids)))
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
    probabilities = model.predictor.probabilities(features, run)
    indptr, columns = _select(probabilities, thresholds, top_k, ranked=scores)
    counts = Report(len(probabilities), len(columns), features.nnz, model.count_unknown(features))
    ids = model.label_ids[columns]
    if not scores:
        return label_lines(indptr, ids), counts
    rows = np.repeat(np.arange(len(probabilities)), np.diff(indptr))
    return score_lines(indptr, ids, probabilities[rows, columns]), counts


def _select(
    probabilities: np.ndarray, thresholds: np.ndarray, top_k: int | None, ranked: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the labels at or over their threshold, the top k of them.

    Returns
    -------
    indptr : ndarray, shape (n + 1,)
        Row i has the columns from ``indptr[i]`` up to ``indptr[i + 1]``.
    columns : ndarray
        Within a row from the most probable down (equals: lower column first) if `ranked`, else ascending.
    """
    chosen = probabilities >= thresholds
    if ranked or top_k is not None:
        order = np.argsort(-probabilities, axis=1, kind="stable")
        ranking = np.take_along_axis(chosen, order, axis=1)
        if top_k is not None:
            ranking &= np.cumsum(ranking, axis=1) <= top_k
        if ranked:
            return _row_ends(ranking), order[ranking]
        np.put_along_axis(chosen, order, ranking, axis=1)
    return _row_ends(chosen), chosen.nonzero()[1]


def _row_ends(chosen: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
