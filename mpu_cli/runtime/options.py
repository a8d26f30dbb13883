"""Options, each declared once: a dataclass field with its kind, default and help.

The command line (`mpu_cli.cli.options`), the methods of `mpu experiment`, the parameters of estimators
(`with_parameters`) and the record in a model are generated from these fields. A kind defines how a text is parsed and
how a value is checked.
"""

import inspect
import math
import numbers
import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from mpu_cli.errors import DataError

# The text for None if it means that a value is chosen automatically.
AUTO = "auto"

# Least label frequency c: 1/c times a number of labels is finite in 64 bits.
LEAST_FREQUENCY = 1e-300
# Limits of numbers that depend on the feature scale, such as C and gamma: within 32 bits, with room for a product.
LEAST_POSITIVE, LARGEST_POSITIVE = 1e-30, 1e30
# Limits of other weights.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-6, 1e6
# Limits of counts: more than anyone needs.
MOST_LEVELS = 100
MOST_EPOCHS = 10**6
MOST_INSTANCES = 10**12
# Larger limits of whole numbers exist for technical reasons, and are shown only to those who exceed them.
_MOST_SHOWN = 10**9
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?) ?%")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The allowed values of an option: some words, with `AUTO` for None; subclasses allow other values too."""

    words: tuple[str, ...] = ()
    metavar: ClassVar[str] = ""  # placeholder for other values in the help
    type: ClassVar[str] = ""  # type of other values in the documentation
    range: ClassVar[str] = ""  # range of numbers, in words
    of_file: ClassVar[str] = ""  # a sentence about the form of a file, for the help of the command line

    def parse(self, text: str) -> Any:
        """Return the value that a text represents; ValueError, with a message for users, if it is invalid."""
        if text in self.words:
            return None if text == AUTO else text
        return self._checked(self._of_text(text), text)

    def check(self, value: Any) -> Any:
        """Return a value from Python as a plain Python value; ValueError if its type is wrong or it is out of range."""
        if isinstance(value, str) and value in self.words:
            return None if value == AUTO else value
        return self._checked(value, value)

    def _of_text(self, text: str) -> Any:
        """Return the value that a text represents, which is not checked."""
        return text

    def _checked(self, value: Any, given: Any) -> Any:
        """Return a value that is no word as a plain Python value; `given`: the value, or its text, for the error."""
        raise self._refused(given, "")

    def _refused(self, given: Any, others: str) -> ValueError:
        """Return the error that lists the allowed values: words, and others."""
        words = ", ".join(self.words)
        return ValueError(
            f"{given!r}: give " + (f"{words}, or {others}" if words and others else others or f"one of {words}")
        )

    @property
    def written(self) -> str:
        """The values as written in the help."""
        words = self.words if len(self.words) <= 8 else ("word",)  # more do not fit on a line
        return "|".join(filter(None, (*words, self.metavar)))

    @property
    def documented(self) -> str:
        """The type of a parameter, as written in the documentation."""
        words = ", ".join(f'"{word}"' for word in self.words).join("{}") if self.words else ""
        return " or ".join(filter(None, (words, self.type)))


@dataclass(frozen=True)
class Real(Kind):
    """A finite number from `least` to `most`; None: no upper limit."""

    least: float
    most: float | None = None
    metavar = "number"
    type = "float"
    _type: ClassVar[tuple[Any, Callable[[Any], float]]] = numbers.Real, float
    _called: ClassVar[str] = "a number"

    def _of_text(self, text: str) -> Any:
        if percentage := _PERCENTAGE.fullmatch(text):
            raise ValueError(f"{text!r} is a percentage: write {float(percentage[1]) / 100:g}")
        try:
            return self._type[1](text)
        except ValueError:
            return math.nan

    def _checked(self, value: Any, given: Any) -> Any:
        of_type, plain = self._type
        if not isinstance(value, of_type) or isinstance(value, bool) or not self.includes(value):
            is_beyond = isinstance(value, int) and self.most is not None and value > self.most > _MOST_SHOWN
            raise self._refused(given, f"{self._called} " + (f"up to {self.most:,}" if is_beyond else self.range))
        return plain(value)

    def includes(self, value: Any) -> Any:
        """Whether a number, or each number in an array, is finite and in the range."""
        return (self.least <= value) & ((value < math.inf) if self.most is None else (value <= self.most))

    @property
    def range(self) -> str:  # type: ignore[override]
        """The range in words: ``from 0 to 1``."""
        least, most = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (self.least, self.most or 0))
        if self.least == LEAST_FREQUENCY:
            return f"above 0 and at most {most}"
        has_most = self.most is not None and (self.type == "float" or self.most <= _MOST_SHOWN)
        return f"from {least}" + f" to {most}" * has_most


