"""The command line: `cli.commands` defines each command's options and help; `cli.actions.NAME` does its work.

Actions are imported when a command runs, so that showing help never imports NumPy. An `MpuError` is printed here.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from mpu_cli.cli import messages
from mpu_cli.cli.commands import COMMANDS
from mpu_cli.errors import MpuError
from mpu_cli.runtime import signals
from mpu_cli.version import __version__

PIPE_CLOSED = 141  # as for a process ended by SIGPIPE


# Environment variables that are whole numbers, and the least and largest value of each.
_NUMBERS = {"SOURCE_DATE_EPOCH": (0, 253_402_300_799), "NUMBA_NUM_THREADS": (1, 100_000)}


class CleanErrors(click.Group):
    """A group of commands. A failure that a user can fix prints one line on standard error and exits with a status.

    docs/guide/formats.md, "Exit codes", lists these. `mpu_cli.runtime.signals` handles signals.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run as click does. The steps before the command (help, completion) can fail too."""
        try:
            with _reported_failures([]):
                return super().main(*args, **kwargs)
        except click.exceptions.Exit as end:  # click itself has handled those from commands
            sys.exit(end.exit_code)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **kwargs: Any) -> click.Context:
        """Read the options of the group, and ``mpu help train`` as ``mpu train --help``.

        Click itself would exit with status 1 if the reader of the help has closed the pipe.
        """
        messages.reset()
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        with _reported_failures(args):
            return super().make_context(info_name, args, *rest, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand. Turn errors that a user can fix into a message and an exit status."""
        with _reported_failures(ctx.args):
            for name, (least, largest) in _NUMBERS.items():  # otherwise a library that reads it raises a traceback
                text = os.environ.get(name)
                if text is not None and not (text.isascii() and text.isdigit() and least <= int(text[:20]) <= largest):
                    raise MpuError(
                        f"the environment variable {name} is {text[:20]!r}; unset it, or give a whole number from "
                        f"{least} to {largest}"
                    )
            return super().invoke(ctx)


@contextmanager
def _reported_failures(args: list[str]) -> Iterator[None]:
    """Print an error that a user can fix in one line, and exit. Without arguments, click prints the help."""
    args = list(args)
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        signals.too_late()
        messages.wrong_usage(error, args)
        raise click.exceptions.Exit(error.exit_code) from None
    except BrokenPipeError:
        raise click.exceptions.Exit(PIPE_CLOSED) from None
    except MpuError as error:
        fail(str(error), error.exit_status)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except MemoryError as error:
        fail(f"out of memory: {error}" if str(error) else "out of memory")
    except RuntimeError as error:
        if str(error) != signals.NO_THREAD:
            raise
        fail(signals.LIMIT_OF_THREADS)


def fail(message: str, status: int = 1) -> NoReturn:
    """Print an error in one line, and exit."""
    signals.too_late()
    messages.error(message)
    raise click.exceptions.Exit(status)


@click.group(cls=CleanErrors, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="mpu")
def mpu() -> None:
    """Learn multi-label classifiers from data in which some labels are missing.

    Data files are in LIBSVM multi-label format, plain or compressed (.gz, .bz2, .xz, .zst), here or at URLs such as
    https://... and s3://... (extra url). The name - means standard input.

    \b
    Example:
      mpu train news.svm                    # writes the model directory news.mpu
      mpu predict news.mpu new.svm -o tags.txt
    """
