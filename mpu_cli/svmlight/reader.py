"""LIBSVM multi-label files in memory, as two CSR arrays: read whole, or in chunks of bounded size.

The compiled parser (extra `fast`) takes a whole block of lines at a time. Without it, or if it encounters an error or a
rare form, the block is parsed line by line, by `grammar` unless a line has the usual form. So the same files are
accepted with and without it, and the error messages are the same.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, counted, shown
from mpu_cli.runtime.run import DEFAULT_RUN, Run, map_ahead
from mpu_cli.svmlight import streams
from mpu_cli.svmlight.grammar import (
    BYTE_ORDER_MARK,
    DEFAULT_READING,
    FLOAT32_OVERFLOW,
    MAX_ID,
    NUMBER,
    Extent,
    Instance,
    Reading,
    header_of,
    parse_line,
    plain_labels,
)


class UnusualError(Exception):
    """The block has an error or a rare form, and `grammar` has to parse it line by line."""


@dataclass(frozen=True)
class Dataset:
    """Instances with their labels."""

    # Csr_array, shape (n, Q), bool: True in row i and column k if instance i is annotated with label k. Columns are
    # labels as written in the file, so Q is the largest label plus 1. The columns of a row are sorted.
    labels: csr_array
    # Csr_array, shape (n, D), float32: Columns are feature indices as written in the file, so D is the largest index
    # plus 1. The columns of a row are sorted and unique. Zeros in the file are stored entries.
    features: csr_array

    @classmethod
    def of_rows(
        cls, labels: np.ndarray, label_ends: np.ndarray, indices: np.ndarray, index_ends: np.ndarray, values: np.ndarray
    ) -> "Dataset":
        """Return the n instances of a block, in file order, with each label and index once.

        `labels`: int32, shape (a,): the labels of all instances, one after another.
        `label_ends`: int, shape (n,): the labels of instance i end before ``labels[label_ends[i]]``.
        `indices`: int32, shape (m,): the feature indices of all instances.
        `index_ends`: int, shape (n,): the indices of instance i end before ``indices[index_ends[i]]``.
        `values`: float32, shape (m,): the value of each index.
        Raises UnusualError (an index has two values in one instance, or label 0 or 1 is duplicated: labels may be a
        vector of 0 and 1).
        """
        return cls(_csr(np.ones(len(labels), bool), labels, label_ends), _csr(values, indices, index_ends))

    def __len__(self) -> int:
        return self.features.shape[0]

    def __getitem__(self, rows: Any) -> "Dataset":
        """Return the instances selected by a slice or an index array."""
        return Dataset(self.labels[rows], self.features[rows])

    def occurring_labels(self) -> tuple[csr_array, np.ndarray]:
        """Renumber the labels that occur, from 0.

        Returns: `labels`: csr_array, shape (n, q), bool: column k is label ``ids[k]``; `ids`: int, shape (q,): the
        labels that occur, ascending.
        """
        occurs = np.unique(self.labels.indices)
        columns = np.searchsorted(occurs, self.labels.indices).astype(self.labels.indices.dtype)
        shape = (len(self), len(occurs))
        return csr_array((self.labels.data, columns, self.labels.indptr), shape=shape), occurs


def _csr(data: np.ndarray, columns: np.ndarray, row_ends: np.ndarray) -> csr_array:
    indptr = np.concatenate(([0], row_ends)).astype(np.int32)
    rows = csr_array((data, columns, indptr), shape=(len(row_ends), int(columns.max(initial=-1)) + 1))
    if not rows.has_canonical_format:
        rows.sort_indices()
        again = np.diff(rows.indices, prepend=-1) == 0
        again[indptr[indptr < len(again)]] = False  # the first of each row
        again = np.flatnonzero(again)
        if np.any(rows.data[again] != rows.data[again - 1]) or (
            data.dtype == bool and np.any(rows.indices[again] <= 1)
        ):
            raise UnusualError
        rows.data[again] = -0.0  # their sum is the value
        rows.sum_duplicates()
    return rows


class GrowingCsr:
    """A CSR matrix that is built by appending rows, without a copy: the system moves the pages of growing memory.

    `dtype`: type of the entries.
    """

    def __init__(self, dtype: type) -> None:
        self._dtype = dtype
        self._data, self._indices, self._indptr = bytearray(), bytearray(), bytearray(8)  # the last one begins with 0
        self._n_entries = self._n_columns = 0

    def append(self, rows: csr_array) -> None:
        """Append rows. The matrix becomes as wide as the widest rows."""
        self._data += np.asarray(rows.data, self._dtype).data
        self._indices += np.asarray(rows.indices, np.int32).data
        self._indptr += (rows.indptr[1:] + np.int64(self._n_entries)).data
        self._n_entries += rows.nnz
        self._n_columns = max(self._n_columns, rows.shape[1])

    def finish(self) -> csr_array:
        """Return the matrix without a copy. Nothing can be appended after this."""
        indices, indptr = np.frombuffer(self._indices, np.int32), np.frombuffer(self._indptr, np.int64)
        if self._n_entries < 2**31:
            indptr = indptr.astype(np.int32)  # otherwise SciPy would copy the indices as 64-bit numbers
        data: np.ndarray = np.frombuffer(self._data, self._dtype)
        return csr_array((data, indices, indptr), shape=(len(indptr) - 1, self._n_columns))


_log = logging.getLogger(__name__)
_parsing_by_line = Lock()  # as Python objects, a block takes about 50 times the memory of its text


def parse_block(
    block: bytes, first_line: int, source: str, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN
) -> Dataset:
    """Parse whole lines, without the header of the file: one row per instance, possibly none.

    The last line may lack a newline. `first_line` is the number of the first line, from 1, and `source` the file name,
    for errors. InputError if a line breaks the grammar.
    """
    if run.compiled:
        parse = import_module("mpu_cli.svmlight.numba_parser").parse
        for text_of in (bytes, partial(plain_labels, reading=reading)):
            with suppress(UnusualError):
                return parse(text_of(block), reading.implicit_values)
    with _parsing_by_line:
        return _parse_by_line(block, first_line, source, reading)


_END = rb"(?=[ \t]|\Z)"
_USUAL = re.compile(
    rb"(?:([0-9]{1,18}(?:,[0-9]{1,18})*)" + _END + rb")?((?:[ \t]*[0-9]{1,18}:" + NUMBER + _END + rb")*)[ \t]*"
)


def _parse_usual(line: bytes, reading: Reading) -> Instance | None:
    """Parse a line like `parse_line`, in a third of its time; None if it breaks the grammar, or is of a rare form."""
    match = _USUAL.fullmatch(plain_labels(line.removesuffix(b"\r").partition(b"#")[0], reading))
    if match is None:
        return None
    labels = list(map(int, match[1].split(b","))) if match[1] else []
    numbers = match[2].replace(b":", b" ").split()
    indices, values = list(map(int, numbers[::2])), list(map(float, numbers[1::2]))
    are_unique = len({*labels}) == len(labels) and len({*indices}) == len(indices)
    are_small = max(labels + indices, default=0) <= MAX_ID and max(map(abs, values), default=0) < FLOAT32_OVERFLOW
    return (labels, indices, values) if are_unique and are_small else None


def _parse_by_line(block: bytes, first_line: int, source: str, reading: Reading) -> Dataset:
    lines = block.split(b"\n")
    if not lines[-1]:  # there is no line after the last newline
        lines.pop()
    rows = []
    for number, line in enumerate(lines, first_line):
        if line.startswith(b"#"):
            continue
        try:
            rows.append(_parse_usual(line, reading) or parse_line(line, reading))
        except ValueError as error:
            raise InputError(source, str(error), number) from None
    labels, indices, values = zip(*rows, strict=True) if rows else ((), (), ())
    return Dataset.of_rows(
        np.fromiter(chain.from_iterable(labels), np.int32),
        np.cumsum(list(map(len, labels)), dtype=int),
        np.fromiter(chain.from_iterable(indices), np.int32),
        np.cumsum(list(map(len, indices)), dtype=int),
        np.fromiter(chain.from_iterable(values), np.float32),
    )


class Preamble:
    """The lines before the instances of a file: comments, and perhaps a header after them."""

    def __init__(self) -> None:
        self.header: Extent | None = None
        self.has_ended = False
        self._line = 0

    def end_in(self, block: bytes, first_line: int) -> int:
        """Return where the instances begin in whole lines; `first_line` is the number of the first one.

        Call this for each block of a file in turn.
        """
        if self.has_ended:
            return 0
        start = len(BYTE_ORDER_MARK) if first_line == 1 and block.startswith(BYTE_ORDER_MARK) else 0
        while block.startswith(b"#", start):
            start = block.find(b"\n", start) + 1 or len(block)
        end = block.find(b"\n", start) + 1 or len(block)
        self.has_ended = start < len(block)
        self.header = header_of(block[start:end])
        self._line = first_line + block.count(b"\n", 0, start)
        return start if self.header is None else end

    def check(self, extent: Extent, source: str, reading: Reading) -> None:
        """Raise InputError if the file contradicts its header; log a header."""
        if self.header is None:
            return
        header, features = self.header, extent.features or 0
        advice = "; with --implicit-values, an instance of label 3 is written 3 5:1" * reading.implicit_values
        if header.instances != extent.instances:
            raise InputError(
                source,
                f"the header declares {header.instances} instances, but {extent.instances} follow; is the file cut "
                f"short, or are files joined? (two or three integers alone on the first line are a header{advice})",
                self._line,
            )
        numbers = {"label": (extent.labels, header.labels), "feature": (features, header.features)}
        if reading.scores:
            numbers = {"label": (max(extent.labels, features), header.labels)}
        elif header.features is None and not extent.labels:  # only the features, with labels in another file
            numbers = {"feature": (features, header.labels)} if reading.labels else {}
        for name, (found, announced) in numbers.items():
            if (reading.labels or name == "feature") and announced is not None and found > announced:
                raise InputError(
                    getattr(streams.pair_of(source), f"{name}s", source),
                    f"the header declares {counted(announced, name)}, numbered from 0, but {name} {found - 1} "
                    "follows; correct the header, or remove it",
                    self._line,
                )
        if header.instances:
            counts = [f"{name}s 0 to {announced - 1}" for name, (_, announced) in numbers.items() if announced]
            text = f"is a header: {', '.join([counted(header.instances, 'instance'), *counts])}{advice}"
            level = logging.WARNING if reading.implicit_values else logging.INFO
            _log.log(level, f"{shown(source)}:{self._line}: {text}", extra={"once": True})


_MOST_THREADS = 8  # together they parse about as fast as one thread reads


def iter_chunks(
    source: streams.Source,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
    may_be_empty: bool = False,
    measures: streams.Measures | None = None,
    ends: list[int] | None = None,
) -> Iterator[Dataset]:
    """Read a file in chunks. The memory needed does not depend on its size.

    The calling thread reads and decompresses. Other threads parse, a few blocks ahead.

    `source`: a file, plain or ``.gz``, ``.bz2``, ``.xz``, ``.zst``; or ``-`` for standard input; or several, of which
    some may have no instances.
    `run`: its threads and kernels are used. The chunks do not depend on them.
    `may_be_empty`: whether a file without instances yields no chunks instead of an error. Such a file is empty, has
    only comments, or has a header that announces no instances.
    `measures`: its keys are files. Their values are filled in when the files have been read.
    `ends`: receives the number of instances up to the end of each file.
    Yields: at least one instance per chunk. The widths differ from chunk to chunk.
    Raises InputError (the file cannot be read; a line breaks the grammar (see `mpu_cli.svmlight.grammar`) or is too
    long; there are no instances (unless `may_be_empty`), or a different number than the header declares; the first
    error in the file is raised).
    """
    files, measures, ends, instances = streams.files_of(source), measures or {}, [] if ends is None else ends, 0
    if len(files) > 1:
        streams.refuse_unreadable(files)
    for file in files:
        with streams.open_input(file) as stream:
            measured = streams.Measured(stream) if file in measures else None
            are_optional = may_be_empty or len(files) > 1
            for chunk in iter_stream(measured or stream, file, reading, run=run, may_be_empty=are_optional):
                instances += len(chunk)
                yield chunk
            if measured is not None:
                measures[file] = measured.measure()
        ends.append(instances)
    if not instances and not may_be_empty:
        raise InputError(source, "the files have no instances")


def iter_stream(
    stream: streams.Readable,
    source: str,
    reading: Reading = DEFAULT_READING,
    block_bytes: int = streams.BLOCK_BYTES,
    run: Run = DEFAULT_RUN,
    may_be_empty: bool = False,
    look: Callable[[bytes, int, int], None] | None = None,
) -> Iterator[Dataset]:
    """Read an open stream in chunks, as `iter_chunks` does. `source` is its name for errors.

    `block_bytes`: number of bytes read at a time. `look`: called with each block of lines before its chunk, the number
    of the first line, and where in the block the instances begin.
    """
    preamble = Preamble()

    def below_preamble() -> Iterator[tuple[bytes, int]]:
        for first_line, block in streams.blocks(stream, source, block_bytes):
            end = preamble.end_in(block, first_line)
            if look is not None:
                look(block, first_line, end)
            yield block[end:], first_line + block.count(b"\n", 0, end)

    instances = labels = features = 0
    jobs = min(run.threads, _MOST_THREADS)
    parse = partial(parse_block, source=source, reading=reading, run=run)
    for chunk in map_ahead(lambda numbered: parse(*numbered), below_preamble(), jobs):
        if len(chunk):
            instances += len(chunk)
            labels, features = max(labels, chunk.labels.shape[1]), max(features, chunk.features.shape[1])
            yield chunk
    preamble.check(Extent(instances, features, labels), source, reading)
    if not instances and not may_be_empty:
        raise InputError(source, "the file has no instances", 1)


def no_labels(source: streams.Source) -> InputError:
    """Return the error that one or several files have no labels."""
    return InputError(
        source,
        "no instance has a label, so there is nothing to learn; labels begin a line, such as 3,7 1:0.5; if they are in "
        "a file of their own, name both files as in docs/guide/formats.md: X.txt and Y.txt",
    )


def read(
    source: streams.Source,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
    may_be_empty: bool = False,
    measures: streams.Measures | None = None,
    ends: list[int] | None = None,
) -> Dataset:
    """Read a whole file, or several as one; parameters and errors as for `iter_chunks`.

    With `may_be_empty`, a dataset without rows is returned if there are no instances.
    """
    return gathered(iter_chunks(source, reading, run, may_be_empty, measures, ends))


def gathered(chunks: Iterable[Dataset]) -> Dataset:
    """Concatenate chunks into the arrays of one dataset; without any, it has no rows and no columns."""
    labels, features = GrowingCsr(bool), GrowingCsr(np.float32)
    for chunk in chunks:
        labels.append(chunk.labels)
        features.append(chunk.features)
    return Dataset(labels.finish(), features.finish())
