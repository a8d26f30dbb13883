"""Types by which the command line reads values of options: each of a kind (`mpu_cli.runtime.options`)."""

from typing import Any

import click

from mpu_cli.runtime.options import Kind, Real, Threads, Whole, WordOr, Words


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
