"""The parameters of a training as callers from Python give them: the options of ``mpu train``, by the same names."""

import inspect
import math
import numbers
import os
import textwrap
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from mpu_cli import methods
from mpu_cli.errors import DataError
from mpu_cli.runtime.options import (
    AUTO,
    FREQUENCY,
    Kind,
    Option,
    PerLabel,
    Real,
    Threads,
    Whole,
    WordOr,
    Words,
    options_of,
)
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.run_options import RunOptions

Estimator = TypeVar("Estimator", bound=type)

_OF_RUN = options_of(RunOptions)
DECLARED: dict[str, Option] = methods.options() | _OF_RUN


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters, and return them as plain Python values, ``auto`` as None.

    Parameters
    ----------
    given : mapping
        Some of the parameters in `DECLARED`, by name.

    Raises
    ------
    DataError
        A parameter is of a wrong type or out of its range, or belongs to another method and is not its default.
    """
    values = {name: _checked(DECLARED[name], value) for name, value in given.items()}
    method = values.get("method", methods.DEFAULT)
    for name in values:
        owners = methods.owners(name)
        if method not in owners and (np.ndim(given[name]) or given[name] != DECLARED[name].written_default):
            raise DataError(f"{name} is a parameter of {' and '.join(owners)}, not of {method}")
    return values


def of_estimator(estimator: Any) -> dict[str, Any]:
    """Check and return the parameters of an estimator, as `checked` does."""
    return checked({name: getattr(estimator, name) for name in DECLARED})


def run_of(estimator: Any) -> Run:
    """Return the run that an estimator's predictions are computed in."""
    return Run(**{name: _checked(option, getattr(estimator, name)) for name, option in _OF_RUN.items()})


def one_frequency(name: str, value: Any) -> float:
    """Check a label frequency that is a number."""
    return _real(FREQUENCY, name, value)


def number(kind: Real, name: str, value: Any) -> float:
    """Check a number of a kind."""
    return _real(kind, name, value)


def declared(estimator: Estimator) -> Estimator:
    """Give the constructor of an estimator, and its docstring, the parameters that are declared.

    ``{parameters}`` in its docstring is replaced by their description. The constructor takes them as keywords.
    """
    constructor = vars(estimator)["__init__"]
    of_its_own = [
        parameter
        for parameter in inspect.signature(constructor).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    taken = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.written_default)
        for name, option in DECLARED.items()
    ]
    self, *others = of_its_own
    constructor.__signature__ = inspect.Signature([self, *taken, *others])
    if estimator.__doc__:  # python -OO has none
        estimator.__doc__ = inspect.cleandoc(estimator.__doc__).replace("{parameters}", _documentation())
    return estimator


def _documentation() -> str:
    entries = []
    for name, option in DECLARED.items():
        kind = _described(option.kind) + " or None" * (option.default is None and not option.has_auto)
        text = textwrap.fill(option.help, 112, initial_indent=" " * 4, subsequent_indent=" " * 4)
        entries.append(f"{name} : {kind}\n{text}")
    return "\n".join(entries)


def _described(kind: Kind) -> str:
    match kind:
        case Whole() | Threads():
            return "int"
        case Real():
            return "float"
        case PerLabel():
            return "float or array_like of shape (q,)"
        case Words(words):
            return "{" + ", ".join(f'"{word}"' for word in words) + "}"
        case WordOr(words, Words(others)):
            return _described(Words(words + others))
        case WordOr(words, other):
            return f"{_described(Words(words))} or {_described(other)}"


def _checked(option: Option, value: Any) -> Any:
    if value is None and option.default is None and not option.has_auto:
        return None
    return _value(option.kind, option.name, value)


def _value(kind: Kind, name: str, value: Any) -> Any:
    match kind:
        case Whole():
            return _whole(kind, name, value)
        case Real():
            return _real(kind, name, value)
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


def _real(kind: Real, name: str, value: Any) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not (kind.least <= value < kind.most if kind.below else kind.least <= value <= kind.most):
        to = "to below" if kind.below else "to"
        raise DataError(f"{name} is {value!r}: give a number from {kind.least:g} {to} {kind.most:g}")
    return float(value)


def _word(words: tuple[str, ...], name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in words:
        raise DataError(f"{name} is {value!r}: give one of {', '.join(words)}")
    return value


def _frequencies(kind: Real, name: str, value: Any) -> float | np.ndarray:
    if np.ndim(value) == 0:
        return _real(kind, name, value)
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
