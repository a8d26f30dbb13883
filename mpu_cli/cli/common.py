"""What the subcommands share: clean errors, common options, messages, progress and JSON reports."""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from mpu_cli.errors import MpuError

INTERRUPTED = 130
_VERBOSITY = "mpu_cli.verbosity"
_QUIET, _NORMAL, _VERBOSE = -1, 0, 1


class CleanErrors(click.Group):
    """A group in which every foreseeable failure is one line on standard error and a fixed exit status.

    0 done; 1 bad data or a failed run; 2 wrong usage (click's own); 130 interrupted.
    """

    def invoke(self, ctx: click.Context):
        """Run the subcommand; turn errors that a user can mend into a message and a status."""
        try:
            return super().invoke(ctx)
        except MpuError as error:
            fail(ctx, str(error))
        except BrokenPipeError:
            raise  # click ends quietly when a reader such as `head` has gone
        except OSError as error:
            fail(ctx, f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        except MemoryError as error:
            fail(ctx, f"out of memory: {error}" if str(error) else "out of memory")
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)


def fail(ctx: click.Context, message: str) -> None:
    """Say what went wrong, in one line, and exit with status 1."""
    click.echo(f"error: {message}", err=True)
    ctx.exit(1)


class FiniteRange(click.FloatRange):
    """A range of finite floats; click's own lets NaN through, and infinity where the range is open-ended."""

    def convert(self, value, param, ctx):
        """Convert as click does, then refuse NaN and infinity."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class AutoOr(click.ParamType):
    """A number of another type, or one of some words."""

    def __init__(self, number: click.ParamType, *words: str) -> None:
        self.number = number
        self.words = words
        self.name = "|".join((*words, "number"))

    def convert(self, value, param, ctx):
        """Return a word as it is, anything else as a number."""
        return value if value in self.words else self.number.convert(value, param, ctx)


def seed_option(function: Callable) -> Callable:
    """``--seed N``: the same seed gives the same result, byte for byte."""
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of the random numbers: the same seed gives the same result, byte for byte.",
    )(function)


def json_option(function: Callable) -> Callable:
    """``--json``: the report as one JSON object on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="Report as one JSON object on standard output.")(
        function
    )


def implicit_values_option(function: Callable) -> Callable:
    """``--implicit-values``: a feature index without a value means 1."""
    return click.option(
        "--implicit-values",
        is_flag=True,
        help="Read a feature index without a colon as the value 1 (otherwise an error).",
    )(function)


def jobs_option(function: Callable) -> Callable:
    """``-j N``: threads; the result does not depend on it."""
    return click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=-1),
        default=-1,
        callback=_threads,
        help="Threads; -1, the default, is one a core. The result does not depend on it.",
    )(function)


def _threads(_ctx: click.Context, _param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 threads can do nothing; -1 is one a core.")
    return min(value, os.cpu_count() or 1)  # more gain nothing, and the system may refuse them


def kernel_option(function: Callable) -> Callable:
    """``--kernel``: which inner loops run. Not passed on to the command."""

    def choose(_ctx: click.Context, _param: click.Parameter, value: str) -> None:
        from mpu_cli import kernels

        kernels.choose(None if value == "auto" else value)

    return click.option(
        "--kernel",
        type=click.Choice(["auto", "numpy", "numba"]),
        default="auto",
        show_default=True,
        callback=choose,
        expose_value=False,
        help="Inner loops: NumPy's, or numba's compiled ones; auto takes numba where it is installed.",
    )(function)


def validation_options(function: Callable) -> Callable:
    """``--folds M`` and ``--sample N``: how c and the settings are cross-validated."""
    folds = click.option(
        "--folds",
        type=AutoOr(click.IntRange(min=2), "auto"),
        default="auto",
        show_default=True,
        callback=lambda _ctx, _param, value: None if value == "auto" else value,
        help="Cross-validation folds; auto: 5, and 3 or 2 where there are more than 50,000 or 200,000 instances.",
    )
    sample = click.option(
        "--sample",
        type=click.IntRange(min=1),
        default=20_000,
        show_default=True,
        help="Choose c, C and eta0 by at most so many instances, drawn at random.",
    )
    return folds(sample(function))


def verbosity_options(function: Callable) -> Callable:
    """``-q`` and ``-v``: what `detail` and `info` show. Not passed on to the command."""

    def level(verbosity: int) -> Callable:
        def remember(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
            if given:
                ctx.meta[_VERBOSITY] = verbosity

        return remember

    shared = {"is_flag": True, "expose_value": False}
    quiet = click.option("-q", "--quiet", callback=level(_QUIET), help="Only warnings and errors.", **shared)
    verbose = click.option("-v", "--verbose", callback=level(_VERBOSE), help="More on standard error.", **shared)
    return quiet(verbose(function))


def _verbosity() -> int:
    return click.get_current_context().meta.get(_VERBOSITY, _NORMAL)


def is_quiet() -> bool:
    """Whether ``--quiet`` was given."""
    return _verbosity() < _NORMAL


def warn(message: str) -> None:
    """Print a warning on standard error, also with ``--quiet``."""
    click.echo(f"warning: {message}", err=True)


def info(message: str) -> None:
    """Print a message on standard error, unless ``--quiet``."""
    if _verbosity() >= _NORMAL:
        click.echo(message, err=True)


def detail(message: str) -> None:
    """Print a message on standard error with ``--verbose``."""
    if _verbosity() >= _VERBOSE:
        click.echo(message, err=True)


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
        To be called once a tick.
    """
    if is_quiet():
        yield lambda: None
    elif sys.stderr and sys.stderr.isatty():  # None where it is closed
        from tqdm import tqdm

        with tqdm(desc=step, total=ticks) as bar:
            yield bar.update
    else:
        start = time.perf_counter()
        yield lambda: None
        info(f"{step}: {time.perf_counter() - start:.1f} s")


def print_json(report: dict) -> None:
    """Print a report as one JSON object, keys in the order given, NaN as null."""
    click.echo(json.dumps(_without_nan(report), allow_nan=False))


def _without_nan(value):
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value


def print_table(rows: list[list]) -> None:
    """Print rows of equal length in aligned columns: the first to the left, the others to the right."""
    cells = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        line = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(line).rstrip())
