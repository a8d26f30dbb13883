"""Options of commands, made from their declarations (`mpu_cli.runtime.options`), and the types of their values."""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from mpu_cli.core.options import AIMS
from mpu_cli.runtime.options import Kind, Option, Real, Threads, Whole, WordOr, Words, options_of
from mpu_cli.svmlight.grammar import MAX_ID

# The name of a file, as a text and as a Path. What it must be is said by those who open it.
file_option = partial(click.option, type=click.Path(allow_dash=True))
path_option = partial(click.option, type=click.Path(path_type=Path))


def top_k_options(of_k: str, of_aim: str) -> Callable[[Callable], Callable]:
    """Add ``--top-k`` and ``--for`` with these helps; the command gets `top_k` and `aim`."""

    def options(function: Callable) -> Callable:
        k = click.option("--top-k", type=click_type(Whole(1, MAX_ID + 1)), help=of_k)
        return k(click.option("--for", "aim", type=click.Choice(AIMS), help=of_aim)(function))

    return options


class Parsed(click.ParamType):
    """What a function makes of a text; its ValueError says what is wrong with it."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self.parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text; a default is as it is."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Value(click.ParamType):
    """A value of a kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.name = kind.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text, or check a default."""
        try:
            return self.kind.parse(value) if isinstance(value, str) else self.kind.check(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class _Number(Value, click.IntRange):
    """A number; click shows its range in the help."""

    def __init__(self, kind: Whole | Real | Threads) -> None:
        click.IntRange.__init__(self)
        Value.__init__(self, kind)
        self.range = kind.range

    def _describe_range(self) -> str:  # click's own has "1<=x<=100"
        return self.range


class _Word(click.Choice):
    """One of some words, which shells complete."""

    def __init__(self, kind: Kind, words: tuple[str, ...]) -> None:
        super().__init__(words)
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert as click does, then as the kind does."""
        return self.kind.check(super().convert(value, param, ctx))


def click_type(kind: Kind) -> click.ParamType:
    """Return the type by which the command line reads values of a kind."""
    match kind:
        case Words(words):
            return _Word(kind, words)
        case WordOr(words, Words(others)):
            return _Word(kind, words + others)
        case Whole() | Real() | Threads():
            return _Number(kind)
    return Value(kind)


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
