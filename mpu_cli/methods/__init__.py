"""The methods by name: Kong et al. 2014, Section 3.3, Comparative Methods.

A method is one module or package here with a list `METHODS`; no other module has to be changed for it. One of another
package is a `Method` with an entry point of the group `mpu.methods`. Importing this package imports no NumPy:
methods import numerical packages when they run.
"""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from mpu_cli.errors import DataError, MpuError, MpuWarning
from mpu_cli.methods.method import Fitted, Method, Model, Task
from mpu_cli.runtime.options import options_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from mpu_cli.core.problem import Problem
    from mpu_cli.runtime.run import Run

__all__ = ["METHODS", "Fitted", "Method", "Model", "Task", "fit"]

DEFAULT = "mpu"


def _all() -> Iterable[Method]:
    for module in iter_modules(__path__):
        yield from getattr(import_module(f"{__name__}.{module.name}"), "METHODS", ())


def _with_outside(methods: dict[str, Method], points: Iterable[EntryPoint]) -> dict[str, Method]:
    """Add methods of other packages; those that cannot be used are warned of and left out."""
    for point in points:
        try:
            method = point.load()
            _refuse_clash(method, methods)
        except Exception as error:  # whatever the package of others raises
            warnings.warn(f"the method {point.value} is left out: {error}", MpuWarning, stacklevel=2)
        else:
            methods = methods | {method.name: method}
    return methods


def _refuse_clash(method: Any, methods: dict[str, Method]) -> None:
    """Raise MpuError if something is no method, or its name or an option has another meaning already."""
    if not isinstance(method, Method):
        raise MpuError(f"it is a {type(method).__name__}, and no mpu_cli.methods.Method")
    if method.name in methods:
        raise MpuError(f"there is a method {method.name} already")
    for name, option in options_of(method.options).items():
        for other in methods.values():
            if options_of(other.options).get(name, option) != option:
                raise MpuError(f"{other.name} declares the option {name} in another way")


METHODS = {method.name: method for method in sorted(_all(), key=lambda method: (method.name != DEFAULT, method.name))}
METHODS = _with_outside(METHODS, entry_points(group="mpu.methods"))


def fit(
    name: str,
    problem: "Problem",
    options: Any = None,
    run: "Run | None" = None,
    unlabeled: "csr_array | None" = None,
) -> Fitted:
    """Train a model of all labels by a method.

    `name`: one of `METHODS`.
    `problem`: q >= 1 labels. Each is annotated at least once, unless the method takes "label_features".
    `options`: an instance of the method's options. Default: all defaults.
    `run`: observes every step.
    `unlabeled`: csr_array, shape (m, any), float32: the instances that a transductive method labels.
    Raises DataError (the options belong to another method), MpuError (the method cannot learn from these data;
    TooLargeError if they would not fit in memory).
    """
    from mpu_cli.runtime.run import DEFAULT_RUN

    method = METHODS[name]
    asked = method.options() if options is None else options
    if type(asked) is not method.options:
        raise DataError(f"{name} has other options than {type(asked).__module__}.{type(asked).__qualname__}")
    if method.transductive and unlabeled is None:
        raise MpuError(f"{name} labels instances while it learns: it needs some to label")
    seconds: dict[str, float] = {}
    run = (run or DEFAULT_RUN).timed(seconds)
    return replace(method.fit(Task(problem, asked, run, unlabeled)), seconds=seconds)
