"""Code that the subcommands share: clean errors, common options, messages and JSON reports."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import NoReturn

import click

from mpu_cli.cli import messages
from mpu_cli.cli.options import click_type
from mpu_cli.errors import MpuError, one_line
from mpu_cli.runtime import signals
from mpu_cli.runtime.options import Real, Whole
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES, Reading

PIPE_CLOSED = 141  # as of a process that SIGPIPE has ended
MOST_LINE_BYTES = 1 << 30  # positions within a block of lines are 32-bit numbers


class CleanErrors(click.Group):
    """A group of commands. A failure that a user can mend prints one line on standard error and exits with a status.

    0: done. 1: bad data, or a failed run. 2: wrong usage. 3: the new model was rejected. 75: another process uses the
    same files; try again later. 141: the reader of the output has closed it. `mpu_cli.runtime.signals` handles signals
    (129, 130, 143).
    """

    def main(self, *args, **kwargs):
        """Run as click does. What comes before the command (help, completion) can fail too."""
        try:
            with _reported_failures():
                return super().main(*args, **kwargs)
        except click.exceptions.Exit as end:  # click itself has done with those of commands
            sys.exit(end.exit_code)

    def make_context(self, *args, **kwargs) -> click.Context:
        """Read the options of the group. Click itself would exit with status 1 if the reader of the help has gone."""
        with _reported_failures():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context):
        """Run the subcommand. Turn errors that a user can mend into a message and an exit status."""
        messages.reset()
        args = list(ctx.args)
        try:
            with _reported_failures():
                return super().invoke(ctx)
        except click.UsageError as error:
            signals.too_late()
            messages.wrong_usage(error, args)
            ctx.exit(error.exit_code)


@contextmanager
def _reported_failures() -> Iterator[None]:
    """Print an error that a user can mend in one line, and exit."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(PIPE_CLOSED) from None
    except MpuError as error:
        fail(str(error), error.exit_status)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except MemoryError as error:
        fail(f"out of memory: {error}" if str(error) else "out of memory")


def fail(message: str, status: int = 1) -> NoReturn:
    """Print an error in one line, and exit."""
    signals.too_late()
    messages.error(message)
    raise click.exceptions.Exit(status)


def json_option(function: Callable) -> Callable:
    """``--json``: print the report as one JSON object."""
    return click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")(function)


def wait_option(function: Callable) -> Callable:
    """``--wait SECONDS``: for another training of the same model to end."""
    return click.option(
        "--wait",
        type=click_type(Real(0)),
        default=0,
        show_default=True,
        metavar="SECONDS",
        help="Wait this long for another training of the same model to end, then exit with status 75.",
    )(function)


def max_line_bytes_option(function: Callable) -> Callable:
    """``--max-line-bytes N``."""
    return click.option(
        "--max-line-bytes",
        type=click_type(Whole(1, MOST_LINE_BYTES)),
        default=MAX_LINE_BYTES,
        show_default=True,
        metavar="N",
        help="Longest line that is accepted, in bytes.",
    )(function)


def reading_options(function: Callable) -> Callable:
    """``--implicit-values`` and ``--max-line-bytes N``. The command gets them as one `Reading`."""

    @wraps(function)
    def command(*args, implicit_values: bool, max_line_bytes: int, **kwargs):
        return function(*args, reading=Reading(implicit_values, max_line_bytes), **kwargs)

    implicit_values = click.option(
        "--implicit-values",
        is_flag=True,
        help="Read a feature index without a colon as a feature with value 1. Without this option it is an error.",
    )
    return implicit_values(max_line_bytes_option(command))


def print_json(report: dict) -> None:
    """Print a report as one JSON object. Keys keep their order; NaN is printed as null."""
    click.echo(json.dumps(_without_nan(report), allow_nan=False))


def log_report(report: dict) -> None:
    """Print a report as the last message on standard error, where messages are JSON lines; otherwise nothing."""
    messages.report(_without_nan(report))


def _without_nan(value):
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value


def print_table(rows: list[list]) -> None:
    """Print rows of equal length in aligned columns. The first column is aligned left, the others right."""
    cells = [[f"{cell:.4f}" if isinstance(cell, float) else one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        line = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(line).rstrip())
