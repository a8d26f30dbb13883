"""The parameters of a training as callers from Python give them: those of ``mpu train``, by the same names."""

import math
import numbers
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mpu_cli.errors import DataError
from mpu_cli.runtime import kernels, ranges
from mpu_cli.runtime.run import Run

# WELL is not among them: it labels given instances and no others.
METHODS = ("mpu", "br", "elkan08", "m3l-linear", "m3l-rbf")
_MPU = ("mpu",)
_LOGISTIC = ("mpu", "br", "elkan08")
_M3L = ("m3l-linear", "m3l-rbf")
# Parameters that not every method has, and the methods that have them.
_BELONGS_TO = {
    **dict.fromkeys(("levels", "c", "threshold", "stack_scale"), _MPU),
    "epochs": _LOGISTIC,
    **dict.fromkeys(("cost", "folds", "sample"), _LOGISTIC + _M3L),
    **dict.fromkeys(("c_method", "elkan_variant"), ("elkan08",)),
    "label_correlation": _M3L,
    "gamma": ("m3l-rbf",),
}


def of_method(method: str, names: list[str]) -> list[str]:
    """Return those of some parameters that a method has."""
    return [name for name in names if method in _BELONGS_TO.get(name, METHODS)]


def checked(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters, and return them as plain Python values, ``auto`` as None.

    Parameters
    ----------
    given : mapping
        Some of the parameters in `CHECKS`, by name.
    defaults : mapping
        What each is where nobody gave it: a parameter of another method must be that.

    Raises
    ------
    DataError
        A parameter is of a wrong type or out of its range, or belongs to another method.
    """
    values = {name: CHECKS[name](name, value) for name, value in given.items()}
    method = values.get("method", "mpu")
    for name in values:
        if not of_method(method, [name]) and (np.ndim(given[name]) or given[name] != defaults[name]):
            raise DataError(f"{name} is a parameter of {' and '.join(_BELONGS_TO[name])}, not of {method}")
    return values


def of_estimator(estimator: Any) -> dict[str, Any]:
    """Check and return the parameters that a training with this estimator has, as `checked` does."""
    given, defaults = (
        {name: value for name, value in some.get_params(deep=False).items() if name in CHECKS}
        for some in (estimator, type(estimator)())
    )
    return checked(given, defaults)


def run_of(estimator: Any) -> Run:
    """Return the run that an estimator's predictions are computed in."""
    names = ("seed", "jobs", "kernel")
    return Run(**{name: CHECKS[name](name, getattr(estimator, name)) for name in names})


def one_frequency(name: str, value: Any) -> float:
    """Check a label frequency that is a number."""
    return _FREQUENCY(name, value)


def _whole(least: int, most: float = math.inf) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not is_whole or not least <= int(value) <= most:
            raise DataError(f"{name} is {value!r}: give a whole number from {least}" + f" to {most:,}" * (most < 1e18))
        return int(value)

    return check


def _real(least: float, most: float, below: bool = False) -> Callable[[str, Any], float]:
    def check(name: str, value: Any) -> float:
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not (least <= value < most if below else least <= value <= most):
            raise DataError(
                f"{name} is {value!r}: give a number from {least:g} {'to below' if below else 'to'} {most:g}"
            )
        return float(value)

    return check


def _word(*words: str) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise DataError(f"{name} is {value!r}: give one of {', '.join(words)}")
        return value

    return check


def _word_or(words: tuple[str, ...], otherwise: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: (_word(*words) if isinstance(value, str) else otherwise)(name, value)


def _auto_or(otherwise: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        if isinstance(value, str):
            _word("auto")(name, value)
            return None
        return otherwise(name, value)

    return check


def _none_or(otherwise: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else otherwise(name, value)


def _frequencies(name: str, value: Any) -> float | np.ndarray:
    if np.ndim(value) == 0:
        return _FREQUENCY(name, value)
    try:
        frequencies = np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is {value!r}: give 'auto', a number, or one number for each label") from error
    if not ((frequencies >= ranges.LEAST_FREQUENCY) & (frequencies <= 1)).all():
        raise DataError(f"{name}: give numbers from {ranges.LEAST_FREQUENCY:g} to 1")
    return frequencies


def _threads(name: str, value: Any) -> int:
    jobs = _whole(-1)(name, value)
    if jobs == 0:
        raise DataError(f"{name} is 0, and 0 threads can do nothing: -1 is one per core")
    return min(jobs, os.cpu_count() or 1)


def _kernel(name: str, value: Any) -> str | None:
    return None if _word("auto", *kernels.NAMES)(name, value) == "auto" else value


_FREQUENCY = _real(ranges.LEAST_FREQUENCY, 1)
_POSITIVE = _real(ranges.LEAST_POSITIVE, ranges.LARGEST_POSITIVE)
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "method": _word(*METHODS),
    "levels": _whole(1, ranges.MOST_LEVELS),
    "c": _auto_or(_frequencies),
    "cost": _auto_or(_POSITIVE),
    "epochs": _auto_or(_whole(1, ranges.MOST_EPOCHS)),
    "threshold": _word_or(("pu-f1", "per-label"), _real(0, 1)),
    "stack_scale": _real(ranges.LEAST_WEIGHT, ranges.LARGEST_WEIGHT),
    "c_method": _word("e1", "e2", "e3"),
    "elkan_variant": _word("ratio", "weighted"),
    "label_correlation": _none_or(_real(0, 1, below=True)),
    "gamma": _none_or(_POSITIVE),
    "folds": _auto_or(_whole(2, ranges.MOST_INSTANCES)),
    "sample": _whole(1, ranges.MOST_INSTANCES),
    "seed": _whole(0),
    "jobs": _threads,
    "kernel": _kernel,
}
