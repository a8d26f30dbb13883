"""Units of work that read parts of files, and the statistics of each part that training needs.

Parts are of about equal size, and are read one by one, in any order and by any process. The rows of all parts,
concatenated, are the rows of the files. When all parts have been read, whole files are checked: do they have as many
instances as their headers announce, and any at all?
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.cluster import refuse_other
from mpu_cli.core.features import Columns, Features
from mpu_cli.core.labels.problem import widened
from mpu_cli.core.predictions import count_positives
from mpu_cli.core.validation import deal
from mpu_cli.errors import InputError
from mpu_cli.runtime.files import Joined, State
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Extent, Reading
from mpu_cli.svmlight.reader import NO_INSTANCES, Preamble, gathered, iter_stream, read
from mpu_cli.svmlight.streams import BLOCK_BYTES, blocks, compression_named, is_plain, open_input

# Up to this many, the mean of models learned in one pass each is as good as one model of all instances.
SHARDS = 4


@dataclass(frozen=True)
class Part:
    """The lines of a file that start in a range of bytes."""

    path: str  # the file as the user named it
    start: int = 0
    end: int | None = None  # the byte after the range; None is the end of the file

    @property
    def is_file(self) -> bool:
        """Whether the part is a whole file."""
        return self.start == 0 and self.end is None


def plan_parts(paths: Sequence[str | Path], most_bytes: int) -> list[Part]:
    """Cut files into parts of about equal size, in their order, based only on their sizes.

    Only plain regular files of more than `most_bytes` are cut; others are not opened. A line belongs to the part in
    which it starts. InputError if a file to be cut cannot be read.
    """
    parts: list[Part] = []
    for path in map(str, paths):
        size = 0
        if not compression_named(path) and Path(path).is_file():
            with open_input(path) as stream:
                size = Path(path).stat().st_size if is_plain(stream) else 0
        n_parts = max(1, -(-size // most_bytes))
        ends = [*(size * number // n_parts for number in range(1, n_parts)), None]
        parts += map(partial(Part, path), [0, *ends[:-1]], ends)
    return parts


def read_part(part: Part, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN) -> Dataset:
    """Read the instances of a part: the same as from a file with only these lines, without a header; possibly no rows.

    The file must not have changed since it was cut. Errors as for `iter_chunks`, with line numbers in the whole file.
    """
    if part.is_file:
        return read(part.path, reading, run, may_be_empty=True)
    with open_input(part.path) as stream:
        file = cast(BinaryIO, stream)
        size = file.seek(0, os.SEEK_END)
        begin = _preamble(file, part.path, reading)[1]
        start, end = (
            max(begin, _next_line(file, place)) for place in (part.start, size if part.end is None else part.end)
        )
        lines = Joined(_bytes_of(file, start, end))
        chunks = iter_stream(lines, part.path, reading, run=run, may_be_empty=True, may_have_header=False)
        try:
            return gathered(chunks)
        except InputError as error:
            if error.line is None:
                raise
            raise InputError(part.path, _lines_before(file, start) + error.line, error.problem) from None


def check_parts(parts: Sequence[Part], extents: Sequence[Extent], reading: Reading = DEFAULT_READING) -> None:
    """Check whole files against their headers, when all of their parts, with these extents, have been read.

    InputError if a file contradicts its header, or no file has an instance.
    """
    first = [number for number, part in enumerate(parts) if part.start == 0]
    for start, stop in pairwise([*first, len(parts)]):
        path = parts[start].path
        if parts[start].is_file:
            continue  # the reader has checked the whole file
        with open_input(path) as stream:
            preamble, _ = _preamble(cast(BinaryIO, stream), path, reading)
        instances, features, labels = zip(*extents[start:stop], strict=True)
        preamble.check(Extent(sum(instances), max(features), max(labels)), path, reading)
    if parts and not any(extent.instances for extent in extents):
        raise InputError(parts[0].path, 1, NO_INSTANCES)


def _next_line(file: BinaryIO, position: int) -> int:
    """Return where the first line at or after a position starts; the end of the file if there is none."""
    file.seek(max(position - 1, 0))
    while position and (line := file.readline(BLOCK_BYTES)) and not line.endswith(b"\n"):
        pass
    return file.tell()


def _preamble(file: BinaryIO, path: str, reading: Reading) -> tuple[Preamble, int]:
    """Return the lines before the instances of a file, and the position where the instances start."""
    file.seek(0)
    preamble, end = Preamble(), 0
    for first_line, block in blocks(file, path):
        end += preamble.end_in(block, first_line)
        if preamble.has_ended:
            break
    return preamble, end


def _lines_before(file: BinaryIO, position: int) -> int:
    """Count the lines of a file before a position. This is only needed for errors."""
    file.seek(0)
    starts = range(0, position, BLOCK_BYTES)
    return sum(file.read(min(BLOCK_BYTES, position - start)).count(b"\n") for start in starts)


def _bytes_of(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file from one position up to another."""
    file.seek(start)
    while start < end and (data := file.read(min(BLOCK_BYTES, end - start))):
        start += len(data)
        yield data


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
        """The number of instances, and the largest feature and label, plus 1."""
        return Extent(self.size, self.features.width, 1 + int(self.ids.max(initial=-1)))


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
    """Return a part with the label and feature numbers of all parts: `ids`, ascending, and `columns`."""
    return PartRows(Features.of(columns.narrowed(data.features)), labels_at(data, ids), seed)


def labels_at(data: Dataset, ids: np.ndarray) -> csr_array:
    """Return the annotated labels of a part, in the columns of all labels."""
    return widened(*data.occurring_labels(), ids)
