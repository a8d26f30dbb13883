"""The compiled block parser: one pass over the bytes.

A function ``_read_...`` starts at a place in the text and returns the place after the last byte that it has read. If
the text breaks the grammar, it stops earlier, so that the line does not end where it should, which is checked once per
line. Import this module only to use it: it needs numba.
"""

import numpy as np

from mpu_cli.runtime.compilation import compiled, inlined
from mpu_cli.svmlight.grammar import FLOAT32_OVERFLOW, MAX_ID
from mpu_cli.svmlight.reader import Dataset, UnusualError

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _PLUS, _COMMA, _MINUS, _POINT, _COLON, _UPPER_E, _LOWER_E = b"\t\n\r #+,-.:Ee"
_ZERO = ord("0")
_PADDING = b"\n" * 8  # ends the last line, and allows reading eight bytes from its last one on

_MOST_DIGITS = 19  # of a number in 64 bits
_FLOAT64_POWERS = 10.0 ** np.arange(23)  # the powers of ten that are exact
_FLOAT64_INTEGERS = np.uint64(2**53)  # integers are exact up to here
_SLACK = 2.0**-50  # more than the error of a quotient or product of a rounded integer and an exact power
_LARGE = 9999  # replaces any exponent of five digits or more
_POWERS = 10 ** np.arange(9, dtype=np.uint64)
# In each of eight bytes: the digit 0, 1, the highest bit, and what sets that bit if it is added to more than 9.
_ZEROS, _ONES, _HIGH, _ABOVE_NINE = (np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0x01, 0x80, 0x76))


def parse(block: bytes, implicit_values: bool) -> Dataset:
    """Parse whole lines of a file without its header.

    With `implicit_values`, an index without a colon means the value 1. UnusualError if a line breaks the grammar, or
    follows it in a rare form, or 64 bits are not precise enough for a value.
    """
    understood, *arrays = scan(np.frombuffer(block + _PADDING, np.uint8), implicit_values)
    if not understood:
        raise UnusualError
    return Dataset.of_rows(*arrays)


