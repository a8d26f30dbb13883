"""Parse blocks of whole lines.

A kernel (NumPy or compiled) parses a whole block at a time. If it meets an error or a rare form, `grammar` parses the
block line by line, which gives the result or the error message. So both kernels accept the same files and give the same
error messages.
"""

from collections.abc import Sequence
from threading import Lock

import numpy as np

from mpu_cli.errors import InputError
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight import numpy_parser
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import LineError, is_comment, parse_line
from mpu_cli.svmlight.numpy_parser import Rows, UnusualError

_parsing_by_line = Lock()  # as Python objects, a block takes about 50 times the memory of its text


def parse_block(
    block: bytes,
    first_line: int,
    source: str,
    implicit_values: bool = False,
    scores: bool = False,
    run: Run = DEFAULT_RUN,
) -> Dataset:
    """Parse whole lines.

    Parameters
    ----------
    block : bytes
        Lines without the header of the file. The last one need not end in a newline.
    first_line : int
        Number of the block's first line, from 1.
    source : str
        Name of the file, for errors.
    implicit_values, scores : bool
        As in `Reading`.
    run : Run

    Returns
    -------
    Dataset
        One row per instance, possibly none.

    Raises
    ------
    InputError
        A line breaks the grammar.
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
