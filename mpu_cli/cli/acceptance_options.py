"""``--accept-on`` and the options that go with it: by what a new model takes the place of the present one."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mpu_cli.cli.options import options_from
from mpu_cli.commands.train.acceptance import Acceptance
from mpu_cli.errors import STANDARD_STREAM
from mpu_cli.runtime.options import options_of


def acceptance_options(function: Callable) -> Callable:
    """Add ``--accept-on`` and what `Acceptance` declares; the command gets `acceptance`, one of these or None."""
    declared = options_of(Acceptance)

    @click.option(
        "--accept-on",
        metavar="TEST.svm",
        type=click.Path(allow_dash=True),
        help="Replace the model only if the new one is not worse on TEST.svm, whose labels are complete and which no "
        "training sees. Otherwise the present one stays, and the exit status is 3. See `mpu versions`.",
    )
    @options_from(Acceptance)
    @wraps(function)
    def command(*args: Any, accept_on: str | None, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in declared}
        ctx = click.get_current_context()
        given = [name for name in declared if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
        if accept_on is None and given:
            raise click.UsageError(f"--{given[0].replace('_', '-')} needs --accept-on TEST.svm.")
        if accept_on is not None and (accept_on == STANDARD_STREAM or Path(accept_on).is_fifo()):
            raise click.UsageError("--accept-on is read again for each model: it must be a file.")
        acceptance = None if accept_on is None else Acceptance(test=accept_on, **values)
        return function(*args, acceptance=acceptance, **kwargs)

    return command
