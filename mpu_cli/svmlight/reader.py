"""Read LIBSVM multi-label files: whole, or in chunks of bounded memory."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from mpu_cli.errors import InputError
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import header_instances
from mpu_cli.svmlight.growing import GrowingCsr
from mpu_cli.svmlight.parser import parse_block
from mpu_cli.svmlight.streams import BLOCK_BYTES, blocks, open_input

_MOST_THREADS = 8  # together they parse about as fast as one thread reads
_BYTES_A_FEATURE = 8  # of text; where it takes more, room stays unused

# The GNU allocator keeps freed memory, instead of returning it and getting it back page by page for the next block, up
# to twice the size of the largest array freed so far. Freeing one of this size, never touched, made parsing 1.2 times
# (numba) and 2.4 times (NumPy) as fast. Elsewhere it does nothing.
_KEPT_BYTES = 1 << 24


def iter_chunks(
    source: str | Path, implicit_values: bool = False, block_bytes: int = BLOCK_BYTES, jobs: int = -1
) -> Iterator[Dataset]:
    """Read a file in chunks, in bounded memory whatever its size.

    This thread reads, and decompresses; others parse, some blocks ahead of the chunk that is asked for.

    Parameters
    ----------
    source : str or Path
        A file, plain or ``.gz``, ``.bz2``, ``.xz``; or ``-`` for standard input.
    implicit_values : bool
        Whether an index without a colon means the value 1.
    block_bytes : int
        How many bytes are read at a time.
    jobs : int
        Number of threads that parse; -1 for one a core. The chunks do not depend on it.

    Yields
    ------
    Dataset
        At least one instance. Widths are those of the chunk: they differ from chunk to chunk.

    Raises
    ------
    InputError
        The file cannot be read, a line breaks the grammar (see `mpu_cli.svmlight.grammar`), there is no instance,
        or not as many as the header announces. Of several errors, the first one in the file.
    """
    with open_input(source) as stream:
        yield from iter_stream(stream, str(source), implicit_values, block_bytes, jobs)


def iter_stream(
    stream: BinaryIO, source: str, implicit_values: bool = False, block_bytes: int = BLOCK_BYTES, jobs: int = -1
) -> Iterator[Dataset]:
    """Read an open stream in chunks, as `iter_chunks` does; `source` is its name in errors."""
    numbered_blocks = blocks(stream, block_bytes)
    announced = None
    if not implicit_values and (first := next(numbered_blocks, None)):
        announced, block = split_header(first[1])
        numbered_blocks = chain([(1 if announced is None else 2, block)], numbered_blocks)
    instances = 0
    for chunk in _parsed(numbered_blocks, source, implicit_values, jobs):
        if len(chunk):
            instances += len(chunk)
            yield chunk
    if announced is not None and announced != instances:
        raise InputError(
            source,
            1,
            f"the header announces {announced} instances, but {instances} follow; is the file cut short? "
            "(three integers alone on the first line are a header)",
        )
    if not instances:
        raise InputError(source, 1, "the file has no instances")


def _parsed(
    numbered_blocks: Iterator[tuple[int, bytes]], source: str, implicit_values: bool, jobs: int
) -> Iterator[Dataset]:
    """Parse blocks in threads, a few of them ahead; yield the chunks in order."""
    np.empty(_KEPT_BYTES, np.uint8)
    n_threads = min((os.cpu_count() or 1) if jobs == -1 else jobs, _MOST_THREADS)
    pool = ThreadPoolExecutor(n_threads)
    try:
        submitted = _submitted(pool, numbered_blocks, source, implicit_values)
        ahead = deque(islice(submitted, 2 * n_threads))
        while ahead:
            yield ahead.popleft().result()
            ahead.extend(islice(submitted, 1))
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(
    pool: ThreadPoolExecutor, numbered_blocks: Iterator[tuple[int, bytes]], source: str, implicit_values: bool
) -> Iterator[Future[Dataset]]:
    """Read a block and submit it whenever the next future is asked for.

    What goes wrong in reading is put in line behind the blocks before it: one of them may hold the first error.
    """
    try:
        for first_line, block in numbered_blocks:
            yield pool.submit(parse_block, block, first_line, source, implicit_values)
    except Exception as error:
        failed = Future()
        failed.set_exception(error)
        yield failed


def split_header(block: bytes) -> tuple[int | None, bytes]:
    """Split a file's first block into the number of instances in its header, None without one, and the other lines."""
    line, _, others = block.partition(b"\n")
    announced = header_instances(line)
    return (None, block) if announced is None else (announced, others)


def read(source: str | Path, implicit_values: bool = False, jobs: int = -1) -> Dataset:
    """Read a whole file into memory.

    Parameters
    ----------
    source : str or Path
        A file, plain or ``.gz``, ``.bz2``, ``.xz``; or ``-`` for standard input.
    implicit_values : bool
        Whether an index without a colon means the value 1.
    jobs : int
        Number of threads that parse; -1 for one a core. The data do not depend on it.

    Returns
    -------
    Dataset
        At least one instance.

    Raises
    ------
    InputError
        As for `iter_chunks`.
    """
    size = Path(source).stat().st_size if Path(source).is_file() else 0
    labels, features = GrowingCsr(bool), GrowingCsr(np.float32, size // _BYTES_A_FEATURE)
    for chunk in iter_chunks(source, implicit_values, jobs=jobs):
        labels.append(chunk.labels)
        features.append(chunk.features)
    return Dataset(labels.finish(), features.finish())
