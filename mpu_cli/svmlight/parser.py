"""Parse blocks of whole lines, all tokens of a block together.

A run is the digits, perhaps none, between two neighbouring delimiters, and a delimiter is any byte but a digit. What
a run is (a label, an index, a piece of a value, an error) follows from the delimiter before it, the one after it,
and whether it has digits at all: the table `_RULES` says it for every combination that is allowed; it is the grammar of
`mpu_cli.svmlight.grammar` once more. Whatever the table does not allow, and what is allowed but rare, goes to that
module line by line; it finds the words for an error, or the result.
"""

import re

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.decimals import EXACT_DIGITS, PADDING, decimal_fractions, digit_runs, near_float32_tie
from mpu_cli.svmlight.grammar import MAX_ID, LineError, is_comment, parse_line

# Kinds of delimiters. The first two end a token.
SPACE, NEWLINE, COMMA, COLON, POINT, SIGN, EXPONENT, OTHER = range(8)
_KIND = np.full(256, OTHER, np.uint8)
for _bytes, _kind in {b" ": SPACE, b"\n": NEWLINE, b",": COMMA, b":": COLON, b".": POINT, b"+-": SIGN}.items():
    _KIND[list(_bytes)] = _kind
_KIND[list(b"eE")] = EXPONENT

# What a run means. A piece is part of a value, or nothing between two separators.
PIECE, LABEL, INDEX, BAD = range(4)

_END = (SPACE, NEWLINE)
_NO_DIGITS, _DIGITS, _ANY = (0,), (1,), (0, 1)
_RULES = (
    # after what, before what, digits, meaning
    (_END, _END, _NO_DIGITS, PIECE),
    ((NEWLINE, COMMA), (*_END, COMMA), _DIGITS, LABEL),
    (_END, (COLON,), _DIGITS, INDEX),
    ((COLON,), (*_END, EXPONENT), _DIGITS, PIECE),
    ((COLON,), (POINT,), _ANY, PIECE),
    ((COLON, EXPONENT), (SIGN,), _NO_DIGITS, PIECE),
    ((SIGN,), (*_END, EXPONENT), _DIGITS, PIECE),
    ((SIGN,), (POINT,), _ANY, PIECE),
    ((POINT,), (*_END, EXPONENT), _ANY, PIECE),
    ((EXPONENT,), _END, _DIGITS, PIECE),
)
_IMPLICIT_VALUE = ((SPACE,), _END, _DIGITS, INDEX)


def _meanings(rules: tuple) -> np.ndarray:
    """Return the meaning of a run at ``16 * delimiter before + 2 * delimiter after + (whether it has digits)``."""
    table = np.full((8, 8, 2), BAD, np.uint8)
    for before, after, digits, meaning in rules:
        table[np.ix_(before, after, digits)] = meaning
    return table.ravel()


_MEANINGS = {False: _meanings(_RULES), True: _meanings((*_RULES, _IMPLICIT_VALUE))}


class _UnusualError(Exception):
    """The block holds an error, or something rare that is left to the reference grammar."""


def parse_block(block: bytes, first_line: int, source: str, implicit_values: bool = False) -> Dataset:
    """Parse whole lines.

    Parameters
    ----------
    block : bytes
        Lines of a file without its header; the last one may lack its end.
    first_line : int
        Number of the block's first line, from 1.
    source : str
        The file as the user named it, for errors.
    implicit_values : bool
        Whether an index without a colon means the value 1.

    Returns
    -------
    Dataset
        One row an instance, possibly none.

    Raises
    ------
    InputError
        A line breaks the grammar.
    """
    try:
        return _parse_together(block, implicit_values)
    except _UnusualError:
        return _parse_by_line(block, first_line, source, implicit_values)


def _parse_by_line(block: bytes, first_line: int, source: str, implicit_values: bool) -> Dataset:
    lines = block.split(b"\n")
    if not lines[-1]:  # what follows the last newline is no line
        lines.pop()
    rows = []
    for number, line in enumerate(lines, first_line):
        if is_comment(line):
            continue
        try:
            rows.append(parse_line(line, implicit_values))
        except LineError as error:
            raise InputError(source, number, str(error)) from None
    labels, indices, values = ([row[part] for row in rows] for part in range(3))
    return _dataset(
        _flat(labels, np.int32),
        _row_ends(labels),
        _flat(indices, np.int32),
        _row_ends(indices),
        _flat(values, np.float32),
    )


def _flat(lists: list[list], dtype: type) -> np.ndarray:
    return np.array([number for numbers in lists for number in numbers], dtype)


