"""Output of commands: reports on standard output, messages and progress on standard error, as text or as JSON.

A report is a dictionary that may contain dataclasses; docs/reports.md describes the fields. A report that cannot be
written is an error; a lost log line is not. So a training does not fail because the disk with its log is full, and a
lost report does not look like success. Characters that a stream's encoding cannot represent are escaped.

Progress is a bar on a terminal, removed at the end; elsewhere, with -v, one line per step.
"""

import io
import itertools
import json
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from mpu_cli.errors import MpuError, abridged, as_unicode, for_terminal, without_secrets
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import STDERR, STDIN, STDOUT, ReadFile, reads_counted
from mpu_cli.runtime.run import Bytes

QUESTIONS = "mpu suggest FILE --questions 40"
_WIDE, _TIMES = 0.2, 2.0  # an interval of c is wide from this width, or ratio of its ends
_MOST_LISTED = 20  # items of a list
_MOST_WARNINGS = 1000  # in a report; a service may warn for years


@dataclass
class _Manner:
    """How this process prints messages. Not in click's context, which belongs to one thread: workers print too."""

    log_format: str = "text"  # this and the following are values of options
    quiet: bool = False
    verbose: bool = False
    accept_warning: tuple[str, ...] = ()
    json: bool = False
    context: click.Context | None = None  # of the command, once its options are read
    warnings: list[str] = field(default_factory=list)
    once: set[str] = field(default_factory=set)  # printed messages that must not be repeated
    with_time: bool = False  # whether text lines begin with the time, which JSON lines always contain

    @property
    def logs_json(self) -> bool:
        """Whether messages are JSON."""
        return self.log_format == "json"


_manner = _Manner()


