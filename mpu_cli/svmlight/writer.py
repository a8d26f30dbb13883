"""Write instances, label lists and score lists as lines of text."""

from itertools import pairwise

import numpy as np

from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.streams import Writable

_ROWS, _ENTRIES = 4096, 1 << 16


def write_instances(stream: Writable, dataset: Dataset) -> None:
    """Write instances as LIBSVM lines. Reading them gives the same numbers, bit for bit.

    The line of an instance without labels starts with a space.
    """
    for start in range(0, len(dataset), _ROWS):
        stream.write(_instance_lines(dataset[start : start + _ROWS]))


def _instance_lines(dataset: Dataset) -> bytes:
    labels = _joined_rows(_decimals(dataset.labels.indices), dataset.labels.indptr, ",")
    features = _joined_rows(_pairs(dataset.features.indices, dataset.features.data), dataset.features.indptr, " ")
    return "".join([f"{row_labels} {row}\n" for row_labels, row in zip(labels, features, strict=True)]).encode()


def label_lines(indptr: np.ndarray, ids: np.ndarray) -> bytes:
    """Return one line ``label,label,...`` per instance, with labels in the order of `ids`.

    Parameters
    ----------
    indptr : int array, shape (n + 1,)
        Instance i has the labels ``ids[indptr[i]:indptr[i + 1]]``; possibly none, which gives an empty line.
    ids : int array, shape (m,)
        The labels to write.
    """
    return _lines(_joined_rows(_decimals(ids), indptr, ","))


def score_lines(indptr: np.ndarray, ids: np.ndarray, probabilities: np.ndarray) -> bytes:
    """Return one line ``label:probability label:probability ...`` per instance, in the order of `ids`.

    Parameters
    ----------
    indptr : int array, shape (n + 1,)
        Instance i has the entries from ``indptr[i]`` up to ``indptr[i + 1]``; possibly none, which gives an empty line.
    ids : int array, shape (m,)
        The labels to write.
    probabilities : float32 array, shape (m,)
        Written with the fewest digits that give the same float32 when read.
    """
    return _lines(_joined_rows(_pairs(ids, probabilities), indptr, " "))


def label_and_score_lines(indptr: np.ndarray, ids: np.ndarray, probabilities: np.ndarray, chosen: np.ndarray) -> bytes:
    """Return one line ``label,... label:probability ...`` per instance: the chosen labels, then the scores of all.

    Parameters
    ----------
    indptr, ids, probabilities
        As for `score_lines`.
    chosen : bool array, shape (m,)
        Which of the labels are in the label list. A line without any starts with a space.
    """
    scores = _joined_rows(_pairs(ids, probabilities), indptr, " ")
    ends = np.concatenate([[0], np.cumsum(chosen)])[indptr]
    labels = _joined_rows(_decimals(ids[chosen]), ends, ",")
    return _lines([f"{listed} {row}" if row else "" for listed, row in zip(labels, scores, strict=True)])


def _lines(rows: list[str]) -> bytes:
    return "".join([f"{row}\n" for row in rows]).encode()


def _decimals(ids: np.ndarray) -> list[str]:
    return list(map(str, ids.tolist()))


def _pairs(ids: np.ndarray, values: np.ndarray) -> list[str]:
    pairs: list[str] = []
    for start in range(0, len(ids), _ENTRIES):  # NumPy's texts of numbers have 128 bytes each
        batch = slice(start, start + _ENTRIES)
        shortest = np.asarray(values[batch], np.float32).astype("U").tolist()
        numbers = ids[batch].tolist()
        pairs += [f"{number}:{value.removesuffix('.0')}" for number, value in zip(numbers, shortest, strict=True)]
    return pairs


def _joined_rows(tokens: list[str], indptr: np.ndarray, separator: str) -> list[str]:
    return [separator.join(tokens[start:stop]) for start, stop in pairwise(indptr.tolist())]
