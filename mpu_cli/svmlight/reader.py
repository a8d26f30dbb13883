"""Read LIBSVM multi-label files: whole, or in chunks of bounded memory.

A kernel (NumPy or compiled) parses a whole block of lines at a time. If it meets an error or a rare form, `grammar`
parses the block line by line, which gives the result or the error message. So both kernels accept the same files and
give the same error messages.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from threading import Lock

import numpy as np

from mpu_cli.errors import InputError
from mpu_cli.runtime.parallel import map_ahead, threads
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight import numpy_parser
from mpu_cli.svmlight.dataset import Dataset, GrowingCsr
from mpu_cli.svmlight.grammar import DEFAULT_READING, LineError, Reading, header_instances, is_comment, parse_line
from mpu_cli.svmlight.numpy_parser import Rows, UnusualError
from mpu_cli.svmlight.streams import (
    BLOCK_BYTES,
    Contents,
    Counted,
    Files,
    LineByLine,
    Readable,
    Source,
    blocks,
    files_of,
    open_input,
    refuse_unreadable,
    size_of,
)

_parsing_by_line = Lock()  # as Python objects, a block takes about 50 times the memory of its text


def parse_block(
    block: bytes,
    first_line: int,
    source: str,
    implicit_values: bool = False,
    scores: bool = False,
    run: Run = DEFAULT_RUN,
) -> Dataset:
    """Parse whole lines, without the header of the file: one row per instance, possibly none.

    The last line need not end in a newline. `first_line` is the number of the first one, from 1, and `source` the name
    of the file, for errors; the others as in `Reading`. InputError where a line breaks the grammar.
    """
    try:
        return run.choose(numpy_parser, "mpu_cli.svmlight.numba_parser").parse(block, implicit_values).dataset()
    except UnusualError:
        pass
    with _parsing_by_line:
        return _parse_by_line(block, first_line, source, implicit_values, scores).dataset()


def _parse_by_line(block: bytes, first_line: int, source: str, implicit_values: bool, scores: bool) -> Rows:
    lines = block.split(b"\n")
    if not lines[-1]:  # what follows the last newline is no line
        lines.pop()
    rows = []
    for number, line in enumerate(lines, first_line):
        if is_comment(line):
            continue
        try:
            rows.append(parse_line(line, implicit_values, scores))
        except LineError as error:
            raise InputError(source, number, str(error)) from None
    labels, indices = [row.labels for row in rows], [row.indices for row in rows]
    return Rows(
        _flat(labels, np.int32),
        _row_ends(labels),
        _flat(indices, np.int32),
        _row_ends(indices),
        _flat([row.values for row in rows], np.float32),
    )


def _flat(lists: list[list], dtype: type) -> np.ndarray:
    return np.array([number for numbers in lists for number in numbers], dtype)


def _row_ends(lists: Sequence[Sequence[float]]) -> np.ndarray:
    return np.cumsum([len(numbers) for numbers in lists], dtype=int)


_MOST_THREADS = 8  # together they parse about as fast as one thread reads
_ROOM = 1.1  # for features, relative to what the first block suggests

# The GNU allocator keeps freed memory for reuse, up to twice the size of the largest array freed so far. It returns the
# rest to the system. So an unused array of this size is allocated and freed first. Parsing was then 1.2 times (numba)
# and 2.4 times (NumPy) as fast. With other allocators this has no effect.
_KEPT_BYTES = 1 << 24


def iter_chunks(
    source: Source,
    reading: Reading = DEFAULT_READING,
    block_bytes: int = BLOCK_BYTES,
    run: Run = DEFAULT_RUN,
    may_be_empty: bool = False,
    by_line: bool = False,
    contents: Contents | None = None,
) -> Iterator[Dataset]:
    """Read a file in chunks. The memory needed does not depend on its size.

    The calling thread reads and decompresses. Other threads parse, a few blocks ahead.

    `source`: a file, plain or ``.gz``, ``.bz2``, ``.xz``; or ``-`` for standard input; or several, of which some may
    have no instances.
    `block_bytes`: number of bytes read at a time.
    `run`: its threads and kernels are used. The chunks do not depend on them.
    `may_be_empty`: whether a file without instances gives no chunks instead of an error. Such a file is empty, has only
    comments, or has a header that announces no instances.
    `by_line`: yield each line as a chunk as soon as it arrives, without reading ahead.
    `contents`: its keys are files. Their content is filled in when they have been read.
    Yields: at least one instance. The widths differ from chunk to chunk.
    Raises InputError (the file cannot be read; a line breaks the grammar (see `mpu_cli.svmlight.grammar`) or is too
    long; there is no instance (unless `may_be_empty`), or not as many as the header announces; the first error in the
    file is raised).
    """
    if isinstance(source, Files):
        refuse_unreadable(source)
        chunks = (iter_chunks(file, reading, block_bytes, run, True, by_line, contents) for file in source)
        yield from one_after_another(source, chunks, may_be_empty)
        return
    with open_input(source) as stream:
        counted = Counted(stream) if contents is not None and str(source) in contents else None
        pieces = LineByLine(counted or stream) if by_line else counted or stream
        yield from iter_stream(pieces, str(source), reading, block_bytes, run, may_be_empty, by_line)
        if contents is not None and counted is not None:
            contents[str(source)] = counted.content()


def iter_stream(
    stream: Readable,
    source: str,
    reading: Reading = DEFAULT_READING,
    block_bytes: int = BLOCK_BYTES,
    run: Run = DEFAULT_RUN,
    may_be_empty: bool = False,
    by_line: bool = False,
    may_have_header: bool = True,
) -> Iterator[Dataset]:
    """Read an open stream in chunks, as `iter_chunks` does. `source` is its name for errors.

    With `by_line`, the stream gives a line at a time (`streams.LineByLine`). Without `may_have_header`, it does not
    begin where a file does, and its first line is an instance as any other.
    """

    def parse(numbered_block: tuple[int, bytes]) -> Dataset:
        first_line, block = numbered_block
        return parse_block(block, first_line, source, reading.implicit_values, reading.scores, run)

    numbered_blocks = blocks(stream, source, reading.max_line_bytes, block_bytes)
    announced = None
    if may_have_header and not reading.implicit_values and (first := next(numbered_blocks, None)):
        announced, block = split_header(first[1])
        numbered_blocks = chain([(1 if announced is None else 2, block)], numbered_blocks)
    instances = 0
    np.empty(_KEPT_BYTES, np.uint8)
    jobs = min(threads(run.jobs), _MOST_THREADS)
    for chunk in map(parse, numbered_blocks) if by_line else map_ahead(parse, numbered_blocks, jobs):
        if len(chunk):
            instances += len(chunk)
            yield chunk
    if announced is not None and announced != instances:
        raise wrong_header(source, announced, instances)
    if not instances and not may_be_empty:
        raise no_instances(source)


def one_after_another(files: Files, chunks: Iterable[Iterator[Dataset]], may_be_empty: bool) -> Iterator[Dataset]:
    """Yield the chunks of each of several files; InputError where none has an instance, unless they may be empty."""
    instances = 0
    for chunk in chain.from_iterable(chunks):
        instances += len(chunk)
        yield chunk
    if not instances and not may_be_empty:
        raise no_instances(files)


def wrong_header(source: str, announced: int, instances: int) -> InputError:
    """Return the error of a file that has not as many instances as its header announces."""
    return InputError(
        source,
        1,
        f"the header announces {announced} instances, but {instances} follow; is the file cut short? "
        "(three integers alone on the first line are a header)",
    )


def no_instances(source: Source) -> InputError:
    """Return the error of a file, or of files, without instances."""
    if isinstance(source, Files):
        return InputError(str(source), None, "the files have no instances")
    return InputError(str(source), 1, "the file has no instances")


def split_header(block: bytes) -> tuple[int | None, bytes]:
    """Split the first block of a file into the number of instances in its header, or None, and the other lines."""
    line, _, others = block.partition(b"\n")
    announced = header_instances(line)
    return (None, block) if announced is None else (announced, others)


def read(
    source: Source,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
    may_be_empty: bool = False,
    contents: Contents | None = None,
) -> Dataset:
    """Read a whole file, or several as one; parameters and errors as for `iter_chunks`.

    `run` allocates the arrays too. With `may_be_empty`, no instances at all are a dataset without rows.
    """
    n_chunks = sum((size_of(file) or 0) / BLOCK_BYTES for file in files_of(source))
    chunks = iter_chunks(source, reading, run=run, may_be_empty=may_be_empty, contents=contents)
    return gathered(chunks, n_chunks, run)


def gathered(chunks: Iterator[Dataset], n_chunks: float, run: Run = DEFAULT_RUN) -> Dataset:
    """Put chunks, one below the other, into the arrays of one dataset.

    `chunks`: without any, the dataset has no rows and no columns.
    `n_chunks`: expected number of chunks of the size of the first one; memory is allocated for so many.
    `run`: it allocates the arrays.
    """
    first = next(chunks, None)
    expected = 0 if first is None else _ROOM * first.features.nnz * n_chunks
    labels, features = GrowingCsr(bool, 0, run.empty), GrowingCsr(np.float32, int(expected), run.empty)
    for chunk in chain([] if first is None else [first], chunks):
        labels.append(chunk.labels)
        features.append(chunk.features)
    return Dataset(labels.finish(), features.finish())
