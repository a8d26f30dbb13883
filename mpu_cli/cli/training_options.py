"""``--method`` and the options of the methods, for commands that train."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from mpu_cli import methods
from mpu_cli.cli.options import click_option
from mpu_cli.runtime.options import options_of


def training_options(function: Callable) -> Callable:
    """Add ``--method NAME`` and the options of all methods.

    The command gets `method`, and `options`, an instance of that method's options. An option of another method is wrong
    usage.
    """
    declared = methods.options()

    @wraps(function)
    def with_options(*args: Any, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in declared}
        method = values["method"]
        _refuse_others(click.get_current_context(), method)
        declaration = methods.METHODS[method].options
        options = declaration(**{name: values[name] for name in options_of(declaration)})
        return function(*args, method=method, options=options, **kwargs)

    command: Callable = with_options
    for option in reversed(declared.values()):
        command = click_option(option)(command)
    return command


def _refuse_others(ctx: click.Context, method: str) -> None:
    for param in ctx.command.params:
        is_set = ctx.get_parameter_source(param.name) is not ParameterSource.DEFAULT
        if is_set and method not in methods.owners(param.name):
            owners = " and ".join(methods.owners(param.name))
            raise click.UsageError(f"{param.opts[-1]} is an option of {owners}, not of {method}.")
