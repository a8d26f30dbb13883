"""The options from which a command gets one `Run`, and ``--cache``."""

import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

from mpu_cli.cli.messages import progress
from mpu_cli.runtime.ranges import MOST_BYTES

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)B?", re.IGNORECASE)


class Size(click.ParamType):
    """A number of bytes: ``500M`` is 500 million."""

    name = "size"

    def convert(self, value, param, ctx):
        """Return an int."""
        if isinstance(value, int):
            return value
        size = _SIZE.fullmatch(value)
        if not size:
            self.fail(f"{value!r} is not a size such as 500M or 2G.", param, ctx)
        number, unit = size.groups()
        return round(min(float(number) * _UNITS[unit.upper()], MOST_BYTES))


def _threads(_ctx: click.Context, _param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 threads can do nothing; -1 is one per core.")
    return min(value, os.cpu_count() or 1)  # more gain nothing, and the system may refuse them


_OPTIONS = {
    "seed": click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of the random numbers: the same seed gives the same result, byte for byte.",
    ),
    "jobs": click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=-1),
        default=-1,
        callback=_threads,
        help="Threads; -1, the default, is one per core. The result does not depend on it.",
    ),
    "kernel": click.option(
        "--kernel",
        type=click.Choice(["auto", "numpy", "numba"]),
        default="auto",
        show_default=True,
        callback=lambda _ctx, _param, value: None if value == "auto" else value,
        help="Inner loops: NumPy's, or numba's compiled ones; auto takes numba where it is installed. Machine code is "
        "kept in the directory NUMBA_CACHE_DIR, if that is set, or with the package, or in ~/.cache.",
    ),
    "memory": click.option(
        "--memory",
        type=Size(),
        metavar="SIZE",
        help="Keep this much of the data and of what is computed from them in memory (500M, 2G), and the rest in "
        "temporary files in $TMPDIR. The result does not depend on it. Default: half of the memory that is free.",
    ),
}


def run_options(*names: str) -> Callable[[Callable], Callable]:
    """Add some of ``--seed``, ``--jobs``, ``--kernel`` and ``--memory``; the command gets `run`, a `Run`."""

    def decorate(function: Callable) -> Callable:
        @wraps(function)
        def command(*args, **kwargs):
            from mpu_cli.runtime.run import Run

            given = {name: kwargs.pop(name) for name in names}
            if "memory" in given:
                given["empty"] = _workspace(given.pop("memory"))
            return function(*args, run=Run(**given, observe=progress), **kwargs)

        for name in reversed(names):
            command = _OPTIONS[name](command)
        return command

    return decorate


def _workspace(memory: int | None) -> Callable:
    from mpu_cli.runtime.storage import Workspace, available_memory

    return Workspace(available_memory() // 2 if memory is None else memory).empty


def cache_option(function: Callable) -> Callable:
    """``--cache DIR``: where parsed data are kept."""
    return click.option(
        "--cache",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Keep the parsed data in DIR, and use them next time in place of parsing FILE, unless it has changed.",
    )(function)