def reset(args: list[str]) -> None:
    """Reset to normal verbosity, until the options are read from the arguments. Print the logs of libraries too."""
    global _manner
    words = itertools.pairwise(word for argument in args for word in argument.split("=", 1))
    _manner = _Manner("json" if ("--log-format", "json") in words else "text")
    signals.say = last_words
    logging.captureWarnings(True)
    for name in ("mpu_cli", "py.warnings", "uvicorn"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.handlers = [_Spoken()]


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value and option.name in ("quiet", "verbose"):  # the last one counts
        _manner.quiet = _manner.verbose = False
    setattr(_manner, str(option.name), value)
    _manner.context = context


# These options are not passed on to the command.
_option = partial(click.Option, callback=_remember, expose_value=False)
MESSAGE_OPTIONS = [
    _option(["-q", "--quiet"], is_flag=True, help="Print only warnings, errors and results."),
    _option(["-v", "--verbose"], is_flag=True, help="Print more messages."),
    _option(
        ["--accept-warning"], multiple=True, metavar="WORDS", help="Hide warnings that contain WORDS. Can be repeated."
    ),
    _option(
        ["--log-format"],
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        is_eager=True,
        help="Format of messages on standard error.",
    ),
]
json_option = _option(["--json"], is_flag=True, help="Print the report as JSON.")


def reports_are_json() -> bool:
    """Whether the user has set ``--json``."""
    return _manner.json


def show_times() -> None:
    """Begin each text line with the time from now on."""
    _manner.with_time = True


def is_quiet() -> bool:
    """Whether the user has set ``--quiet``."""
    return _manner.quiet


def on_terminal() -> bool:
    """Whether standard error is a terminal that shows text, so that a line can be drawn there and removed."""
    return sys.stderr.isatty() and not _manner.logs_json and os.environ.get("TERM") != "dumb"


def error(message: str) -> None:
    """Print an error in one line."""
    _say("error", f"error: {message}", message=message)


def warn(message: str, **counts: int) -> None:
    """Print a warning, even with ``--quiet``, unless the user accepts it. In a log, it names the command and its files.

    In JSON, the counts become separate fields.
    """
    if len(_manner.warnings) < _MOST_WARNINGS:
        _manner.warnings.append(for_terminal(without_secrets(message)))
    if _manner.verbose or not any(words and words in message for words in _manner.accept_warning):
        by = "" if sys.stderr.isatty() else " ".join(("", *_subject().values()))
        _say("warning", f"warning: {message}{f' [mpu{by}]' * bool(by)}", message=message, **counts)


def info(message: str, **counts: int) -> None:
    """Print a message, unless ``--quiet`` is set. Counts as for `warn`."""
    if not is_quiet():
        _say("info", message, message=message, **counts)


def detail(message: str, **counts: int) -> None:
    """Print a message if ``--verbose`` is set. Counts as for `warn`."""
    if _manner.verbose:
        _say("debug", message, message=message, **counts)


def output_report(report: dict[str, Any], printed: Callable[[dict[str, Any]], None]) -> None:
    """Print a report's warnings, then the report, as JSON or for people; also as a line in a JSON log."""
    for warning in report.get("warnings", ()):
        warn(warning)
    values = as_json(report) | {"warnings": _manner.warnings}  # all so far
    if _manner.logs_json and not is_quiet():
        _say("info", "", report=values)
    if _manner.json:
        click.echo(json.dumps(values, allow_nan=False))
    else:
        printed(report)


def first_of_all(assumption: str | None, interval: Sequence[float] | None) -> str | None:
    """Return advice if c comes from annotations alone, with an assumption, and its interval is too wide."""
    if assumption is None or not interval or interval[1] < min(interval[0] + _WIDE, interval[0] * _TIMES):
        return None
    return f"answer 40 questions, since annotations alone leave c open: {QUESTIONS}"


def present(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def rows_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table, from its columns by name."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def as_json(value: Any) -> Any:
    """Return a report, or a value in one, as JSON values: NaN is null, keys are texts.

    A dataclass field whose default is None is left out if it is None.
    """
    if is_dataclass(value) and not isinstance(value, type):
        inner = {of.name: getattr(value, of.name) for of in fields(value)}
        left_out = {of.name for of in fields(value) if of.default is None and inner[of.name] is None}
        return {name: as_json(item) for name, item in inner.items() if name not in left_out}
    if isinstance(value, Mapping):
        return {as_json(str(key)): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return as_unicode(str(value)) if isinstance(value, str | Path) else value


def print_table(rows: list[list[Any]]) -> None:
    """Print rows of equal length in aligned columns. The first column is aligned left, the others right."""
    # Sums in another order differ in the 16th digit: where they are ties, rounding to 12 first makes them the same.
    rows = [[round(cell, 12) if isinstance(cell, float) else cell for cell in row] for row in rows]
    cells = [[f"{cell:.4f}" if isinstance(cell, float) else for_terminal(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        line = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(line).rstrip())


def print_groups(rows: list[dict[str, Any]] | None) -> None:
    """Print c of each group of instances, lowest first; rows as in ``c_by_group`` of `mpu train --json`."""
    if rows:
        click.echo()
        print_rates(sorted(rows, key=itemgetter("c")), ["group", "instances", "annotations"], 0)


_NOTES = {"pooled": "c is not its own", "unreliable": "unreliable"}  # on labels and groups


def print_rates(rows: list[dict[str, Any]], names: list[str], digits: int) -> None:
    """Print c of groups or labels, with its interval and the number of missing labels, after the name columns."""
    table = [
        [
            *(row[name] for name in [*names, "c"]),
            *(row["interval"] or ["", ""]),
            "unknown" if row["missing"] is None else f"{row['missing']:,.{digits}f}",
            "c is only assumed" * (row["missing"] is None)
            or ", ".join(note for name, note in _NOTES.items() if row.get(name)),
        ]
        for row in rows
    ]
    print_table([[*names, "c", "90 % from", "to", "missing", ""], *table])


def print_lines(lines: dict[str, str]) -> None:
    """Print texts, each after its name, in two columns."""
    width = max(map(len, lines), default=0) + 2
    for name, text in lines.items():
        click.echo(f"{for_terminal(name):<{width}}{for_terminal(text)}")


def print_values(report: Any) -> None:
    """Print a report with its JSON names: its values line by line, then each list of objects as a table."""
    values = _flat(as_json(report))
    tables = {
        name: value
        for name, value in values.items()
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    }
    print_lines({name: _written(value) for name, value in values.items() if name not in tables})
    for number, (name, rows) in enumerate(tables.items(), len(values) - len(tables)):
        click.echo("\n" * bool(number) + for_terminal(name))
        flat = [present(**_flat(row)) for row in rows]
        columns = list(dict.fromkeys(column for row in flat for column in row))
        print_table([columns, *([row.get(column, "") for column in columns] for row in flat)])


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return values by name, with ``object.name`` for values in an object."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _written(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, list):
        return abridged(map(_written, value[:_MOST_LISTED]), len(value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def wrong_usage(error: click.UsageError) -> None:
    """Print a usage error."""
    _manner.context = error.ctx
    text = error.format_message()
    sentence = text if text.endswith((".", "?", ".)")) else f"{text}."
    more = "" if error.ctx is None else f" See {error.ctx.command_path} --help"
    _say("error", f"error: {sentence}{more}", message=text)


def _say(level: str, text: str, **fields: str | float | dict[str, Any]) -> None:
    if "message" in fields:  # may quote a URL
        fields["message"] = without_secrets(str(fields["message"]))
    begin = f"{_now('seconds')} " if _manner.with_time else ""
    tqdm = sys.modules.get("tqdm")  # its bars are removed meanwhile
    with nullcontext() if tqdm is None else tqdm.tqdm.external_write_mode(file=sys.stderr):
        click.echo(
            _json_line(level, fields) if _manner.logs_json else begin + for_terminal(without_secrets(text)), err=True
        )


def _json_line(level: str, fields: dict[str, Any]) -> str:
    values = {"time": _now("milliseconds"), "level": level, "pid": os.getpid(), **_subject(), **fields}
    return json.dumps(as_json(values))


def _now(precision: str) -> str:
    return datetime.now(UTC).isoformat(timespec=precision)


def arguments() -> dict[str, list[str]]:
    """Return the names of the command's model and data files, without others; empty before its options are read."""
    found: dict[str, list[str]] = {}
    if (context := _manner.context) is None:
        return found
    for argument in context.command.params:
        value = context.params.get(str(argument.name))
        names = list(map(str, value)) if isinstance(value, tuple) else [str(value)] * (value is not None)
        if isinstance(argument, click.Argument) and names:
            found.setdefault("model" if argument.name == "model" else "file", names)
    return found


def _subject() -> dict[str, str]:
    """Return the command, its model argument, and its first file."""
    command = {} if _manner.context is None else {"command": str(_manner.context.info_name)}
    return command | {name: without_secrets(first) for name, (first, *_) in arguments().items()}


_CLEARING = "\r\x1b[2K"  # go to the beginning of the line, and delete the line


def last_words(text: str) -> None:
    """Print the reason why the process ends, without waiting for another thread that may be writing."""
    line = _json_line("error", {"message": text}) if _manner.logs_json else _CLEARING * on_terminal() + text
    os.write(STDERR, line.encode() + b"\n")


class _Spoken(logging.Handler):
    """Prints log records of the library and the HTTP server, with any counts, and Python's warnings."""

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "once", False):  # files may be read more than once
            if record.getMessage() in _manner.once:
                return
            _manner.once.add(record.getMessage())
        say = {logging.DEBUG: detail, logging.INFO: info}.get(record.levelno, warn)
        say(" ".join(self.format(record).split()), **getattr(record, "counts", {}))


class _Stream(io.FileIO):
    """Standard output, with errors that name it; or standard error, which drops text that cannot be written."""

    def write(self, data: Any, /) -> int:
        try:
            return os.write(self.fileno(), data)
        except OSError as error:
            if self.fileno() == STDERR:
                return len(data)
            if isinstance(error, BrokenPipeError):  # the reader has closed the pipe, which is not an error
                raise
            raise MpuError(f"standard output: cannot be written: {error.strerror}") from error


def prepare_streams() -> None:
    """Replace `sys.stdin`, `sys.stdout` and `sys.stderr`. Call this before opening any file."""
    # Otherwise the next opened file would get the descriptor of a closed stream.
    for descriptor, mode in ((STDIN, os.O_RDONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest free descriptor; read-only, so writing a report still fails
            os.set_inheritable(descriptor, True)
    if sys.stdin is not None:  # it was open
        sys.stdin = io.TextIOWrapper(io.BufferedReader(ReadFile(STDIN, closefd=False)), "utf-8")
    for name, descriptor in (("stdout", STDOUT), ("stderr", STDERR)):
        raw, replaced = _Stream(descriptor, "wb", closefd=False), getattr(sys, name)
        encoding = "utf-8" if replaced is None else replaced.encoding
        buffer = io.BufferedWriter(raw)
        setattr(sys, name, io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=raw.isatty()))


def finish_streams() -> None:
    """Flush standard output. If that fails, keep Python from trying again: the error has been printed."""
    try:
        sys.stdout.flush()
    except (OSError, MpuError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


_SECONDS_BEFORE_A_BAR = 0.5
_SECONDS_BETWEEN_DRAWINGS = 0.25
_WITH_TOTAL = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left"
_WITHOUT_TOTAL = "{desc}: {n_fmt}, {elapsed}"
_TIME_ALONE = "{desc}: {elapsed}"
_drawing = threading.Lock()  # one bar at a time: the outer one of nested bars


@contextmanager
def progress(name: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a step: a bar on a terminal; elsewhere a line at its end, as JSON or, with ``--verbose``, as text.

    `total`: amount of work; if it is `Bytes`, the number of bytes to read from files; None: unknown.
    Yields: a function to call with the amount of newly finished work, 1 by default.
    """
    if on_terminal():
        with nullcontext(lambda by=1: None) if is_quiet() else _bar(name, total) as count:
            yield count
        return
    start, done = time.monotonic(), 0

    def tick(by: int = 1) -> None:
        nonlocal done
        done += by

    yield tick
    if _manner.verbose or (_manner.logs_json and not _manner.quiet):
        seconds = time.monotonic() - start
        _say("info", f"{name}: {seconds:.1f} s", step=name, ticks=done, seconds=round(seconds, 3))


@contextmanager
def _bar(name: str, total: int | None) -> Iterator[Callable[..., None]]:
    """Draw a bar, unless another one is being drawn; parameters as for `progress`."""
    if not _drawing.acquire(blocking=False):
        yield lambda by=1: None
        return
    from tqdm import tqdm

    bar = tqdm(
        desc=name,
        total=total,
        file=sys.stderr,
        leave=False,
        delay=_SECONDS_BEFORE_A_BAR,
        dynamic_ncols=True,
        miniters=0,
        smoothing=0,  # estimate the remaining time from the mean speed
        bar_format=_WITH_TOTAL if total else _TIME_ALONE,
    )
    end = threading.Event()

    def count(by: int = 1) -> None:
        if not total:
            bar.bar_format = _WITHOUT_TOTAL
        elif bar.n + by > bar.total:  # the total was an estimate
            bar.total = bar.n + by
        bar.update(by)

    def draw() -> None:  # since the time changes between counts
        end.wait(_SECONDS_BEFORE_A_BAR)
        while not end.wait(_SECONDS_BETWEEN_DRAWINGS):
            bar.update(0)

    drawing = threading.Thread(target=draw, daemon=True)
    drawing.start()
    try:
        with reads_counted(count) if isinstance(total, Bytes) else nullcontext():
            yield (lambda by=1: None) if isinstance(total, Bytes) else count
    finally:
        end.set()
        drawing.join()
        bar.close()
        _drawing.release()
