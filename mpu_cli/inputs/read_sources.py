"""Read the sources of a training, with features of labels.

A label that has features, or is named by ``--labels``, belongs to the model even if it is never annotated.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError
from mpu_cli.inputs.training_data import Sources, TrainingData, read_training_data
from mpu_cli.names import LabelNames
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.steps import Step
from mpu_cli.svmlight.grammar import is_comment
from mpu_cli.svmlight.header import Top
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import bytes_of, open_input
from mpu_cli.text.sidecars import Sidecars, from_one
from mpu_cli.text.stored import Stored


def training_set(sources: Sources, run: Run, is_for_model: bool = True, is_read_again: bool = False) -> TrainingData:
    """Read the data of a training.

    `is_for_model`: whether a model is trained; else neither the vectoriser beside the data nor features of labels are
    read.
    `is_read_again`: whether the file will be read a second time, so that its checksum is needed.
    Raises InputError (a file cannot be read, no instance has a label, or a review or the names beside the data do not
    fit them).
    """
    with run.step(Step.READ, bytes_of(sources.file)):
        sidecars = Sidecars(sources.file)
        if is_read_again:
            sidecars.contents.setdefault(str(sources.file))
        data = read_training_data(sources, run, sidecars)
        data = replace(data, file_content=sidecars.contents.get(str(sources.file)))
        if not is_for_model:
            return data
        data = replace(data, stored_vectorizer=sidecars.stored_vectorizer(data.instances_of_file))
        return with_label_features(data, sources, run)


def with_label_features(data: TrainingData, sources: Sources, run: Run) -> TrainingData:
    """Add features of labels, and labels that are never annotated.

    `sources`: features of labels are read from its file of label features. Without one, they are the vectors of the
    names of labels, by the vectoriser that made the data.
    Raises InputError (the file of label features cannot be read, or does not fit the data).
    """
    names = data.names
    if sources.label_features is not None:
        numbers, vectors = _of_file(sources.label_features, data, sources, run)
    elif data.stored_vectorizer is not None and names is not None:
        numbers, vectors = _of_names(names, data.stored_vectorizer)
    else:
        numbers, vectors = np.empty(0, int), None
    named = {} if names is None or sources.naming.file is None else names.by_number
    others = [number for number, texts in named.items() if texts]
    data = data.widened(np.union1d(data.ids, np.union1d(numbers, others).astype(data.ids.dtype)))
    if vectors is None:
        return data
    return replace(data, label_features=_rows_at(vectors, np.searchsorted(data.ids, numbers), len(data.ids)))


def _of_file(path: str | Path, data: TrainingData, sources: Sources, run: Run) -> tuple[np.ndarray, csr_array]:
    """Read a file with one line ``number index:value ...`` per label."""
    lines = read(path, sources.reading, run)
    lines.features.eliminate_zeros()
    refused = partial(_refused, path)
    many = np.flatnonzero(np.diff(lines.labels.indptr) != 1)
    if len(many):
        raise refused(int(many[0]), "expected the number of one label, and its features, such as: 12 3:0.5 7:1")
    numbers, first = np.unique(lines.labels.indices, return_index=True)
    if len(numbers) < len(lines):
        again = int(np.setdiff1d(np.arange(len(lines)), first)[0])
        raise refused(again, f"label {lines.labels.indices[again]} has a line before this one; remove one of them")
    if not np.isin(data.ids, numbers).any():
        raise InputError(
            str(path), None, f"has features of none of the labels of {sources.file}, such as {data.ids[0]}"
        )
    if not data.occurring.count(lines.features):
        raise InputError(
            str(path), None, f"has no feature in common with {sources.file}; features need the same numbers in both"
        )
    return numbers, lines.features[first]


def _refused(path: str | Path, instance: int, problem: str) -> InputError:
    """Return the error of a line, by the number of its instance."""
    with open_input(path) as stream:
        lines = enumerate(iter(stream.readline, b""), 1)
        top = Top()
        there = (n for n, line in lines if not top.end_in(line, n) and not is_comment(line))
        line = next((number for i, number in enumerate(there) if i == instance), None)
    return InputError(str(path), line, problem)


def _of_names(names: LabelNames, stored: Stored) -> tuple[np.ndarray, csr_array]:
    """Return the labels whose names have words of the vocabulary, and the vectors of these names."""
    from mpu_cli.text.vectorizer import Vectorizer  # with scikit-learn, which is slow to import

    named = names.by_number
    vectors = Vectorizer.of(stored).transform_names(list(named.values()))
    nonzero = np.flatnonzero(np.diff(vectors.indptr))
    return np.array(list(named), int)[nonzero], from_one(vectors[nonzero])


def _rows_at(vectors: csr_array, places: np.ndarray, q: int) -> csr_array:
    """Put rows at ascending places among q; the other rows are empty."""
    sizes = np.zeros(q, np.int64)
    sizes[places] = np.diff(vectors.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return csr_array((vectors.data, vectors.indices, indptr), shape=(q, vectors.shape[1]))
