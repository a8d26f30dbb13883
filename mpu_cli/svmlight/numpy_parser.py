"""The block parser in NumPy: all tokens of a block together.

A run is the digits, perhaps none, between two neighbouring delimiters, and a delimiter is any byte but a digit. What
a run is (a label, an index, a piece of a value, an error) follows from the delimiter before it, the one after it,
and whether it has digits at all. The table `_RULES` lists the combinations that are allowed: it is the grammar of
`mpu_cli.svmlight.grammar` as a table.

`Rows` is the result of both kernels: flat arrays, and the instances made from them.

Decimal digits become numbers a whole array at a time. Eight digits are read as one 64-bit integer. Within it, they are
combined to pairs, then fours, then eight digits.
"""

import re
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import MAX_ID

PADDING = b"0" * 8  # must precede the text: up to 8 bytes before a run of digits are read
EXACT_DIGITS = 19  # this many digits fit into 64 bits

_POWERS = 10 ** np.arange(EXACT_DIGITS + 1, dtype=np.uint64)
_FLOAT64_DIGITS = 15  # this many decimal digits are exact in a float64
_DROPPED_BITS = np.uint64(2**29 - 1)  # bits of a float64's 52 that a float32 lacks
_TIE = 2**28


def _digit_runs(text: bytes, ends: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the integers written by runs of digits: uint64, meaningless where a run is longer than `EXACT_DIGITS`.

    `text` starts with `PADDING`, which no run is part of. Run i has `length[i]` digits, none for 0, and ends one before
    ``ends[i]``.
    """
    words = np.ndarray(len(text) - 7, "<u8", text, strides=(1,))  # the eight bytes from every position on
    numbers = _up_to_eight_digits(words[ends - 8], length)
    for done in (8, 16):
        longer = np.flatnonzero(length > done)
        if not longer.size:
            break
        more = _up_to_eight_digits(words[ends[longer] - done - 8], length[longer] - done)
        numbers[longer] += more * _POWERS[done]
    return numbers


def _up_to_eight_digits(words: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the number in the last `length` bytes of each word (at most eight); changes `words`."""
    foreign = (8 * (8 - np.minimum(length, 8))).astype(np.uint64)
    words >>= foreign
    words <<= foreign
    words &= 0x0F0F0F0F0F0F0F0F
    words *= 10 << 8 | 1
    words >>= 8
    words &= 0x00FF00FF00FF00FF
    words *= 100 << 16 | 1
    words >>= 16
    words &= 0x0000FFFF0000FFFF
    words *= 10000 << 32 | 1
    words >>= 32
    return words


def _near_float32_tie(values: np.ndarray, digits: np.ndarray) -> np.ndarray:
    """Whether a value is so near the middle of two float32 that it may be rounded wrongly.

    Values that were written with more than 15 digits are off by at most two units in the last place.
    """
    inexact = digits > _FLOAT64_DIGITS
    if not inexact.any():
        return inexact
    dropped = (values.view(np.uint64) & _DROPPED_BITS).astype(np.int64)
    return inexact & (np.abs(dropped - _TIE) <= 2)


class UnusualError(Exception):
    """The block has an error or a rare form. `grammar` has to parse it line by line."""


class Rows(NamedTuple):
    """The instances of a block, in the order of the file.

    `labels`: int32 array, shape (a,): the labels of all instances, one after another.
    `label_ends`: int array, shape (n,): the labels of instance i end before ``labels[label_ends[i]]``.
    `indices`: int32 array, shape (m,): the feature indices of all instances.
    `index_ends`: int array, shape (n,): the indices of instance i end before ``indices[index_ends[i]]``.
    `values`: float32 array, shape (m,): the value of each index.
    """

    labels: np.ndarray
    label_ends: np.ndarray
    indices: np.ndarray
    index_ends: np.ndarray
    values: np.ndarray

    def dataset(self) -> Dataset:
        """Return the instances, each label and index once.

        Raise `UnusualError` if an index has two values in one of them, or label 0 or 1 is there twice: labels may be
        a vector of 0 and 1.
        """
        return Dataset(
            _csr(np.ones(len(self.labels), bool), self.labels, self.label_ends),
            _csr(self.values, self.indices, self.index_ends),
        )


def _csr(data: np.ndarray, columns: np.ndarray, row_ends: np.ndarray) -> csr_array:
    inside = np.ones(len(columns), bool)  # whether the column before is in the same row
    inside[row_ends[row_ends < len(columns)]] = False
    if not np.all((columns[1:] > columns[:-1]) | ~inside[1:]):
        rows = np.repeat(np.arange(len(row_ends)), np.diff(row_ends, prepend=0))
        order = np.lexsort((columns, rows))
        data, columns = data[order], columns[order]
        again = np.flatnonzero((columns[1:] == columns[:-1]) & inside[1:]) + 1
        if np.any(data[again] != data[again - 1]) or (data.dtype == bool and np.any(columns[again] <= 1)):
            raise UnusualError
        data, columns = np.delete(data, again), np.delete(columns, again)
        row_ends = row_ends - np.searchsorted(again, row_ends)
    indptr = np.concatenate(([0], row_ends)).astype(np.int32)
    shape = (len(row_ends), int(columns.max()) + 1 if len(columns) else 0)
    return csr_array((data, columns, indptr), shape=shape)


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


def _meanings(rules: tuple[Any, ...]) -> np.ndarray:
    """Return the meaning of a run at ``16 * delimiter before + 2 * delimiter after + (whether it has digits)``."""
    table = np.full((8, 8, 2), BAD, np.uint8)
    for before, after, digits, meaning in rules:
        table[np.ix_(before, after, digits)] = meaning
    return table.ravel()


_MEANINGS = {False: _meanings(_RULES), True: _meanings((*_RULES, _IMPLICIT_VALUE))}


def parse(block: bytes, implicit_values: bool) -> Rows:
    """Parse whole lines of a file without its header; the last one may lack its end.

    With `implicit_values`, an index without a colon means the value 1. UnusualError where a line breaks the grammar, or
    follows it in a rare form.
    """
    text = PADDING + _plain(block)
    characters = np.frombuffer(text, np.uint8)
    delimiters = np.flatnonzero(characters - np.uint8(ord("0")) > 9)  # below "0" the difference wraps round
    starts, ends = delimiters[:-1] + 1, delimiters[1:]
    length = ends - starts
    kind = _KIND[characters[delimiters]]
    after = kind[1:]
    meaning = _MEANINGS[implicit_values].take(kind[:-1] * 16 + after * 2 + (length > 0))
    if np.any(meaning == BAD):
        raise UnusualError

    numbers = _digit_runs(text, ends, length)
    label = np.flatnonzero(meaning == LABEL)
    index = np.flatnonzero(meaning == INDEX)
    for run in (label, index):
        if run.size and (length[run].max() > EXACT_DIGITS or numbers[run].max() > MAX_ID):
            raise UnusualError
    newline = np.flatnonzero(after == NEWLINE)
    values = np.ones(len(index), np.float32)
    explicit = after[index] == COLON
    values[explicit] = _values(text, starts, ends, after, numbers, index[explicit] + 1)
    return Rows(
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
    # As float64, correctly rounded up to 15 digits in all, and nearly so up to `EXACT_DIGITS`.
    power = _POWERS[np.minimum(decimals, EXACT_DIGITS)]
    values = (numbers[whole] * power + np.where(pointed, numbers[last], 0)) / power.astype(np.float64)
    np.negative(values, out=values, where=negative)

    odd = (after[last] == EXPONENT) | (digits == 0) | (digits > EXACT_DIGITS) | _near_float32_tie(values, digits)
    if odd.any():
        token_ends = np.flatnonzero(after <= NEWLINE)
        stops = ends[token_ends[np.searchsorted(token_ends, first[odd])]]
        begins = starts[first[odd]].tolist()
        try:
            values[odd] = [float(text[start:stop]) for start, stop in zip(begins, stops.tolist(), strict=True)]
        except ValueError:
            raise UnusualError from None
    with np.errstate(over="ignore"):
        values = values.astype(np.float32)
    if np.isinf(values).any():
        raise UnusualError
    return values
