"""The parameters of a training from Python: the options of ``mpu train``, by the same names."""

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from mpu_cli import methods
from mpu_cli.cluster.address import OnCluster
from mpu_cli.errors import DataError
from mpu_cli.runtime.options import Option, RunOptions, options_of
from mpu_cli.runtime.run import Run

Estimator = TypeVar("Estimator", bound=type)

_OF_RUN = options_of(RunOptions)
DECLARED: dict[str, Option] = methods.options() | _OF_RUN | options_of(OnCluster)


def checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters, and return them as plain Python values, ``auto`` as None.

    Parameters
    ----------
    parameters : mapping
        Any of those in `DECLARED`, by name.

    Raises
    ------
    DataError
        A parameter is of a wrong type or out of its range, or belongs to another method and is not its default.
    """
    values = {name: DECLARED[name].check(value) for name, value in parameters.items()}
    method = values.get("method", methods.DEFAULT)
    for name in values:
        owners = methods.owners(name)
        if method not in owners and (np.ndim(parameters[name]) or parameters[name] != DECLARED[name].written_default):
            raise DataError(f"{name} is a parameter of {' and '.join(owners)}, not of {method}")
    return values


def of_estimator(estimator: Any) -> dict[str, Any]:
    """Check and return the parameters of an estimator, as `checked` does."""
    return checked({name: getattr(estimator, name) for name in DECLARED})


def run_of(estimator: Any) -> Run:
    """Return the run that an estimator's predictions are computed in."""
    return Run(**{name: option.check(getattr(estimator, name)) for name, option in _OF_RUN.items()})


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
        kind = option.kind.documented + " or None" * (option.default is None and not option.has_auto)
        text = textwrap.fill(option.help, 112, initial_indent=" " * 4, subsequent_indent=" " * 4)
        entries.append(f"{name} : {kind}\n{text}")
    return "\n".join(entries)
