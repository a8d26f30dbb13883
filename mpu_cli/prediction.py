"""Predict a file, in constant memory."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpu_cli.bundle import TrainedModel
from mpu_cli.errors import InputError
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.svmlight.streams import open_output
from mpu_cli.svmlight.writer import label_lines, score_lines

# Probabilities computed at a time; bounds memory where there are many labels.
_PROBABILITIES = 1 << 22


@dataclass
class Counts:
    """What was predicted.

    Attributes
    ----------
    instances : int
    labels : int
        Labels, or scores, that were written.
    entries, unknown : int
        Feature entries that were read, and those of features that never occurred in training.
    """

    instances: int = 0
    labels: int = 0
    entries: int = 0
    unknown: int = 0


def predict(
    model: TrainedModel,
    source: str | Path,
    target: str | Path,
    *,
    scores: bool = False,
    top_k: int | None = None,
    threshold: float | None = None,
    implicit_values: bool = False,
) -> Counts:
    """Write a line of labels, or of scores, for each instance of a file.

    Parameters
    ----------
    model : TrainedModel
    source : str or Path
        Data; their labels are not looked at.
    target : str or Path
        Written as a whole or not at all.
    scores : bool
        Write ``label:probability``, the most probable first, instead of the labels in ascending order.
    top_k : int, optional
        Write at most so many labels an instance: the most probable of them.
    threshold : float, optional
        Write labels of at least this probability. Default: the model's thresholds; for scores none.
    implicit_values : bool
        Whether an index without a colon means the value 1.

    Returns
    -------
    Counts

    Raises
    ------
    InputError
        The data cannot be read.
    MpuError
        The target cannot be written.
    """
    if threshold is None:
        thresholds = np.zeros(1, np.float32) if scores else model.stacked.thresholds
    else:
        thresholds = np.array([threshold], np.float32)
    rows_at_once = max(1, _PROBABILITIES // len(model.label_ids))
    counts = Counts()
    with open_output(target) as out:
        for chunk in iter_chunks(source, implicit_values):
            counts.entries += chunk.features.nnz
            counts.unknown += model.count_unknown(chunk.features)
            for start in range(0, len(chunk), rows_at_once):
                features = chunk.features[start : start + rows_at_once]
                with np.errstate(over="ignore", invalid="ignore"):
                    probabilities = model.stacked.probabilities(features)
                if np.isnan(probabilities).any():
                    raise InputError(str(source), None, "feature values are too large; scale them as in training")
                indptr, columns = _select(probabilities, thresholds, top_k, ranked=scores)
                counts.instances += len(probabilities)
                counts.labels += len(columns)
                ids = model.label_ids[columns]
                if scores:
                    rows = np.repeat(np.arange(len(probabilities)), np.diff(indptr))
                    out.write(score_lines(indptr, ids, probabilities[rows, columns]))
                else:
                    out.write(label_lines(indptr, ids))
    return counts


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
