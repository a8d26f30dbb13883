"""A kind of option takes the same values as texts and from Python."""

import pytest

from mpu_cli.errors import DataError
from mpu_cli.runtime.options import (
    AUTO,
    FREQUENCY,
    LEAST_FREQUENCY,
    Integer,
    Kind,
    PerLabel,
    Real,
    Span,
    Threads,
    checked,
)
from tests.golden import refused

SAME = [
    (Integer(1, 100), "100", 100),
    (Real(0, 1), "0.25", 0.25),
    (Real(0), "1e300", 1e300),
    (Span(1, 5), "1-2", [1, 2]),
    (Kind(words=("a", "b")), "b", "b"),
    (Integer(1, words=(AUTO,)), "auto", "auto"),
    (Integer(1, words=(AUTO,)), "3", 3),
    (Real(0, 1, words=("best",)), "best", "best"),
    (PerLabel(LEAST_FREQUENCY, 1), "1", 1),
    (Threads(-1), "1", 1),
]
NEITHER = [
    (Integer(1, 100), "101", 101),
    (Integer(1), "1.5", 1.5),
    (Real(0), "inf", float("inf")),
    (Real(0, 1), "nan", float("nan")),
    (FREQUENCY, "0", 0),
    (Span(1, 5), "2-1", (2, 1)),
    (Kind(words=("a", "b")), "c", "c"),
    (Integer(1, words=(AUTO,)), "0", 0),
    (PerLabel(LEAST_FREQUENCY, 1), "2", 2),
    (PerLabel(LEAST_FREQUENCY, 1), "no-such-file", [0.5, 2]),
    (Threads(-1), "0", 0),
    (Threads(-1), "-2", -2),
    (Integer(1, 100), "9" * 400, int("9" * 400)),
]


@pytest.mark.parametrize(("kind", "text", "value"), SAME)
def test_a_text_and_a_value_are_the_same(kind, text, value):
    assert kind.parse(text) == kind.check(value)
    assert type(kind.parse(text)) is type(kind.check(value))


@pytest.mark.parametrize(("kind", "text", "value"), NEITHER)
def test_what_is_refused_is_so_as_text_and_from_python(kind, text, value):
    with refused(ValueError):
        kind.parse(text)
    with refused(DataError):
        checked(kind, "it", value)