def _row_ends(lists: list[list[int]]) -> np.ndarray:
    return np.cumsum([len(numbers) for numbers in lists], dtype=int)


def _parse_together(block: bytes, implicit_values: bool) -> Dataset:
    text = PADDING + _plain(block)
    characters = np.frombuffer(text, np.uint8)
    delimiters = np.flatnonzero(characters - np.uint8(ord("0")) > 9)  # below "0" the difference wraps round
    starts, ends = delimiters[:-1] + 1, delimiters[1:]
    length = ends - starts
    kind = _KIND[characters[delimiters]]
    after = kind[1:]
    meaning = _MEANINGS[implicit_values].take(kind[:-1] * 16 + after * 2 + (length > 0))
    if np.any(meaning == BAD):
        raise _UnusualError

    numbers = digit_runs(text, ends, length)
    label = np.flatnonzero(meaning == LABEL)
    index = np.flatnonzero(meaning == INDEX)
    for run in (label, index):
        if run.size and (length[run].max() > EXACT_DIGITS or numbers[run].max() > MAX_ID):
            raise _UnusualError
    newline = np.flatnonzero(after == NEWLINE)
    values = np.ones(len(index), np.float32)
    explicit = after[index] == COLON
    values[explicit] = _values(text, starts, ends, after, numbers, index[explicit] + 1)
    return _dataset(
        numbers[label].astype(np.int32),
        np.searchsorted(label, newline, side="right"),
        numbers[index].astype(np.int32),
        np.searchsorted(index, newline, side="right"),
        values,
    )


def _plain(block: bytes) -> bytes:
    """Return a newline and the lines of instances, with LF ends and without tabs and comments."""
    text = b"\n" + block
    if not text.endswith(b"\n"):
        text += b"\n"
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"#" in text:
        text = re.sub(rb"\n#.*", b"", text)
        text = re.sub(rb"#.*", b"", text)
    return text.replace(b"\t", b" ")


def _values(
    text: bytes, starts: np.ndarray, ends: np.ndarray, after: np.ndarray, numbers: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """Return the values whose first runs are `first`: [sign] digits [point digits] [exponent], as float32."""
    signed = after[first] == SIGN
    negative = np.frombuffer(text, np.uint8)[ends[first]] == ord("-")
    whole = first + signed
    pointed = after[whole] == POINT
    last = whole + pointed
    decimals = np.where(pointed, ends[last] - starts[last], 0)
    digits = ends[whole] - starts[whole] + decimals
    values = decimal_fractions(numbers[whole], np.where(pointed, numbers[last], 0), decimals)
    np.negative(values, out=values, where=negative)

    odd = (after[last] == EXPONENT) | (digits == 0) | (digits > EXACT_DIGITS) | near_float32_tie(values, digits)
    if odd.any():
        token_ends = np.flatnonzero(after <= NEWLINE)
        stops = ends[token_ends[np.searchsorted(token_ends, first[odd])]]
        values[odd] = _floats(text, starts[first[odd]], stops)
    with np.errstate(over="ignore"):
        values = values.astype(np.float32)
    if np.isinf(values).any():
        raise _UnusualError
    return values


def _floats(text: bytes, starts: np.ndarray, stops: np.ndarray) -> list[float]:
    try:
        return [float(text[start:stop]) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    except ValueError:
        raise _UnusualError from None


def _dataset(
    labels: np.ndarray, label_ends: np.ndarray, indices: np.ndarray, index_ends: np.ndarray, values: np.ndarray
) -> Dataset:
    """Return the instances; `label_ends` and `index_ends` tell where each row ends in the flat arrays."""
    return Dataset(_csr(np.ones(len(labels), bool), labels, label_ends), _csr(values, indices, index_ends))


def _csr(data: np.ndarray, columns: np.ndarray, row_ends: np.ndarray) -> csr_array:
    inside = np.ones(len(columns), bool)  # whether the column before is in the same row
    inside[row_ends[row_ends < len(columns)]] = False
    if not _increasing(columns, inside):
        rows = np.repeat(np.arange(len(row_ends)), np.diff(row_ends, prepend=0))
        order = np.lexsort((columns, rows))
        data, columns = data[order], columns[order]
        if not _increasing(columns, inside):
            raise _UnusualError  # a column occurs twice in a row
    indptr = np.concatenate(([0], row_ends)).astype(np.int32)
    shape = (len(row_ends), int(columns.max()) + 1 if len(columns) else 0)
    return csr_array((data, columns, indptr), shape=shape)


def _increasing(columns: np.ndarray, inside: np.ndarray) -> bool:
    return bool(np.all((columns[1:] > columns[:-1]) | ~inside[1:]))