class Integer(Real):
    """A whole number."""

    metavar = "n"
    type = "int"
    _type = numbers.Integral, int
    _called = "a whole number"


class Threads(Integer):
    """A number of threads, at most one per core, since more gain nothing and may be refused; -1: one per core."""

    def _checked(self, value: Any, given: Any) -> int:
        if not (jobs := super()._checked(value, given)):
            raise ValueError("0: give a whole number from 1, or -1 for one thread per core")
        return min(jobs, os.cpu_count() or 1)


@dataclass(frozen=True)
class Span(Kind):
    """Two whole numbers, the first not above the second, from `least` to `most`; written ``1-2``."""

    least: int
    most: int
    metavar = "from-to"
    type = "(int, int)"

    def _of_text(self, text: str) -> tuple[int, ...]:
        parts = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
        return tuple(map(int, parts.groups())) if parts else ()

    def _checked(self, value: Any, given: Any) -> tuple[int, int]:
        pair = tuple(value) if isinstance(value, list | tuple) else ()
        whole = len(pair) == 2 and all(isinstance(end, numbers.Integral) for end in pair)
        if not (whole and self.least <= pair[0] <= pair[1] <= self.most):
            example = "" if given is value else ", such as 1-2"
            ends = f"from {self.least} to {self.most}, the smaller one first{example}"
            raise self._refused(given, f"two whole numbers {ends}")
        return int(pair[0]), int(pair[1])


@dataclass(frozen=True)
class PerLabel(Real):
    """A number, or one for each label: an array from Python, a file on the command line."""

    some: bool = False  # whether NaN is allowed for labels whose number is unknown
    metavar = "number|file"
    of_file = " A file has one line `label c` per label."

    @property
    def type(self) -> str:  # type: ignore[override]
        """The type of a parameter."""
        others = "dict by the name of the label (NaN or absent: estimated)"
        return "float, array_like of shape (q,)" + (f" or {others}" if self.some else "")

    def parse(self, text: str) -> Any:
        """Return the number, or the path of the file. A missing file is refused before any data are read."""
        try:
            return super().parse(text)
        except ValueError as error:
            if text and Path(text).exists():
                return Path(text)
            if _PERCENTAGE.fullmatch(text):
                raise
            raise ValueError(f"{error}, or a file that exists") from None

    def _checked(self, value: Any, given: Any) -> Any:
        import numpy as np  # not at the top, so that the help need not wait for it

        if np.ndim(value) == 0:
            return super()._checked(value, given)
        try:
            each = np.asarray(value, float)
        except (TypeError, ValueError):
            raise self._refused(value, "a number, or one number for each label") from None
        if not (self.includes(each) | (self.some & np.isnan(each))).all():
            raise ValueError(f"an array: give numbers {self.range}")
        return each


def checked(kind: Kind, name: str, value: Any) -> Any:
    """Check a value from Python for a parameter of this name, and return it as a plain Python value.

    Raises DataError (it has the wrong type, or is out of range).
    """
    try:
        return kind.check(value)
    except ValueError as error:
        raise DataError(f"{name} is {error}") from None


def columns_of(values: Any) -> list[Any] | None:
    """Return the column names of a data frame, or the index of a series; None if it has none."""
    columns = getattr(values, "columns", getattr(values, "index", None))
    return None if columns is None or callable(columns) else list(columns)


def in_order_of(names: Any, values: Any, name: str, whose: str = "y") -> Any:
    """Return a data frame with its columns, or a series, in the order of these names; others unchanged.

    Names that are 0, 1, 2 and so on, or None, are numbers of columns: they match only the same numbers, in any order.
    """
    own = columns_of(values)
    if own is None:
        return values
    wanted = list(range(len(own))) if names is None else list(names)
    different = [*(Counter(wanted) - Counter(own)), *(Counter(own) - Counter(wanted))]
    if wanted == own or len(wanted) != len(own) or (different and list(range(len(own))) in (own, wanted)):
        return values  # what has another shape may broadcast, or is refused for its shape
    if different:
        raise DataError(
            f"{name} and {whose} differ in their columns: {different[0]!r} is not in both; give the same, or an array"
        )
    return values[wanted]


