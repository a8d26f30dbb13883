"""Progress: on a terminal a bar that is gone in the end."""

import re
import time
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from unittest.mock import patch

import pytest

from mpu_cli.__main__ import main
from mpu_cli.cli import messages
from tests.cli.terminal import on_terminal
from tests.cli.training import QUICK

LINEAR = "--features", "linear", "--folds", 2


def slowed(function: str, seconds: float) -> None:
    """Run `mpu`, in which a function takes so much longer."""
    original = resolve_name(function)

    def slowly(*arguments):
        time.sleep(seconds)
        return original(*arguments)

    with patch(function, slowly):
        main()


with_slow_estimates = partial(slowed, "mpu_cli.core.sample.estimate", 1.5)
with_slow_reads = partial(slowed, "mpu_cli.runtime.files.ReadFile.readinto", 1)


def with_slow_ticks() -> None:
    """Run `mpu`, in which each part of a step takes a second."""

    @contextmanager
    def slowly(name, total, bar=messages._bar):
        with bar(name, total) as count:
            yield lambda: (time.sleep(1), count())

    with patch.object(messages, "_bar", slowly):
        main()


@pytest.fixture
def small(file):
    return file("".join(f"1 1:1 {i}:1\n2 2:1 {i}:1\n1,2 1:1 2:1 {i}:1\n" for i in range(3, 33)), "small.svm")


def test_a_terminal_keeps_the_report_alone(small):
    session = on_terminal(["train", small, *QUICK])
    assert session.status == 0
    assert session.screen[0].startswith("data ")
    assert session.screen[-1].startswith("model ")
    assert len(session.screen) == 7


def test_a_step_of_more_than_a_second_has_a_bar(small):
    session = on_terminal(["estimate-c", small, *LINEAR], with_slow_estimates)
    assert session.status == 0
    assert {"estimating c: 00:00", "estimating c: 00:01"} <= {part.rstrip() for part in session.written.split("\r")}
    assert session.screen[0].startswith("label frequency c")


@pytest.mark.slow  # steps of seconds
def test_a_bar_of_known_length_has_the_time_left(small):
    session = on_terminal(["estimate-c", small, *LINEAR], with_slow_ticks)
    assert re.search(r"predicting out of fold: +\d+%\|.*\| 00:0\d, .* left", session.written)
    assert session.screen[0].startswith("label frequency c")


@pytest.mark.slow  # steps of seconds
def test_reading_is_counted_in_bytes(small):
    session = on_terminal(["train", small, *QUICK], with_slow_reads)
    assert re.search(r"reading data: +100%\|", session.written)


def test_an_error_removes_the_line(small):
    small.write_text("1 1:1\n" * 1000 + "word 1:1\n")
    session = on_terminal(["train", small])
    assert (session.status, len(session.screen)) == (1, 1)
    assert session.screen[0].startswith("error: ")


@pytest.mark.slow  # steps of seconds
def test_nothing_is_drawn_quietly_or_on_a_dumb_terminal(small):
    estimate = ["estimate-c", small, *LINEAR]
    session = on_terminal([*estimate, "-q"], with_slow_estimates)
    assert session.written.startswith("label frequency c")
    session = on_terminal(estimate, with_slow_estimates, TERM="dumb")
    assert "\x1b" not in session.written
    assert session.screen[0].startswith("label frequency c")


def test_predict_counts_instances_unless_predictions_go_to_the_terminal(run, small, tmp_path):
    run.ok("train", small, *QUICK, "-q")
    model = small.with_suffix(".mpu")
    session = on_terminal(["predict", model, small, "-o", tmp_path / "tags.txt"])
    assert (session.status, session.screen) == (0, [])
    session = on_terminal(["predict", model, small])
    assert "predicting" not in session.written
    assert len(session.screen) == 90
