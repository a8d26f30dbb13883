"""Convert decimal digits to numbers, a whole array at a time.

Eight digits are read as one 64-bit integer. Within it, they are combined to pairs, then fours, then eight digits.
"""

import numpy as np

PADDING = b"0" * 8  # must precede the text: up to 8 bytes before a run of digits are read
EXACT_DIGITS = 19  # this many digits fit into 64 bits

_POWERS = 10 ** np.arange(EXACT_DIGITS + 1, dtype=np.uint64)
_FLOAT64_DIGITS = 15  # this many decimal digits are exact in a float64
_DROPPED_BITS = np.uint64(2**29 - 1)  # bits of a float64's 52 that a float32 lacks
_TIE = 2**28


def digit_runs(text: bytes, ends: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the integers written by runs of digits.

    Parameters
    ----------
    text : bytes
        Starts with `PADDING`, which no run is part of.
    ends : int array, shape (m,)
        Where each run ends: one past its last digit.
    length : int array, shape (m,)
        How many digits it has; an empty run is 0.

    Returns
    -------
    uint64 array, shape (m,)
        Meaningless where the run is longer than `EXACT_DIGITS`.
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


def decimal_fractions(whole: np.ndarray, fraction: np.ndarray, decimals: np.ndarray) -> np.ndarray:
    """Return ``whole.fraction`` as float64: correctly rounded up to 15 digits in all, nearly so up to `EXACT_DIGITS`.

    Parameters
    ----------
    whole, fraction : uint64 array, shape (m,)
        The digits before and after the decimal point, as integers.
    decimals : int array, shape (m,)
        How many digits `fraction` has.
    """
    power = _POWERS[np.minimum(decimals, EXACT_DIGITS)]
    return (whole * power + fraction) / power.astype(np.float64)


def near_float32_tie(values: np.ndarray, digits: np.ndarray) -> np.ndarray:
    """Whether an inexact result of `decimal_fractions` is so near the middle of two float32 that it may round wrongly.

    Parameters
    ----------
    values : float64 array, shape (m,)
        Off by at most two units in the last place where `digits` is beyond 15.
    digits : int array, shape (m,)
        How many digits the value was written with.
    """
    inexact = digits > _FLOAT64_DIGITS
    if not inexact.any():
        return inexact
    dropped = (values.view(np.uint64) & _DROPPED_BITS).astype(np.int64)
    return inexact & (np.abs(dropped - _TIE) <= 2)
