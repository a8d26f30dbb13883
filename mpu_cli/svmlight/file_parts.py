"""Cut files into parts of about equal size, which are read one by one, in any order and by any process.

The rows of all parts, one below the other, are those of the files. When all parts have been read, whole files are
checked: do they have as many instances as their headers announce, and any at all?
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, cast

from mpu_cli.errors import InputError
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading, header_instances
from mpu_cli.svmlight.reader import gathered, iter_stream, no_instances, read, wrong_header
from mpu_cli.svmlight.streams import BLOCK_BYTES, is_compressed, open_input, size_of

_CHANGED = "the file has changed since it was cut into parts; start again"


@dataclass(frozen=True)
class Part:
    """A range of lines of a file, or all of it."""

    path: str  # the file as the user named it
    start: int = 0  # its byte at which the part starts: the first one of a line
    # The byte before which the part ends, also the first one of a line; None is the end of the file
    end: int | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is a file as a whole."""
        return self.start == 0 and self.end is None


def plan_parts(paths: Sequence[str | Path], most_bytes: int) -> list[Part]:
    """Cut files into parts, in their order; those depend on the content of the files and on `most_bytes` alone.

    Only plain regular ones are cut; others are not opened. A file that is larger than `most_bytes` is cut into as few
    parts of about equal size as this allows. A part may exceed it by a line. InputError where a file to be cut cannot
    be read.
    """
    if most_bytes < 1:
        raise ValueError(f"most_bytes is {most_bytes}, and must be 1 or more")
    return [part for path in map(str, paths) for part in _parts_of(path, most_bytes)]


def read_part(part: Part, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN) -> Dataset:
    """Read the instances of a part: the same as of a file of just these lines, without a header; possibly no rows.

    InputError as for `reader.iter_chunks`, with lines numbered as in the file; or the file has changed.
    """
    if part.is_file:
        return read(part.path, reading, run, may_be_empty=True)
    with open_input(part.path) as stream:
        file = cast(BinaryIO, stream)
        end = file.seek(0, os.SEEK_END) if part.end is None else part.end
        start = part.start or _header(file, reading)[1]
        if not (_begins_line(file, end) or part.end is None) or not _begins_line(file, start):
            raise InputError(part.path, None, _CHANGED)
        lines = _Lines(file, part.path, start, end)
        chunks = iter_stream(lines, part.path, reading, run=run, may_be_empty=True, may_have_header=False)
        try:
            return gathered(chunks, (end - start) / BLOCK_BYTES, run)
        except InputError as error:
            if error.line is None:
                raise
            raise InputError(part.path, _lines_before(file, start) + error.line, error.problem) from None


def check_counts(parts: Sequence[Part], counts: Sequence[int], reading: Reading = DEFAULT_READING) -> None:
    """Check the number of instances of whole files, when all of their parts, which have so many each, have been read.

    InputError where a file has not as many instances as its header announces, or no file has any.
    """
    first = [number for number, part in enumerate(parts) if part.start == 0]
    for start, stop in pairwise([*first, len(parts)]):
        if parts[start].is_file:
            continue  # the reader has checked the whole file
        with open_input(parts[start].path) as stream:
            announced, _ = _header(cast(BinaryIO, stream), reading)
        if announced is not None and announced != (instances := sum(counts[start:stop])):
            raise wrong_header(parts[start].path, announced, instances)
    if parts and not any(counts):
        raise no_instances(parts[0].path)


def _parts_of(path: str, most_bytes: int) -> Iterator[Part]:
    if is_compressed(path) or size_of(path) is None:
        yield Part(path)
        return
    with open_input(path) as stream:
        yield from _cut(cast(BinaryIO, stream), path, most_bytes)


def _cut(file: BinaryIO, path: str, most_bytes: int) -> Iterator[Part]:
    size = file.seek(0, os.SEEK_END)
    n_parts = -(-size // most_bytes)
    start = 0
    for number in range(1, n_parts):
        target = size * number // n_parts
        if target <= start:
            continue  # within a line that the part before has
        end = _next_line(file, target)
        if end == size:
            break
        yield Part(path, start, end)
        start = end
    yield Part(path, start)


def _next_line(file: BinaryIO, position: int) -> int:
    """Return where the first line at or after a position starts; the end of the file if there is none."""
    file.seek(position - 1)
    place = position - 1
    while block := file.read(BLOCK_BYTES):
        if (newline := block.find(b"\n")) >= 0:
            return place + newline + 1
        place += len(block)
    return place


def _begins_line(file: BinaryIO, position: int) -> bool:
    """Whether a line starts at a position of a file, if it has one there."""
    if not position:
        return True
    file.seek(position - 1)
    return file.read(1) == b"\n"


def _header(file: BinaryIO, reading: Reading) -> tuple[int | None, int]:
    """Return the number of instances in the header of a file, and its length in bytes; None and 0 without one."""
    file.seek(0)
    line = b"" if reading.implicit_values else file.readline(reading.max_line_bytes + 1)
    too_long = len(line) > reading.max_line_bytes and not line.endswith(b"\n")
    announced = None if too_long else header_instances(line)
    return announced, 0 if announced is None else len(line)


def _lines_before(file: BinaryIO, position: int) -> int:
    """Count the lines of a file before a position. Only errors ask for it."""
    file.seek(0)
    starts = range(0, position, BLOCK_BYTES)
    return sum(file.read(min(BLOCK_BYTES, position - start)).count(b"\n") for start in starts)


class _Lines:
    """The bytes of a file from one position up to another, as a stream."""

    def __init__(self, file: BinaryIO, path: str, start: int, end: int) -> None:
        file.seek(start)
        self._file, self._path = file, path
        self._left = end - start

    def read(self, n_bytes: int = -1, /) -> bytes:
        data = self._file.read(self._left if n_bytes < 0 else min(n_bytes, self._left))
        if not data and self._left and n_bytes:
            raise InputError(self._path, None, _CHANGED)
        self._left -= len(data)
        return data
