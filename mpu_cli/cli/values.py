"""Types of the values of options: how they are read, what the help calls them, and what is said of a wrong one."""

import math
import os
import re
from pathlib import Path

import click

from mpu_cli.runtime.options import Kind, PerLabel, Real, Span, Threads, Whole, WordOr, Words
from mpu_cli.runtime.ranges import LEAST_FREQUENCY

_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?) ?%")
# Beyond this a limit is there for the machine, and tells people nothing.
_MOST_SAID = 10**9


class WholeNumber(click.IntRange):
    """A whole number within a range."""

    name = "n"

    def convert(self, value, param, ctx):
        """Convert as click does; name the range if that fails."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r}: give {self.allowed()}.", param, ctx)

    def allowed(self) -> str:
        """Say which values there are."""
        return "a whole number " + _bounds(self.min, self.max)

    def _describe_range(self) -> str:  # click's own has "1<=x<=100"
        return _bounds(self.min, self.max)


class Number(click.FloatRange):
    """A finite number within a range; click's own lets NaN through, and infinity where the range is open-ended."""

    name = "number"

    def convert(self, value, param, ctx):
        """Convert as click does, then refuse NaN and infinity; name the range if that fails."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = math.nan
        if percentage := _PERCENTAGE.fullmatch(str(value)):
            self.fail(f"{value!r} is a percentage: write {float(percentage[1]) / 100:g}.", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r}: give {self.allowed()}.", param, ctx)
        return number

    def allowed(self) -> str:
        """Say which values there are."""
        return "a number " + self._describe_range()

    def _describe_range(self) -> str:  # click's own has "0<=x<=1"
        return _bounds(self.min, self.max, self.max_open)


class WordOrValue(click.ParamType):
    """One of some words, or a value of another type."""

    def __init__(self, words: tuple[str, ...], other: "Numeric") -> None:
        self.words = words
        self.other = other
        self.name = "|".join((*words, other.name))

    def convert(self, value, param, ctx):
        """Return a word as it is, anything else as a value of the other type."""
        if value in self.words:
            return value
        try:
            return self.other.convert(value, param, ctx)
        except click.BadParameter as error:
            if _PERCENTAGE.fullmatch(str(value)):
                raise error
            self.fail(f"{value!r}: give {self.allowed()}.", param, ctx)

    def allowed(self) -> str:
        """Say which values there are."""
        return ", ".join(self.words) + ", or " + self.other.allowed()


class NumberOrFile(click.ParamType):
    """A number, or the path of a file with one for each label."""

    name = "number|file"

    def __init__(self, number: Number) -> None:
        self.number = number

    def convert(self, value, param, ctx):
        """Return a float or a Path. A file that is not there is refused here, before any data are read."""
        if isinstance(value, Path):
            return value
        try:
            return self.number.convert(value, param, ctx)
        except click.BadParameter as error:
            if Path(value).exists():
                return Path(value)
            if _PERCENTAGE.fullmatch(value):
                raise error
            self.fail(f"{value!r}: give {self.allowed()}.", param, ctx)

    def allowed(self) -> str:
        """Say which values there are."""
        return self.number.allowed() + ", or a file that exists"


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
            self.fail(f"{value!r}: give {self.allowed()}.", param, ctx)
        return numbers

    def allowed(self) -> str:
        """Say which values there are."""
        return f"a range such as 1-2, within {self.least} to {self.most}"


class ThreadCount(WholeNumber):
    """A number of threads, at most one per core: more gain nothing, and the system may refuse them."""

    def __init__(self) -> None:
        super().__init__(min=-1)

    def convert(self, value, param, ctx):
        """Refuse 0."""
        count = super().convert(value, param, ctx)
        if count == 0:
            self.fail("0 threads can do nothing; -1 is one per core.", param, ctx)
        return min(count, os.cpu_count() or 1)


Numeric = Number | WholeNumber | NumberOrFile | NumberSpan


def click_type(kind: Kind) -> click.ParamType:
    """Return the type by which the command line reads values of a kind."""
    match kind:
        case Words(words):
            return click.Choice(words)
        case WordOr(words, Words(others)):
            return click.Choice(words + others)
        case WordOr(words, other):
            return WordOrValue(words, _numeric(other))
    return _numeric(kind)


def _numeric(kind: Kind) -> Numeric:
    match kind:
        case Whole(least, most):
            return WholeNumber(least, most)
        case Span(least, most):
            return NumberSpan(least, most)
        case PerLabel(number):
            return NumberOrFile(_number(number))
        case Threads():
            return ThreadCount()
        case Real():
            return _number(kind)
    raise TypeError(f"{kind} has no numbers")


def _number(kind: Real) -> Number:
    return Number(kind.least, kind.most, max_open=kind.below)


def _bounds(least: float | None, most: float | None, below: bool = False) -> str:
    """Say a range in words: ``from 0 to 1``."""
    if most is None or (most > _MOST_SAID and isinstance(most, int)):
        return f"from {_figure(least)}"
    to = f"below {_figure(most)}" if below else _figure(most)
    return f"above 0 and at most {to}" if least == LEAST_FREQUENCY else f"from {_figure(least)} to {to}"


def _figure(number: float | None) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
