"""What is said on standard error: messages, progress and failures, as text or as JSON lines."""

import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from unicodedata import category

import click

from mpu_cli.runtime import signals

# Unicode categories: control characters, line and paragraph separators.
_CONTROLS = ("Cc", "Zl", "Zp")
_QUIET, _NORMAL, _VERBOSE = -1, 0, 1


@dataclass
class _Manner:
    """How this process speaks. Worker threads speak too, so it is not kept in click's context, which is a thread's."""

    verbosity: int = _NORMAL
    as_json: bool = False


_manner = _Manner()


def reset() -> None:
    """Speak in text and at normal length, until options say otherwise."""
    global _manner
    _manner = _Manner()


def log_format_option(function: Callable) -> Callable:
    """``--log-format``: text or JSON lines on standard error. Not passed on to the command."""

    def remember(_ctx: click.Context, _param: click.Parameter, value: str) -> None:
        _manner.as_json = value == "json"
        _listen()

    return click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=remember,
        expose_value=False,
        is_eager=True,  # before any option that may be wrong
        help="Messages on standard error as text, or as one JSON object a line with the time (UTC).",
    )(function)


def verbosity_options(function: Callable) -> Callable:
    """``-q``, ``-v`` and ``--log-format``: what `detail` and `info` show, and how. Not passed on to the command."""

    def level(verbosity: int) -> Callable:
        def remember(_ctx: click.Context, _param: click.Parameter, given: bool) -> None:
            if given:
                _manner.verbosity = verbosity

        return remember

    def flag(short: str, long: str, verbosity: int, text: str) -> Callable[[Callable], Callable]:
        return click.option(short, long, is_flag=True, expose_value=False, callback=level(verbosity), help=text)

    quiet = flag("-q", "--quiet", _QUIET, "Only warnings and errors.")
    verbose = flag("-v", "--verbose", _VERBOSE, "More on standard error.")
    return quiet(verbose(log_format_option(function)))


def is_quiet() -> bool:
    """Whether ``--quiet`` was given."""
    return _manner.verbosity < _NORMAL


def on_terminal() -> bool:
    """Whether people watch standard error, so that a bar can be shown there."""
    return not _manner.as_json and bool(sys.stderr) and sys.stderr.isatty()  # None where it is closed


def error(message: str) -> None:
    """Say what went wrong, in one line."""
    _say("error", f"error: {message}", message=message)


def warn(message: str, **counts: int) -> None:
    """Print a warning, also with ``--quiet``; the counts that are in it are fields of their own in JSON."""
    _say("warning", f"warning: {message}", message=message, **counts)


def info(message: str, **counts: int) -> None:
    """Print a message, unless ``--quiet``; counts as for `warn`."""
    if _manner.verbosity >= _NORMAL:
        _say("info", message, message=message, **counts)


def detail(message: str, **counts: int) -> None:
    """Print a message with ``--verbose``; counts as for `warn`."""
    if _manner.verbosity >= _VERBOSE:
        _say("debug", message, message=message, **counts)


@contextmanager
def progress(step: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a step: as a bar on a terminal, as a line when it is done otherwise.

    Parameters
    ----------
    step : str
        What is being done.
    ticks : int, optional
        How many ticks it will make.

    Yields
    ------
    callable
        To be called once per tick.
    """
    if is_quiet():
        yield lambda: None
    elif on_terminal():
        from tqdm import tqdm

        with tqdm(desc=step, total=ticks) as bar:

            def advance() -> None:
                bar.update()

            yield advance
    else:
        start = time.perf_counter()
        made = itertools.count()

        def count() -> None:
            next(made)

        yield count
        seconds = time.perf_counter() - start
        _say("info", f"{step}: {seconds:.1f} s", step=step, ticks=next(made), seconds=round(seconds, 3))


def wrong_usage(error: click.UsageError, args: list[str]) -> None:
    """Say what is wrong about the arguments of a command, which may have kept ``--log-format`` from being seen."""
    words = [word for argument in args for word in argument.split("=", 1)]
    _manner.as_json |= ("--log-format", "json") in itertools.pairwise(words)
    if _manner.as_json:
        _say("error", "", message=error.format_message())
    else:
        error.message = one_line(error.message)  # type: ignore[misc]  # click has it final, and shows nothing else
        error.show()


def one_line(text: str) -> str:
    """Escape what would end a line, or steer the terminal: names of files and labels may hold anything."""
    return "".join(repr(character)[1:-1] if category(character) in _CONTROLS else character for character in text)


def _say(level: str, text: str, **fields: str | float) -> None:
    click.echo(_json_line(level, fields) if _manner.as_json else one_line(text), err=True)


def _json_line(level: str, fields: dict) -> str:
    return json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, **fields})


def last_words(text: str) -> None:
    """Say what ended the process, without waiting for what another thread may be writing."""
    line = _json_line("error", {"message": text}) if _manner.as_json else text
    os.write(2, line.encode() + b"\n")


class _Spoken(logging.Handler):
    """Says what the library logs, with its counts if there are any, and the warnings of Python."""

    def emit(self, record: logging.LogRecord) -> None:
        say = {logging.DEBUG: detail, logging.INFO: info}.get(record.levelno, warn)
        say(" ".join(record.getMessage().split()), **getattr(record, "counts", {}))


def _listen() -> None:
    signals.say_by(last_words)
    logging.captureWarnings(True)
    for name in ("mpu_cli", "py.warnings"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.handlers = [_Spoken()]
