"""The compiled block parser: one pass over the bytes.

A function ``_read_...`` starts at a place in the text and returns the place after the last byte that it has read. If
the text breaks the grammar, it stops earlier, so that the line does not end where it should, which is checked once per
line. Import this module only to use it: it needs numba.
"""

import numpy as np

from mpu_cli.runtime.compilation import compiled, inlined
from mpu_cli.svmlight.dataset import Dataset, UnusualError
from mpu_cli.svmlight.grammar import FLOAT32_OVERFLOW, MAX_ID

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _PLUS, _COMMA, _MINUS, _POINT, _COLON, _UPPER_E, _LOWER_E = b"\t\n\r #+,-.:Ee"
_PADDING = b"\n" * 8  # ends the last line, and allows reading eight bytes from its last byte on

_EXACT_DIGITS = 19  # this many digits fit into 64 bits
_FLOAT64_POWERS = 10.0 ** np.arange(23)  # the powers of ten that are exact
_FLOAT64_INTEGERS = np.uint64(2**53)  # integers are exact up to here
_SLACK = 2.0**-50  # more than the error of a quotient or product of a rounded integer and an exact power
_LARGE = 9999  # replaces any exponent of five digits or more

_POWERS = 10 ** np.arange(9, dtype=np.uint64)
_ZEROS = np.uint64(0x3030303030303030)  # "0" eight times
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
_ABOVE_NINE = np.uint64(0x7676767676767676)  # added to a byte, it sets the highest bit if the byte is over 9
_HIGH = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)


def parse(block: bytes, implicit_values: bool) -> Dataset:
    """Parse whole lines: the same result as `mpu_cli.svmlight.reader.parse_in_numpy`, bit for bit."""
    text = block + _PADDING
    understood, *arrays, rereads = scan(np.frombuffer(text, np.uint8), implicit_values)
    if not understood:
        raise UnusualError
    if len(rereads):
        values = np.array([float(text[start:stop]) for _, start, stop in rereads.tolist()])
        if np.any(np.abs(values) >= FLOAT32_OVERFLOW):
            raise UnusualError
        arrays[-1][rereads[:, 0]] = values
    return Dataset.of_rows(*arrays)


@inlined
def _eight_bytes(text, place):
    """Return eight bytes as one integer, the first byte lowest; compiled, this is a single load."""
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(text[np.uint64(place) + np.uint64(k)]) << np.uint64(8 * k)
    return word


@inlined
def _read_digits(text, place, number):
    """Read digits, possibly none; return `number` with them appended, modulo 2^64."""
    while True:
        # Without a branch per digit: the number of digits is hard to predict.
        digits = _eight_bytes(text, place) ^ _ZEROS
        others = (((digits & _LOW) + _ABOVE_NINE) | digits) & _HIGH  # the highest bit of each byte that is not a digit
        before = ~others & (others - np.uint64(1))  # all bits below the lowest of these
        length = (((before >> np.uint64(7)) & _ONES) * _ONES) >> np.uint64(56)  # the number of bytes in them
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
    if stop - place > _EXACT_DIGITS or number > MAX_ID:
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
    """Read the value after a colon; also return it, or NaN if 64 bits are not precise enough for it."""
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
    stop, exponent = _read_exponent(text, stop)
    exponent -= decimals
    if n_digits > _EXACT_DIGITS or abs(exponent) >= len(_FLOAT64_POWERS):
        return stop, np.nan
    if exponent > 0:
        value = np.float64(number) * _FLOAT64_POWERS[exponent]
    else:
        value = np.float64(number) / _FLOAT64_POWERS[-exponent]
    if value >= FLOAT32_OVERFLOW:
        return colon, 0.0
    if number > _FLOAT64_INTEGERS and np.float32(value * (1 - _SLACK)) != np.float32(value * (1 + _SLACK)):
        return stop, np.nan
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
def _read_features(text, place, implicit_values, indices, values, n_features, rereads, n_rereads):
    """Read the features of a line as `_read_labels` does its labels.

    `rereads` gets the features whose values need full precision, and the start and stop of these values.
    """
    while True:
        while text[place] == _SPACE or text[place] == _TAB:
            place += 1
        stop, index = _read_id(text, place)
        explicit = text[stop] == _COLON
        if stop == place or not (explicit or implicit_values):
            return place, n_features, n_rereads
        place, value = _read_value(text, stop) if explicit else (stop, 1.0)
        if np.isnan(value):
            rereads[n_rereads, 0] = n_features
            rereads[n_rereads, 1] = stop + 1
            rereads[n_rereads, 2] = place
            n_rereads += 1
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

    Return whether the kernel parsed everything (if a line breaks the grammar, the other results are meaningless), the
    arrays for `Dataset.of_rows`, and the values to be parsed again in full precision: position in `values`, start and
    stop in the text (k x 3).
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
    rereads = np.empty((most_features, 3), np.int64)

    end = len(text) - len(_PADDING)
    place = row = n_labels = n_features = n_rereads = 0
    while place < end:
        if text[place] == _HASH:
            place = _line_end(text, place) + 1
            continue
        place, n_labels = _read_labels(text, place, labels, n_labels)
        place, n_features, n_rereads = _read_features(
            text, place, implicit_values, indices, values, n_features, rereads, n_rereads
        )
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
        rereads[:n_rereads],
    )
