"""What `mpu experiment` takes as lists: methods with options, missing rates, numbers of instances."""

import math
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import click

from mpu_cli.cli.method_options import METHODS, of_this_method
from mpu_cli.cli.train import train

_DOTS = "..."
_MOST_RATES = 1000


class Methods(click.ParamType):
    """Methods separated by commas, each with options of `mpu train` after colons: ``mpu,mpu:levels=1:cost=30``."""

    name = "method[:option=value...],..."

    def convert(self, value, param, ctx):
        """Return a tuple of `mpu_cli.experiment.design.Method`; the options of `mpu train` check the values."""
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
    from mpu_cli.core.training import Options
    from mpu_cli.experiment.design import Method
    from mpu_cli.methods import MethodOptions

    name, *assignments = label.split(":")
    if name not in METHODS:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(METHODS)}")
    of_training, of_method = ({field.name for field in fields(kind)} for kind in (Options, MethodOptions))
    settable = {param.name for param in train.params} & (of_training | of_method)
    known = of_this_method(name, sorted(settable))
    values = {}
    for assignment in assignments:
        option, _, value = assignment.partition("=")
        key = option.replace("-", "_")
        if key not in known:
            names = ", ".join(known).replace("_", "-")
            raise click.BadParameter(f"{label}: {option!r} is not an option of {name}; it has {names}")
        values[key] = _converted(label, key, value, ctx)
    training = Options(**{key: value for key, value in values.items() if key in of_training})
    return Method(label, name, MethodOptions(training, **{k: v for k, v in values.items() if k in of_method}))


def _converted(label: str, key: str, text: str, ctx: click.Context | None):
    """Convert a value as the option of `mpu train` of that name does."""
    option = next(param for param in train.params if param.name == key)
    try:
        value = option.type.convert(text, option, ctx)
    except click.BadParameter as error:
        raise click.BadParameter(f"{label}: {option.opts[-1]}: {error.message}") from None
    if isinstance(value, Path):
        raise click.BadParameter(f"{label}: {option.opts[-1]} takes a number or auto here, no file")
    return None if value == "auto" else value


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
    """Whole numbers, separated by commas; dots at the end go on by the last factor: ``1000,2000,...``."""

    name = "n,..."

    def convert(self, value, param, ctx):
        """Return a tuple of int, ascending; its last element is Ellipsis where there are dots."""
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
