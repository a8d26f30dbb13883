"""Lines of text from arrays: instances, label sets, and labels with scores."""

from itertools import pairwise

import numpy as np

from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.streams import Writable

_ROWS = 4096


def write_instances(stream: Writable, dataset: Dataset) -> None:
    """Write instances as LIBSVM lines that read back equal, bit for bit; one without labels starts with a space.

    Parameters
    ----------
    stream : binary file
    dataset : Dataset
    """
    for start in range(0, len(dataset), _ROWS):
        stream.write(_instance_lines(dataset[start : start + _ROWS]))


def _instance_lines(dataset: Dataset) -> bytes:
    labels = _joined_rows(_decimals(dataset.labels.indices), dataset.labels.indptr, ",")
    features = _joined_rows(_pairs(dataset.features.indices, dataset.features.data), dataset.features.indptr, " ")
    return "".join([f"{row_labels} {row}\n" for row_labels, row in zip(labels, features, strict=True)]).encode()


def label_lines(indptr: np.ndarray, ids: np.ndarray) -> bytes:
    """Return a line ``label,label,...`` for each instance, labels in the order given.

    Parameters
    ----------
    indptr : int array, shape (n + 1,)
        Instance i has the labels ``ids[indptr[i]:indptr[i + 1]]``; possibly none, which is an empty line.
    ids : int array, shape (m,)
        Labels as they are to be written.
    """
    return _lines(_joined_rows(_decimals(ids), indptr, ","))


def score_lines(indptr: np.ndarray, ids: np.ndarray, probabilities: np.ndarray) -> bytes:
    """Return a line ``label:probability label:probability ...`` for each instance, in the order given.

    Parameters
    ----------
    indptr : int array, shape (n + 1,)
        Instance i has the entries from ``indptr[i]`` up to ``indptr[i + 1]``; possibly none, which is an empty line.
    ids : int array, shape (m,)
        Labels as they are to be written.
    probabilities : float32 array, shape (m,)
        Written with as few digits as bring back the same float32.
    """
    return _lines(_joined_rows(_pairs(ids, probabilities), indptr, " "))


def _lines(rows: list[str]) -> bytes:
    return "".join([f"{row}\n" for row in rows]).encode()


def _decimals(ids: np.ndarray) -> list[str]:
    return list(map(str, ids.tolist()))


def _pairs(ids: np.ndarray, values: np.ndarray) -> list[str]:
    shortest = np.asarray(values, np.float32).astype("U").tolist()
    return [f"{number}:{value.removesuffix('.0')}" for number, value in zip(ids.tolist(), shortest, strict=True)]


def _joined_rows(tokens: list[str], indptr: np.ndarray, separator: str) -> list[str]:
    return [separator.join(tokens[start:stop]) for start, stop in pairwise(indptr.tolist())]
