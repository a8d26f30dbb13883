"""Read LIBSVM multi-label files: whole, or in chunks of bounded memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import header_instances
from mpu_cli.svmlight.parser import parse_block
from mpu_cli.svmlight.streams import BLOCK_BYTES, blocks, open_input


def iter_chunks(source: str | Path, implicit_values: bool = False, block_bytes: int = BLOCK_BYTES) -> Iterator[Dataset]:
    """Read a file in chunks, in bounded memory whatever its size.

    Parameters
    ----------
    source : str or Path
        A file, plain or ``.gz``, ``.bz2``, ``.xz``; or ``-`` for standard input.
    implicit_values : bool
        Whether an index without a colon means the value 1.
    block_bytes : int
        How many bytes are read at a time.

    Yields
    ------
    Dataset
        At least one instance. Widths are those of the chunk: they differ from chunk to chunk.

    Raises
    ------
    InputError
        The file cannot be read, a line breaks the grammar (see `mpu_cli.svmlight.grammar`), there is no instance,
        or not as many as the header announces.
    """
    with open_input(source) as stream:
        yield from iter_stream(stream, str(source), implicit_values, block_bytes)


def iter_stream(
    stream: BinaryIO, source: str, implicit_values: bool = False, block_bytes: int = BLOCK_BYTES
) -> Iterator[Dataset]:
    """Read an open stream in chunks, as `iter_chunks` does; `source` is its name in errors."""
    announced = None
    instances = 0
    for first_line, block in blocks(stream, block_bytes):
        if first_line == 1 and not implicit_values:
            announced, block = split_header(block)
            first_line += announced is not None
        chunk = parse_block(block, first_line, source, implicit_values)
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
        raise InputError(source, None, "there are no instances in it")


def split_header(block: bytes) -> tuple[int | None, bytes]:
    """Split a file's first block into the number of instances in its header, None without one, and the other lines."""
    line, _, others = block.partition(b"\n")
    announced = header_instances(line)
    return (None, block) if announced is None else (announced, others)


def read(source: str | Path, implicit_values: bool = False) -> Dataset:
    """Read a whole file into memory.

    Parameters
    ----------
    source : str or Path
        A file, plain or ``.gz``, ``.bz2``, ``.xz``; or ``-`` for standard input.
    implicit_values : bool
        Whether an index without a colon means the value 1.

    Returns
    -------
    Dataset
        At least one instance.

    Raises
    ------
    InputError
        As for `iter_chunks`.
    """
    labels, features = [], []
    for chunk in iter_chunks(source, implicit_values):
        labels.append(chunk.labels)
        features.append(chunk.features)
    return Dataset(_stack(labels), _stack(features))


def _stack(chunks: list[csr_array]) -> csr_array:
    """Put chunks under one another; empties the list, so that at no time all of the data are there twice."""
    n_columns = max(chunk.shape[1] for chunk in chunks)
    data = [chunk.data for chunk in chunks]
    indices = [chunk.indices for chunk in chunks]
    sizes = [np.diff(chunk.indptr) for chunk in chunks]
    chunks.clear()
    indptr = np.concatenate(([0], np.cumsum(_joined(sizes), dtype=np.int64)))
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    return csr_array((_joined(data), _joined(indices), indptr), shape=(len(indptr) - 1, n_columns))


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    joined = np.concatenate(parts)
    parts.clear()
    return joined
