"""The parameters of a training from Python: the options of ``mpu train``, three by the names of scikit-learn."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from mpu_cli.core.options import Options
from mpu_cli.errors import DataError
from mpu_cli.runtime.options import Integer, Kind, Option, RunOptions, Threads, options_of
from mpu_cli.runtime.options import checked as checked_as
from mpu_cli.runtime.run import Run, no_observer

# What scikit-learn calls an option.
_IN_SCIKIT_LEARN = {"cost": "C", "seed": "random_state", "jobs": "n_jobs"}
_SEEDS = 1 << 31


class _RandomState(Integer):
    """A seed, or what scikit-learn draws one from."""

    documented = "int, RandomState or None"

    def check(self, value: Any) -> int:
        """Return a seed, drawn where it is not a number."""
        if value is None or isinstance(value, np.random.RandomState):
            return int(check_random_state(value).randint(_SEEDS))
        return int(super().check(value))


class _Jobs(Threads):
    """A number of threads, as joblib understands it."""

    documented = "int or None"

    def check(self, value: Any) -> int:
        """Return a number from 1: None is one, unless joblib's `parallel_config` says another; -2 all cores but one."""
        if value is None or (isinstance(value, Integral) and value < -1):
            return int(effective_n_jobs(value))
        return int(super().check(value))


_KINDS: dict[str, Kind] = {"seed": _RandomState(0), "jobs": _Jobs(-1)}


def _in_python(option: Option) -> Option:
    name = _IN_SCIKIT_LEARN.get(option.name, option.name)
    return replace(option, name=name, kind=_KINDS.get(option.name, option.kind))


_OF_RUN = options_of(RunOptions)
# By the names of the options; each has its name in Python.
DECLARED: dict[str, Option] = {name: _in_python(option) for name, option in (options_of(Options) | _OF_RUN).items()}


def checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters, and return them as plain Python values, ``auto`` as None.

    `parameters`: any of those in `DECLARED`, by the name of the option.
    Raises DataError (a parameter is of a wrong type or out of its range).
    """
    return {name: DECLARED[name].check(value) for name, value in parameters.items()}


def of_estimator(estimator: Any, classes: np.ndarray | None = None) -> dict[str, Any]:
    """Check and return the parameters of an estimator, as `checked` does, and `observe`, which says what is done.

    `classes`: names of the labels, by which c may be given.
    """
    observe = _saying if checked_as(Integer(0), "verbose", int(estimator.verbose)) else no_observer
    given = {name: getattr(estimator, option.name) for name, option in DECLARED.items()}
    if classes is not None and isinstance(given["c"], Mapping):
        given["c"] = _by_name(given["c"], classes.tolist())
    return checked(given) | {"observe": observe}


def _by_name(c: Mapping[Any, float], classes: list[Any]) -> list[float]:
    """Return the label frequency of each label, NaN where it is not given."""
    if unknown := c.keys() - set(classes):
        raise DataError(f"c has a number for {min(unknown, key=str)!r}, which is not among the classes")
    return [c.get(name, np.nan) for name in classes]


def run_of(estimator: Any) -> Run:
    """Return the run that an estimator's predictions are computed in, in which nothing is drawn."""
    names = _OF_RUN.keys() - {"seed"}
    return Run(**{name: DECLARED[name].check(getattr(estimator, DECLARED[name].name)) for name in names})


@contextmanager
def _saying(step: str, ticks: int | None) -> Iterator[Callable[[], None]]:
    """Print each step with its seconds."""
    start = time.perf_counter()
    yield lambda: None
    print(f"[mpu] {step}: {time.perf_counter() - start:.1f} s", flush=True)
