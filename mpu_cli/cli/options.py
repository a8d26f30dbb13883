"""Options of commands, made from their declarations (`mpu_cli.runtime.options`)."""

import math
import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from mpu_cli.runtime.options import AUTO, Kind, Option, PerLabel, Real, Span, Threads, Whole, WordOr, Words, options_of


class FiniteRange(click.FloatRange):
    """A range of finite floats; click's own lets NaN through, and infinity where the range is open-ended."""

    def convert(self, value, param, ctx):
        """Convert as click does, then refuse NaN and infinity."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class WordOrValue(click.ParamType):
    """One of some words, or a value of another type."""

    def __init__(self, words: tuple[str, ...], other: click.ParamType) -> None:
        self.words = words
        self.other = other
        self.name = "|".join((*words, other.name if isinstance(other, NumberOrFile | NumberSpan) else "number"))

    def convert(self, value, param, ctx):
        """Return a word as it is, anything else as a value of the other type."""
        return value if value in self.words else self.other.convert(value, param, ctx)


class NumberOrFile(click.ParamType):
    """A number, or the path of a file with one for each label."""

    name = "number|file"

    def __init__(self, number: click.ParamType) -> None:
        self.number = number

    def convert(self, value, param, ctx):
        """Return a float or a Path."""
        try:
            float(value)
        except (TypeError, ValueError):
            return Path(value)
        return self.number.convert(value, param, ctx)


class NumberSpan(click.ParamType):
    """Two whole numbers such as 1-2, within a range."""

    name = "from-to"

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most

    def convert(self, value, param, ctx):
        """Return a tuple of two ints."""
        parts = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", value)
        numbers = tuple(map(int, parts.groups())) if parts else ()
        if not numbers or not self.least <= numbers[0] <= numbers[1] <= self.most:
            self.fail(f"{value!r} is not a range such as 1-2, within {self.least} to {self.most}.", param, ctx)
        return numbers


class ThreadCount(click.IntRange):
    """A number of threads, at most one per core: more gain nothing, and the system may refuse them."""

    def __init__(self) -> None:
        super().__init__(min=-1)

    def convert(self, value, param, ctx):
        """Refuse 0."""
        count = super().convert(value, param, ctx)
        if count == 0:
            self.fail("0 threads can do nothing; -1 is one per core.", param, ctx)
        return min(count, os.cpu_count() or 1)


def click_type(kind: Kind) -> click.ParamType:
    """Return the type by which the command line reads values of a kind."""
    match kind:
        case Whole(least, most):
            return click.IntRange(least, most)
        case Real(least, most, below):
            return FiniteRange(least, most, max_open=below)
        case Span(least, most):
            return NumberSpan(least, most)
        case Words(words):
            return click.Choice(words)
        case WordOr(words, Words(others)):
            return click.Choice(words + others)
        case WordOr(words, other):
            return WordOrValue(words, click_type(other))
        case PerLabel(number):
            return NumberOrFile(click_type(number))
        case Threads():
            return ThreadCount()


def value_of(option: Option, value: Any) -> Any:
    """Return the value of an option from what its type has read: None for ``auto``."""
    return None if option.has_auto and value == AUTO else value


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
        callback=lambda _ctx, _param, value: value_of(option, value),
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