PROBABILITY = Real(0, 1)
FREQUENCY = Real(LEAST_FREQUENCY, 1)
POSITIVE = Real(LEAST_POSITIVE, LARGEST_POSITIVE)
WEIGHT = Real(LEAST_WEIGHT, LARGEST_WEIGHT)
WEIGHT_OR_0 = Real(0, LARGEST_WEIGHT)

# Constants of the propensity model in `mpu_cli.evaluation.metrics`; nothing overflows within these ranges. The
# defaults are those of Jain et al. for all collections except Amazon (0.6, 2.6) and Wikipedia (0.5, 0.4).
PROPENSITY_A, PROPENSITY_A_RANGE = 0.55, Real(0, 10)
PROPENSITY_B, PROPENSITY_B_RANGE = 1.5, Real(0.001, 1e6)


@dataclass(frozen=True)
class Option:
    """The declaration of an option in a field."""

    name: str  # as in Python; the command line has hyphens instead of underscores
    kind: Kind
    default: Any  # None if the value is chosen automatically: written as `AUTO` if the kind has that word
    help: str
    letter: str | None = None  # A second name on the command line, such as "j" for ``-j``

    @property
    def has_auto(self) -> bool:
        """Whether None is written as `AUTO`."""
        return AUTO in self.kind.words

    def check(self, value: Any) -> Any:
        """Return a value from Python as a plain Python value, `AUTO` as None; DataError as for `checked`."""
        if value is None and self.default is None and not self.has_auto:
            return None
        return checked(self.kind, self.name, value)

    @property
    def written_default(self) -> Any:
        """The default as users write it."""
        return AUTO if self.default is None and self.has_auto else self.default


def declared(kind: Kind, default: Any, help: str, letter: str | None = None) -> Any:
    """Return a dataclass field that declares an option."""
    return field(default=default, metadata={"kind": kind, "help": help, "letter": letter})


def options_of(declaration: type) -> dict[str, Option]:
    """Return the options that a dataclass declares, by name: its own first, then the inherited ones."""
    declared = {f.name: Option(f.name, default=f.default, **f.metadata) for f in fields(declaration) if f.metadata}
    own_first = [name for part in declaration.__mro__ for name in inspect.get_annotations(part)]
    return {name: declared[name] for name in own_first if name in declared}


Estimator = TypeVar("Estimator", bound=type)


def with_parameters(options: Iterable[Option]) -> Callable[[Estimator], Estimator]:
    """Return a class decorator that adds declared options to an estimator's parameters, before its constructor's own.

    ``{parameters}`` in its docstring is replaced by their description. The constructor takes them as keywords.
    """
    options = tuple(options)

    def decorate(estimator: Estimator) -> Estimator:
        own = vars(estimator)["__init__"]
        self, *others, _ = inspect.signature(own).parameters.values()  # the last one represents the declared options
        taken = [
            inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.written_default)
            for option in options
        ]

        @wraps(own)
        def constructor(self: Any, **given: Any) -> None:
            if unknown := given.keys() - {parameter.name for parameter in (*taken, *others)}:
                raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
            for option in options:
                setattr(self, option.name, given.pop(option.name, option.written_default))
            own(self, **given)

        constructor.__signature__ = inspect.Signature([self, *taken, *others])  # type: ignore[attr-defined]
        estimator.__init__ = constructor  # type: ignore[misc]
        if estimator.__doc__:  # absent with python -OO
            estimator.__doc__ = inspect.cleandoc(estimator.__doc__).replace("{parameters}", _described(options))
        return estimator

    return decorate


def _described(options: Iterable[Option]) -> str:
    entries = []
    for option in options:
        kind = option.kind.documented + " or None" * (option.default is None and not option.has_auto)
        text = textwrap.fill(option.help, 112, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        entries.append(f"{option.name} : {kind}\n{text}")
    return "\n".join(entries)
