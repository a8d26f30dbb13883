"""Options, each declared once: a field of a dataclass with its kind, default and help.

The command line (`mpu_cli.cli.options`), the methods of `mpu experiment`, the parameters of the estimator
(`mpu_cli.api.learning`) and the record in a model are made from these fields. A kind says how a text is parsed and
how a value is checked.
"""

import math
import numbers
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import get_annotations
from pathlib import Path
from typing import Any, ClassVar

from mpu_cli.errors import DataError

KERNELS = ("numpy", "numba")
# How people write None where it means that a value is chosen.
AUTO = "auto"

# Of the label frequency c: 1/c times a number of labels is finite in 64 bits.
LEAST_FREQUENCY = 1e-300
# Of numbers that depend on the scale of the features, such as C and gamma: within 32 bits, with room for a product.
LEAST_POSITIVE, LARGEST_POSITIVE = 1e-30, 1e30
# Of other weights.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-6, 1e6
# Of counts: more than anyone needs.
MOST_LEVELS = 100
MOST_EPOCHS = 10**6
MOST_INSTANCES = 10**12
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?) ?%")


class NotAllowedError(ValueError):
    """A value that an option does not take. The message is part of one for users.

    `value`: the value as the user wrote it.
    `allowed`: the values that are allowed.
    """

    def __init__(self, value: object, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(f"{value!r}: give {allowed}")


class Kind(ABC):
    """The values that an option takes."""

    metavar: str  # name of a value in the help
    documented: str  # the type of a parameter, as documentation has it
    words: tuple[str, ...] = ()  # those that shells complete

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for; ValueError (see `NotAllowedError`) if it stands for none."""
        return self.check(text)

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return a value from Python as a plain Python value; ValueError if it is of a wrong type or out of range."""


@dataclass(frozen=True)
class Real(Kind):
    """A finite number from `least` to `most`; None: without an upper limit."""

    least: float
    most: float | None = None
    metavar = "number"
    documented = "float"
    _type: ClassVar[tuple[type, Callable[[Any], float]]] = numbers.Real, float

    def parse(self, text: str) -> Any:
        """Return the number. What is wrong with a percentage is said in a ValueError of its own."""
        if percentage := _PERCENTAGE.fullmatch(text):
            raise ValueError(f"{text!r} is a percentage: write {float(percentage[1]) / 100:g}")
        try:
            return self.check(self._type[1](text))
        except ValueError:
            raise NotAllowedError(text, self._allowed) from None

    def check(self, value: Any) -> Any:
        of_type, plain = self._type
        if not isinstance(value, of_type) or isinstance(value, bool) or not self.includes(value):
            raise NotAllowedError(value, self._allowed)
        return plain(value)

    def includes(self, value: Any) -> Any:
        """Whether a number, or each of an array, is finite and in the range."""
        return (self.least <= value) & ((value < math.inf) if self.most is None else (value <= self.most))

    @property
    def range(self) -> str:
        """The range in words: ``from 0 to 1``."""
        least, most = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (self.least, self.most or 0))
        if self.least == LEAST_FREQUENCY:
            return f"above 0 and at most {most}"
        # Beyond some number a limit is there for the machine, and tells people nothing.
        has_most = self.most is not None and (self.metavar == "number" or self.most <= 10**9)
        return f"from {least}" + f" to {most}" * has_most

    @property
    def _allowed(self) -> str:
        return f"a number {self.range}"


class Integer(Real):
    """A whole number."""

    metavar = "n"
    documented = "int"
    _type = numbers.Integral, int

    @property
    def _allowed(self) -> str:
        return f"a whole number {self.range}"


class Threads(Integer):
    """A number of threads, at most one per core: more gain nothing, and the system may refuse them; -1 is that many."""

    def parse(self, text: str) -> int:
        return self.check(Integer(self.least).parse(text))

    def check(self, value: Any) -> int:
        if not (jobs := super().check(value)):
            raise ValueError("0: 0 threads can do nothing; -1 is one per core")
        return min(jobs, os.cpu_count() or 1)


@dataclass(frozen=True)
class Span(Kind):
    """Two whole numbers, the first not above the second, from `least` to `most`; written ``1-2``."""

    least: int
    most: int
    metavar = "from-to"
    documented = "(int, int)"

    def parse(self, text: str) -> tuple[int, int]:
        parts = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
        try:
            return self.check(tuple(map(int, parts.groups())) if parts else ())
        except ValueError:
            raise NotAllowedError(text, f"a range such as 1-2, within {self.least} to {self.most}") from None

    def check(self, value: Any) -> tuple[int, int]:
        pair = tuple(value) if isinstance(value, list | tuple) else ()
        bound = Integer(self.least, self.most)
        if len(pair) != 2 or bound.check(pair[0]) > bound.check(pair[1]):
            raise NotAllowedError(value, "two whole numbers, the smaller one first")
        return int(pair[0]), int(pair[1])


@dataclass(frozen=True)
class Words(Kind):
    """One of some words; where they are `several`, some of them, each once, with commas between them."""

    words: tuple[str, ...]
    several: bool = False

    @property
    def metavar(self) -> str:  # type: ignore[override]
        return "|".join(self.words) if len(self.words) <= 8 else "word"  # that many do not fit in a line

    @property
    def documented(self) -> str:  # type: ignore[override]
        return "str" if self.several else "{" + ", ".join(f'"{word}"' for word in self.words) + "}"

    def check(self, value: Any) -> str:
        given = value.split(",") if isinstance(value, str) and self.several else [value]
        if not isinstance(value, str) or len({*given}) < len(given) or not {*given} <= {*self.words}:
            several = ("one or several of ", ", with commas between them") if self.several else ("one of ", "")
            raise NotAllowedError(value, ", ".join(self.words).join(several))
        return value


