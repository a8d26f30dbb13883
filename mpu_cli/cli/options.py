"""Options of commands, made from their declarations (`mpu_cli.runtime.options`)."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from mpu_cli.cli.values import click_type
from mpu_cli.runtime.options import Option, options_of


def click_option(option: Option) -> Callable[[Callable], Callable]:
    """Return the decorator that adds an option to a command."""
    letters = [f"-{option.letter}"] if option.letter else []
    return click.option(
        *letters,
        f"--{option.name.replace('_', '-')}",
        option.name,
        type=click_type(option.kind),
        default=option.written_default,
        show_default=option.written_default is not None,
        help=option.help,
    )


def options_from(declaration: type) -> Callable[[Callable], Callable]:
    """Add the options that a dataclass declares; the command gets each as a keyword."""

    def decorate(function: Callable) -> Callable:
        for option in reversed(options_of(declaration).values()):
            function = click_option(option)(function)
        return function

    return decorate


def options_as_one(declaration: type) -> Callable[[Callable], Callable]:
    """Add the options that a dataclass declares; the command gets them as `options`, an instance of it."""
    declared = options_of(declaration)

    def decorate(function: Callable) -> Callable:
        @options_from(declaration)
        @wraps(function)
        def command(*args: Any, **kwargs: Any) -> Any:
            options = declaration(**{name: kwargs.pop(name) for name in declared})
            return function(*args, options=options, **kwargs)

        return command

    return decorate