@inlined
def _read_digits(text, place, number):
    """Read digits, possibly none; also return `number` with them appended, modulo 2^64.

    Eight bytes at a time, without a branch for each digit: the number of digits is hard to predict.
    """
    while True:
        digits = _ZEROS
        for k in range(8):  # compiled, this is a single load, the first byte lowest
            digits ^= np.uint64(text[np.uint64(place) + np.uint64(k)]) << np.uint64(8 * k)
        others = (((digits & ~_HIGH) + _ABOVE_NINE) | digits) & _HIGH  # the highest bit of each byte that is no digit
        before = ~others & (others - np.uint64(1))  # all bits below the lowest of these
        length = (((before >> np.uint64(7)) & _ONES) * _ONES) >> np.uint64(56)  # the bytes with all of these
        if length == 0:
            return place, number
        digits <<= np.uint64(64) - np.uint64(8) * length
        digits = ((digits * np.uint64(10 << 8 | 1)) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
        digits = ((digits * np.uint64(100 << 16 | 1)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
        digits = (digits * np.uint64(10000 << 32 | 1)) >> np.uint64(32)
        number = number * _POWERS[length] + digits
        place += np.int64(length)
        if length < 8:
            return place, number


@inlined
def _read_id(text, place):
    """Read a label or an index; the place stays the same if there is none."""
    stop, number = _read_digits(text, place, np.uint64(0))
    if number > MAX_ID or stop - place > _MOST_DIGITS:
        stop = place
    return stop, number


@inlined
def _read_exponent(text, place):
    """Read the exponent of a value, possibly none; also return it."""
    if text[place] != _LOWER_E and text[place] != _UPPER_E:
        return place, 0
    negative = text[place + 1] == _MINUS
    first = place + 1 + (negative or text[place + 1] == _PLUS)
    stop, number = _read_digits(text, first, np.uint64(0))
    if stop == first:
        return place, 0
    exponent = np.int64(number) if stop - first < 5 else _LARGE
    return stop, -exponent if negative else exponent


@inlined
def _read_value(text, colon):
    """Read the value after a colon; also return it. The place stays the same if 64 bits are not precise enough."""
    negative = text[colon + 1] == _MINUS
    first = colon + 1 + (negative or text[colon + 1] == _PLUS)
    stop, number = _read_digits(text, first, np.uint64(0))
    n_digits = stop - first
    decimals = 0
    if text[stop] == _POINT:
        point = stop
        stop, number = _read_digits(text, point + 1, number)
        decimals = stop - point - 1
        n_digits += decimals
    if n_digits == 0:
        return colon, 0.0
    if n_digits > _MOST_DIGITS:  # leading zeros do not count
        place = first
        while text[place] == _ZERO or text[place] == _POINT:
            n_digits -= text[place] == _ZERO
            place += 1
        if n_digits > _MOST_DIGITS:
            return colon, 0.0
    stop, exponent = _read_exponent(text, stop)
    exponent -= decimals
    if abs(exponent) >= len(_FLOAT64_POWERS):
        return colon, 0.0
    if exponent > 0:
        value = np.float64(number) * _FLOAT64_POWERS[exponent]
    else:
        value = np.float64(number) / _FLOAT64_POWERS[-exponent]
    if value >= FLOAT32_OVERFLOW:
        return colon, 0.0
    if number > _FLOAT64_INTEGERS and np.float32(value * (1 - _SLACK)) != np.float32(value * (1 + _SLACK)):
        return colon, 0.0
    return stop, -value if negative else value


@inlined
def _read_labels(text, place, labels, n_labels):
    """Read the labels of a line into `labels` from `n_labels` on; also return their new number."""
    start = place
    while True:
        stop, label = _read_id(text, place)
        if stop == place or (place == start and text[stop] == _COLON):  # the line may start with a feature
            return max(place - 1, start), n_labels
        labels[n_labels] = label
        n_labels += 1
        if text[stop] != _COMMA:
            return stop, n_labels
        place = stop + 1


@inlined
def _read_features(text, place, implicit_values, indices, values, n_features):
    """Read the features of a line as `_read_labels` does its labels."""
    while True:
        while text[place] == _SPACE or text[place] == _TAB:
            place += 1
        stop, index = _read_id(text, place)
        explicit = text[stop] == _COLON
        if stop == place or not (explicit or implicit_values):
            return place, n_features
        place, value = _read_value(text, stop) if explicit else (stop, 1.0)
        indices[n_features] = index
        values[n_features] = value
        n_features += 1


@inlined
def _line_end(text, place):
    while text[place] != _NEWLINE:
        place += 1
    return place


@compiled()
def scan(text, implicit_values):
    """Parse whole lines, followed by `_PADDING`.

    Return whether the kernel parsed everything (if not, the other results are meaningless), and the arrays for
    `Dataset.of_rows`.
    """
    n_lines = n_commas = n_colons = 0
    for character in text:
        n_lines += character == _NEWLINE
        n_commas += character == _COMMA
        n_colons += character == _COLON
    most_features = len(text) // 2 if implicit_values else n_colons
    labels = np.empty(n_lines + n_commas, np.int32)
    label_ends = np.empty(n_lines, np.int64)
    indices = np.empty(most_features, np.int32)
    index_ends = np.empty(n_lines, np.int64)
    values = np.empty(most_features, np.float32)

    end = len(text) - len(_PADDING)
    place = row = n_labels = n_features = 0
    while place < end:
        if text[place] == _HASH:
            place = _line_end(text, place) + 1
            continue
        place, n_labels = _read_labels(text, place, labels, n_labels)
        place, n_features = _read_features(text, place, implicit_values, indices, values, n_features)
        if text[place] == _HASH:
            place = _line_end(text, place)
        place += text[place] == _RETURN
        if text[place] != _NEWLINE:
            break
        place += 1
        label_ends[row] = n_labels
        index_ends[row] = n_features
        row += 1
    return (
        place >= end,
        labels[:n_labels],
        label_ends[:row],
        indices[:n_features],
        index_ends[:row],
        values[:n_features],
    )
