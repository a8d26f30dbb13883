"""What the subcommands share: clean errors, common options, messages and JSON reports."""

import json
import sys
from collections.abc import Callable

import click

from mpu_cli.errors import MpuError

INTERRUPTED = 130


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
            fail(ctx, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except MemoryError as error:
            fail(ctx, f"out of memory: {error}" if str(error) else "out of memory")
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)


def fail(ctx: click.Context, message: str) -> None:
    """Say what went wrong, in one line, and exit with status 1."""
    click.echo(f"error: {message}", err=True)
    ctx.exit(1)


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


def verbosity_options(function: Callable) -> Callable:
    """``-q`` and ``-v``, passed on as one number: -1 quiet, 0 normal, 1 verbose."""
    quiet = click.option("-q", "--quiet", is_flag=True, help="Say nothing but warnings and errors.")
    verbose = click.option("-v", "--verbose", is_flag=True, help="Say more on standard error.")
    return quiet(verbose(function))


def implicit_values_option(function: Callable) -> Callable:
    """``--implicit-values``: a feature index without a value means 1."""
    return click.option(
        "--implicit-values",
        is_flag=True,
        help="Read a feature index without a colon as the value 1 (otherwise an error).",
    )(function)


def warn(message: str) -> None:
    """Print a warning; it shows even with ``--quiet``."""
    click.echo(f"warning: {message}", err=True)


def print_json(report: dict) -> None:
    """Print a report as one JSON object, keys in the order given, NaN as null."""
    json.dump(_without_nan(report), sys.stdout, allow_nan=False)
    click.echo()


def _without_nan(value):
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value
