"""A kind of option takes the same values as texts and from Python."""

import pytest

from mpu_cli.errors import DataError
from mpu_cli.runtime import options
from tests.golden import refused

SAME = [
    (options.Integer(1, 100), "100", 100),
    (options.Real(0, 1), "0.25", 0.25),
    (options.Real(0), "1e300", 1e300),
    (options.Span(1, 5), "1-2", [1, 2]),
    (options.Kind(words=("a", "b")), "b", "b"),
    (options.Integer(1, words=(options.AUTO,)), "auto", "auto"),
    (options.Integer(1, words=(options.AUTO,)), "3", 3),
    (options.Real(0, 1, words=("best",)), "best", "best"),
    (options.PerLabel(options.LEAST_FREQUENCY, 1), "1", 1),
    (options.Threads(-1), "1", 1),
]
NEITHER = [
    (options.Integer(1, 100), "101", 101),
    (options.Integer(1), "1.5", 1.5),
    (options.Real(0), "inf", float("inf")),
    (options.Real(0, 1), "nan", float("nan")),
    (options.FREQUENCY, "0", 0),
    (options.Span(1, 5), "2-1", (2, 1)),
    (options.Kind(words=("a", "b")), "c", "c"),
    (options.Integer(1, words=(options.AUTO,)), "0", 0),
    (options.PerLabel(options.LEAST_FREQUENCY, 1), "2", 2),
    (options.PerLabel(options.LEAST_FREQUENCY, 1), "no-such-file", [0.5, 2]),
    (options.Threads(-1), "0", 0),
    (options.Threads(-1), "-2", -2),
    (options.Integer(1, 100), "9" * 400, int("9" * 400)),
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
        options.checked(kind, "it", value)
