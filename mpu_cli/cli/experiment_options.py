"""Option types of `mpu experiment` that are lists: methods with options, missing rates, numbers of instances."""

import math
from itertools import pairwise

import click

from mpu_cli import methods
from mpu_cli.cli.options import click_type
from mpu_cli.runtime.options import Kind, Option, PerLabel, WordOr, options_of

_DOTS = "..."
_MOST_RATES = 1000


class Methods(click.ParamType):
    """Methods separated by commas, each with its options after colons: ``mpu,mpu:levels=1:cost=30``."""

    name = "method[:option=value...],..."

    def convert(self, value, param, ctx):
        """Return a tuple of `mpu_cli.experiment.design.Method`."""
        if not isinstance(value, str):
            return value
        labels = value.split(",")
        if len(set(labels)) < len(labels):
            self.fail("a method is there twice", param, ctx)
        try:
            return tuple(_method(label, ctx) for label in labels)
        except click.BadParameter as error:
            self.fail(error.message, param, ctx)


def _method(label: str, ctx: click.Context | None):
    from mpu_cli.experiment.design import Method

    name, *assignments = label.split(":")
    if name not in methods.METHODS:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(methods.METHODS)}")
    declaration = methods.METHODS[name].options
    declared = options_of(declaration)
    values = {}
    for assignment in assignments:
        key, _, text = assignment.partition("=")
        option = declared.get(key.replace("-", "_"))
        if option is None:
            names = ", ".join(sorted(declared)).replace("_", "-")
            raise click.BadParameter(f"{label}: {key!r} is not an option of {name}; it has {names}")
        if option.name in values:
            raise click.BadParameter(f"{label}: {key!r} is there twice")
        values[option.name] = _converted(label, option, text, ctx)
    return Method(label, name, declaration(**values))


def _converted(label: str, option: Option, text: str, ctx: click.Context | None):
    """Convert a value as the command line does for the option."""
    written = f"--{option.name.replace('_', '-')}"
    try:
        return click_type(_without_files(option.kind)).convert(text, None, ctx)
    except click.BadParameter as error:
        raise click.BadParameter(f"{label}: {written}: {error.message}") from None


def _without_files(kind: Kind) -> Kind:
    """Remove the choice of a file with one number per label: the remaining labels differ from cell to cell."""
    match kind:
        case WordOr(words, PerLabel(number)):
            return WordOr(words, number)
    return kind


class MissingRates(click.ParamType):
    """Numbers from 0 to below 1, separated by commas; dots stand for equal steps: ``0,0.1,...,0.7``."""

    name = "rate,..."

    def convert(self, value, param, ctx):
        """Return a tuple of float, ascending."""
        if not isinstance(value, str):
            return value
        words = value.split(",")
        try:
            if _DOTS in words:
                *head, first, second, dots, last = words
                if dots != _DOTS:
                    raise ValueError
                rates = [*map(float, head), *_steps(float(first), float(second), float(last))]
            else:
                rates = [float(word) for word in words]
        except ValueError:
            self.fail(f"{value!r} is not a list such as 0,0.3,0.6 or 0,0.1,...,0.7", param, ctx)
        if not all(0 <= rate < 1 for rate in rates):
            self.fail("missing rates are from 0 to below 1", param, ctx)
        return tuple(sorted(set(rates)))


def _steps(first: float, second: float, last: float) -> list[float]:
    """Go from `first` to `last` in steps of the distance between `first` and `second`."""
    count = round((last - first) / (second - first)) if second != first else 0
    if not 1 <= count <= _MOST_RATES or not math.isclose(first + count * (second - first), last):
        raise ValueError
    return [round(first + i * (second - first), 10) for i in range(count + 1)]


class Sizes(click.ParamType):
    """Whole numbers, separated by commas; dots at the end continue by the last factor: ``1000,2000,...``."""

    name = "n,..."

    def convert(self, value, param, ctx):
        """Return a tuple of int, ascending; its last element is Ellipsis if there are dots."""
        if not isinstance(value, str):
            return value
        words = value.split(",")
        open_ended = words[-1] == _DOTS
        try:
            sizes = [int(word) for word in words[: -1 if open_ended else None]]
            if open_ended and len(sizes) < 2:
                raise ValueError
        except ValueError:
            self.fail(f"{value!r} is not a list such as 6000 or 1000,2000,4000 or 1000,2000,...", param, ctx)
        if sizes[0] < 1 or any(b <= a for a, b in pairwise(sizes)):
            self.fail("numbers of instances start from 1 and ascend", param, ctx)
        return (*sizes, ...) if open_ended else tuple(sizes)
