"""Units of work that read parts of files, and the statistics of each part that a training needs."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Columns, Features
from mpu_cli.core.labels.verified import widened
from mpu_cli.core.predictions import count_positives
from mpu_cli.core.validation import deal
from mpu_cli.errors import InputError
from mpu_cli.runtime.files import State, state_of
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.urls import is_url
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.header import Extent
from mpu_cli.svmlight.reader import Part, read_part

# Names that mean another file in another process.
_STREAM = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|thread-self|\d+)/fd/\d+")
# Up to this many, the mean of models that are learned in one pass each is as good as one model of all instances.
SHARDS = 4


@dataclass(frozen=True)
class Facts:
    """Statistics of a part: its size, labels and features."""

    size: int  # number of instances
    ids: np.ndarray  # int, shape (q_i,): the labels that occur, ascending
    annotations: np.ndarray  # int, shape (q_i,): number of annotations of each of them
    features: Columns  # the features that occur
    squares: float  # the sum of the squares of all feature values

    @property
    def extent(self) -> Extent:
        """How many instances there are, and the largest label and feature, plus 1."""
        return Extent(self.size, 1 + int(self.ids.max(initial=-1)), self.features.width)


@dataclass(frozen=True)
class PartRows:
    """The instances of a part, with the features of a level."""

    features: Features
    labels: csr_array  # bool, shape (n, q): annotated labels
    seed: int  # deals them into shards

    def __len__(self) -> int:
        return len(self.features)

    def shard(self, number: int) -> np.ndarray:
        """Return the instances of a shard, ascending."""
        dealt = deal(len(self), SHARDS, self.seed)
        return dealt[number] if number < len(dealt) else np.empty(0, int)


def refuse_other(path: str, state: State | None) -> None:
    """Raise InputError if a file has changed since the work began, or is missing on a worker."""
    now = state_of(path)
    if state is not None and now is None:
        raise InputError(path, None, "cannot be found by a worker; all workers must be able to read it under this name")
    if now != state:
        raise InputError(path, None, "has changed since the work began; start again")


def absolute(source: str) -> str:
    """Return the absolute name of a file, or a URL as it is.

    Raises InputError (it is a pipe, or a stream of this process, which a worker cannot read, or not again).
    """
    if is_url(source):
        return source
    path = Path(source).absolute()
    with suppress(OSError):  # reading it raises the error
        if _STREAM.fullmatch(str(path)) or path.is_fifo():
            why = "is a stream, which workers of a cluster cannot read; write it to a file first"
            raise InputError(source, None, why)
    return str(path)


def read_unchanged(part: Part, state: State | None, reading: Reading, run: Run) -> Dataset:
    """Read a part of a file, which must not have changed since the training began.

    Raises InputError (it has changed, or cannot be read).
    """
    refuse_other(part.path, state)
    data = read_part(part, reading, run)
    refuse_other(part.path, state)
    return data


def facts_of(data: Dataset) -> Facts:
    """Return the statistics of a part."""
    labels, ids = data.occurring_labels()
    squares = float(np.square(data.features.data, dtype=float).sum())
    return Facts(len(data), ids, count_positives(labels), Columns.occurring(data.features), squares)


def place(data: Dataset, ids: np.ndarray, columns: Columns, seed: int) -> PartRows:
    """Return a part with the label and feature numbers of all parts: these labels, ascending, and features."""
    return PartRows(Features.of(columns.narrowed(data.features)), labels_at(data, ids), seed)


def labels_at(data: Dataset, ids: np.ndarray) -> csr_array:
    """Return the annotated labels of a part, in the columns of all labels."""
    return widened(*data.occurring_labels(), ids)
