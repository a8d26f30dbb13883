"""Estimators of scikit-learn whose parameters are declared options."""

import inspect
import textwrap
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from mpu_cli.runtime.options import Option

Estimator = TypeVar("Estimator", bound=type)


def with_parameters(options: Iterable[Option]) -> Callable[[Estimator], Estimator]:
    """Return what gives an estimator declared options as parameters, before those of its own constructor.

    ``{parameters}`` in its docstring is replaced by their description. The constructor takes them as keywords.
    """
    options = tuple(options)

    def declared(estimator: Estimator) -> Estimator:
        own = vars(estimator)["__init__"]
        self, *others, _ = inspect.signature(own).parameters.values()  # the last one stands for those declared
        taken = [
            inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.written_default)
            for option in options
        ]

        @wraps(own)
        def constructor(self: Any, **given: Any) -> None:
            if unknown := given.keys() - {parameter.name for parameter in (*taken, *others)}:
                raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
            for option in options:
                setattr(self, option.name, given.pop(option.name, option.written_default))
            own(self, **given)

        constructor.__signature__ = inspect.Signature([self, *taken, *others])  # type: ignore[attr-defined]
        estimator.__init__ = constructor  # type: ignore[misc]
        if estimator.__doc__:  # python -OO has none
            estimator.__doc__ = inspect.cleandoc(estimator.__doc__).replace("{parameters}", _described(options))
        return estimator

    return declared


def _described(options: Iterable[Option]) -> str:
    entries = []
    for option in options:
        kind = option.kind.documented + " or None" * (option.default is None and not option.has_auto)
        text = textwrap.fill(option.help, 112, initial_indent=" " * 4, subsequent_indent=" " * 4)
        entries.append(f"{option.name} : {kind}\n{text}")
    return "\n".join(entries)
