"""Values of options as callers from Python give them, checked."""

import math
import numbers
import os
from typing import Any

import numpy as np

from mpu_cli.errors import DataError
from mpu_cli.runtime.options import AUTO, Kind, Option, PerLabel, Real, Span, Threads, Whole, WordOr, Words


def described(kind: Kind) -> str:
    """Return the type of a parameter, as documentation has it."""
    match kind:
        case Whole() | Threads():
            return "int"
        case Real():
            return "float"
        case PerLabel():
            return "float or array_like of shape (q,)"
        case Span():
            return "(int, int)"
        case Words(words):
            return "{" + ", ".join(f'"{word}"' for word in words) + "}"
        case WordOr(words, Words(others)):
            return described(Words(words + others))
        case WordOr(words, other):
            return f"{described(Words(words))} or {described(other)}"


def checked_value(option: Option, value: Any) -> Any:
    """Return the value of an option as a plain Python value, ``auto`` as None.

    Raises
    ------
    DataError
        It is of a wrong type, or out of its range.
    """
    if value is None and option.default is None and not option.has_auto:
        return None
    return _value(option.kind, option.name, value)


def _value(kind: Kind, name: str, value: Any) -> Any:
    match kind:
        case Whole():
            return _whole(kind, name, value)
        case Real():
            return real(kind, name, value)
        case Span():
            return _span(kind, name, value)
        case Words():
            return _word(kind.words, name, value)
        case WordOr(words, Words(others)):
            word = _word(words + others, name, value)
            return None if word == AUTO else word
        case WordOr(words, other) if isinstance(value, str):
            word = _word(words, name, value)
            return None if word == AUTO else word
        case WordOr(_, other):
            return _value(other, name, value)
        case PerLabel(number):
            return _frequencies(number, name, value)
        case Threads():
            return _threads(name, value)


def _whole(kind: Whole, name: str, value: Any) -> int:
    most = math.inf if kind.most is None else kind.most
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or not kind.least <= int(value) <= most:
        raise DataError(f"{name} is {value!r}: give a whole number from {kind.least}" + f" to {most:,}" * (most < 1e18))
    return int(value)


def real(kind: Real, name: str, value: Any) -> float:
    """Check a number."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not (kind.least <= value < kind.most if kind.below else kind.least <= value <= kind.most):
        to = "to below" if kind.below else "to"
        raise DataError(f"{name} is {value!r}: give a number from {kind.least:g} {to} {kind.most:g}")
    return float(value)


def _span(kind: Span, name: str, value: Any) -> tuple[int, int]:
    pair = tuple(value) if isinstance(value, list | tuple) else ()
    bound = Whole(kind.least, kind.most)
    if len(pair) != 2 or _whole(bound, name, pair[0]) > _whole(bound, name, pair[1]):
        raise DataError(f"{name} is {value!r}: give two whole numbers, the smaller one first")
    return int(pair[0]), int(pair[1])


def _word(words: tuple[str, ...], name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in words:
        raise DataError(f"{name} is {value!r}: give one of {', '.join(words)}")
    return value


def _frequencies(kind: Real, name: str, value: Any) -> float | np.ndarray:
    if np.ndim(value) == 0:
        return real(kind, name, value)
    try:
        frequencies = np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is {value!r}: give 'auto', a number, or one number for each label") from error
    if not ((frequencies >= kind.least) & (frequencies <= kind.most)).all():
        raise DataError(f"{name}: give numbers from {kind.least:g} to {kind.most:g}")
    return frequencies


def _threads(name: str, value: Any) -> int:
    jobs = _whole(Whole(-1), name, value)
    if jobs == 0:
        raise DataError(f"{name} is 0, and 0 threads can do nothing: -1 is one per core")
    return min(jobs, os.cpu_count() or 1)