@dataclass(frozen=True)
class WordOr(Kind):
    """One of some words, or a value of another kind. The word `AUTO` stands for None."""

    own: tuple[str, ...]
    other: Kind

    @property
    def words(self) -> tuple[str, ...]:  # type: ignore[override]
        return () if isinstance(self.other, Words) and self.other.several else self.own + self.other.words

    @property
    def metavar(self) -> str:  # type: ignore[override]
        return "|".join((*self.own, self.other.metavar))

    @property
    def documented(self) -> str:  # type: ignore[override]
        if self.other.words and self.words:
            return Words(self.words).documented
        return f"{Words(self.own).documented} or {self.other.documented}"

    def parse(self, text: str) -> Any:
        return self._value(text, self.other.parse)

    def check(self, value: Any) -> Any:
        if isinstance(value, str) and value not in self.own and not isinstance(self.other, Words):
            raise NotAllowedError(value, f"one of {', '.join(self.own)}")
        return self._value(value, self.other.check)

    def _value(self, value: Any, otherwise: Callable[[Any], Any]) -> Any:
        """Return a word, None for `AUTO`, or the other value."""
        if isinstance(value, str) and value in self.own:
            return None if value == AUTO else value
        try:
            return otherwise(value)
        except NotAllowedError as error:
            if not isinstance(value, str):
                raise
            raise NotAllowedError(value, f"{', '.join(self.own)}, or {error.allowed}") from None


@dataclass(frozen=True)
class PerLabel(Kind):
    """A number, or one for each label: from Python an array, on the command line a file."""

    number: Real
    some: bool = False  # whether NaN is allowed where the number of a label is not known
    metavar = "number|file"

    @property
    def documented(self) -> str:  # type: ignore[override]
        others = "dict by the name of the label (NaN or absent: estimated)"
        return "float, array_like of shape (q,)" + (f" or {others}" if self.some else "")

    def parse(self, text: str) -> float | Path:
        """Return the number, or the path of the file. One that is not there is refused before any data are read."""
        try:
            return self.number.parse(text)
        except ValueError as error:
            if Path(text).exists():
                return Path(text)
            if not isinstance(error, NotAllowedError):
                raise
            raise NotAllowedError(text, f"{error.allowed}, or a file that exists") from None

    def check(self, value: Any) -> Any:
        """Return a float, or an array of float64."""
        import numpy as np  # which the help need not wait for

        if np.ndim(value) == 0:
            return self.number.check(value)
        try:
            each = np.asarray(value, float)
        except (TypeError, ValueError):
            raise NotAllowedError(value, "'auto', a number, or one number for each label") from None
        if not (self.number.includes(each) | (self.some & np.isnan(each))).all():
            raise ValueError(f"an array: give numbers {self.number.range}")
        return each


def checked(kind: Kind, name: str, value: Any) -> Any:
    """Check a value from Python for a parameter of this name, and return it as a plain Python value.

    Raises DataError (it is of a wrong type, or out of its range).
    """
    try:
        return kind.check(value)
    except ValueError as error:
        raise DataError(f"{name} is {error}") from None


PROBABILITY = Real(0, 1)
FREQUENCY = Real(LEAST_FREQUENCY, 1)
POSITIVE = Real(LEAST_POSITIVE, LARGEST_POSITIVE)
WEIGHT = Real(LEAST_WEIGHT, LARGEST_WEIGHT)
WEIGHT_OR_0 = Real(0, LARGEST_WEIGHT)

# Constants of a model of propensities, `mpu_cli.evaluation.propensities`; no number overflows within these. The
# defaults are those of Jain et al. for all collections but Amazon's (0.6, 2.6) and Wikipedia (0.5, 0.4).
PROPENSITY_A, PROPENSITY_A_RANGE = 0.55, Real(0, 10)
PROPENSITY_B, PROPENSITY_B_RANGE = 1.5, Real(0.001, 1e6)


@dataclass(frozen=True)
class Option:
    """The declaration of an option in a field."""

    name: str  # as in Python; the command line has hyphens for underscores
    kind: Kind
    default: Any  # None where the value is chosen: written as `AUTO` if the kind has that word
    help: str
    letter: str | None = None  # A second name on the command line, as "j" of ``-j``

    @property
    def has_auto(self) -> bool:
        """Whether None is written as `AUTO`."""
        return isinstance(self.kind, WordOr) and AUTO in self.kind.own

    def check(self, value: Any) -> Any:
        """Return a value from Python as a plain Python value, `AUTO` as None; DataError as `checked`."""
        if value is None and self.default is None and not self.has_auto:
            return None
        return checked(self.kind, self.name, value)

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


@dataclass(frozen=True)
class RunOptions:
    """The options of a run. Only seed and kernel affect the result."""

    seed: int = option(Integer(0), 0, "Random seed. The same seed gives the same bytes.")
    jobs: int = option(Threads(-1), -1, "Threads; -1: one per core. Results do not depend on it.", letter="j")
    kernel: str | None = option(
        WordOr((AUTO,), Words(KERNELS)), None, "Inner loops: NumPy, or compiled by numba. auto: numba if installed."
    )
