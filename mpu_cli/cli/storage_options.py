"""``--memory`` and ``--cache``: where the data and what is computed from them are kept."""

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

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


def storage_options(function: Callable) -> Callable:
    """``--memory SIZE``, of which the command gets ``empty``, and ``--cache DIR`` (``cache``, a Path or None)."""

    @wraps(function)
    def command(*args, memory: int | None, **kwargs):
        from mpu_cli.runtime.storage import Workspace, available_memory

        return function(*args, empty=Workspace(available_memory() // 2 if memory is None else memory).empty, **kwargs)

    memory = click.option(
        "--memory",
        type=Size(),
        metavar="SIZE",
        help="Keep this much of the data and of what is computed from them in memory (500M, 2G), and the rest in "
        "temporary files in $TMPDIR. The result does not depend on it. Default: half of the memory that is free.",
    )
    cache = click.option(
        "--cache",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Keep the parsed data in DIR, and use them next time in place of parsing FILE, unless it has changed.",
    )
    return memory(cache(command))
