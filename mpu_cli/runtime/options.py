"""Options, each declared once: a field of a dataclass with its kind, default and help.

The command line (`mpu_cli.cli.options`), the methods of `mpu experiment`, the parameters of the estimator
(`mpu_cli.api.parameters`), the record in a model and the fingerprint of a training are made from these fields.
"""

from dataclasses import dataclass, field, fields
from inspect import get_annotations
from typing import Any, TypeAlias

from mpu_cli.runtime import ranges

# How people write None where it means that a value is chosen.
AUTO = "auto"


@dataclass(frozen=True)
class Whole:
    """A whole number from `least` to `most`; None: without an upper limit."""

    least: int
    most: int | None = None


@dataclass(frozen=True)
class Real:
    """A finite number from `least` to `most`, or to below it."""

    least: float
    most: float
    below: bool = False


@dataclass(frozen=True)
class Span:
    """Two whole numbers, the first not above the second, from `least` to `most`; written ``1-2``."""

    least: int
    most: int


@dataclass(frozen=True)
class Words:
    """One of some words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class WordOr:
    """One of some words, or a value of another kind. The word `AUTO` stands for None."""

    words: tuple[str, ...]
    other: "Kind"


@dataclass(frozen=True)
class PerLabel:
    """A number, or one for each label: from Python an array, on the command line a file."""

    number: Real


@dataclass(frozen=True)
class Threads:
    """A number of threads; -1 is one per core."""


Kind: TypeAlias = Whole | Real | Span | Words | WordOr | PerLabel | Threads

PROBABILITY = Real(0, 1)
FREQUENCY = Real(ranges.LEAST_FREQUENCY, 1)
POSITIVE = Real(ranges.LEAST_POSITIVE, ranges.LARGEST_POSITIVE)
WEIGHT = Real(ranges.LEAST_WEIGHT, ranges.LARGEST_WEIGHT)
WEIGHT_OR_0 = Real(0, ranges.LARGEST_WEIGHT)

# Constants of a model of propensities, `mpu_cli.evaluation.propensities`; no number overflows within these ranges. The
# defaults are those of Jain et al. for all collections but Amazon's (0.6, 2.6) and Wikipedia (0.5, 0.4).
PROPENSITY_A, PROPENSITY_A_RANGE = 0.55, Real(0, 10)
PROPENSITY_B, PROPENSITY_B_RANGE = 1.5, Real(0.001, 1e6)


@dataclass(frozen=True)
class Option:
    """What a field declares.

    Attributes
    ----------
    name : str
        As in Python; the command line has hyphens for underscores.
    kind : Kind
    default : object
        None where the value is chosen: written as `AUTO` if the kind has that word.
    help : str
    letter : str or None
        A second name on the command line, as "j" of ``-j``.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    letter: str | None = None

    @property
    def has_auto(self) -> bool:
        """Whether None is written as `AUTO`."""
        return isinstance(self.kind, WordOr) and AUTO in self.kind.words

    @property
    def written_default(self) -> Any:
        """The default as people write it."""
        return AUTO if self.default is None and self.has_auto else self.default


def option(kind: Kind, default: Any, help: str, letter: str | None = None) -> Any:
    """Return the field of a dataclass that declares an option."""
    return field(default=default, metadata={"kind": kind, "help": help, "letter": letter})


def options_of(declaration: type) -> dict[str, Option]:
    """Return the options that a dataclass declares, by name: its own first, then those that it shares with others."""
    declared = {f.name: Option(f.name, default=f.default, **f.metadata) for f in fields(declaration) if f.metadata}
    own_first = [name for part in declaration.__mro__ for name in get_annotations(part)]
    return {name: declared[name] for name in own_first if name in declared}
