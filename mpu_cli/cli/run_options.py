"""The options that make up a `Run`, and ``--cache``."""

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

from mpu_cli.cli.options import click_option
from mpu_cli.cli.progress import progress
from mpu_cli.runtime.options import MOST_BYTES, RunOptions, options_of

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


_OPTIONS: dict[str, Callable[[Callable], Callable]] = {
    **{name: click_option(option) for name, option in options_of(RunOptions).items()},
    "memory": click.option(
        "--memory",
        type=Size(),
        metavar="SIZE",
        help="Memory for large arrays, such as 500M or 2G. Arrays beyond it go to temporary files in $TMPDIR. The "
        "result does not depend on it. Default: half of the free memory.",
    ),
}


def run_options(*names: str) -> Callable[[Callable], Callable]:
    """Add some of ``--seed``, ``--jobs``, ``--kernel`` and ``--memory``; the command gets `run`, a `Run`."""

    def decorate(function: Callable) -> Callable:
        @wraps(function)
        def with_run(*args, **kwargs):
            from mpu_cli.runtime.run import Run

            options = {name: kwargs.pop(name) for name in names}
            if "memory" in options:
                options["empty"] = _workspace(options.pop("memory"))
            return function(*args, run=Run(**options, observe=progress), **kwargs)

        command: Callable = with_run
        for name in reversed(names):
            command = _OPTIONS[name](command)
        return command

    return decorate


def _workspace(memory: int | None) -> Callable:
    from mpu_cli.runtime.storage import Workspace, available_memory

    return Workspace(available_memory() // 2 if memory is None else memory).empty


def cache_option(function: Callable) -> Callable:
    """``--cache DIR``: a directory for parsed data."""
    return click.option(
        "--cache",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Keep the parsed data in DIR. Next time they are loaded from there, unless FILE has changed.",
    )(function)
