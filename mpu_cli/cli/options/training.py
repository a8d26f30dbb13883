"""The options of ``mpu train``: those of methods, ``--accept-on``, and the help that lists all of them in groups."""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mpu_cli import methods
from mpu_cli.cli.options import click_option, file_option, options_from
from mpu_cli.commands.train.acceptance import Acceptance
from mpu_cli.errors import STANDARD_STREAM
from mpu_cli.runtime.options import options_of


def training_options(function: Callable) -> Callable:
    """Add ``--method NAME`` and the options of all methods.

    The command gets `method`, and `options`, an instance of that method's options. An option of another method is wrong
    usage.
    """
    declared = methods.options()

    @wraps(function)
    def with_options(*args: Any, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in declared}
        ctx = click.get_current_context()
        method = values["method"]
        if _is_set(ctx, "estimator") and not _is_set(ctx, "method"):
            (method,) = methods.owners("estimator")
        _refuse_others(ctx, method)
        declaration = methods.METHODS[method].options
        options = declaration(**{name: values[name] for name in options_of(declaration)})
        return function(*args, method=method, options=options, **kwargs)

    command: Callable = with_options
    for option in reversed(declared.values()):
        command = click_option(option)(command)
    return command


def _is_set(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def _refuse_others(ctx: click.Context, method: str) -> None:
    for param in ctx.command.params:
        if _is_set(ctx, param.name) and method not in methods.owners(param.name):
            owners = " and ".join(methods.owners(param.name))
            raise click.UsageError(f"{param.opts[-1]} is an option of {owners}, not of {method}.")


def acceptance_options(function: Callable) -> Callable:
    """Add ``--accept-on`` and what `Acceptance` declares; the command gets `acceptance`, one of these or None."""
    declared = options_of(Acceptance)

    @file_option(
        "--accept-on",
        metavar="TEST.svm",
        help="Replace the model only if the new one is not worse on TEST.svm, whose labels are complete and which is "
        "not trained on. Otherwise the present one stays, and the exit status is 3. See `mpu versions`.",
    )
    @options_from(Acceptance)
    @wraps(function)
    def command(*args: Any, accept_on: str | None, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in declared}
        ctx = click.get_current_context()
        chosen = [name for name in declared if _is_set(ctx, name)]
        if accept_on is None and chosen:
            raise click.UsageError(f"--{chosen[0].replace('_', '-')} needs --accept-on TEST.svm.")
        if accept_on is not None and (accept_on == STANDARD_STREAM or Path(accept_on).is_fifo()):
            raise click.UsageError("--accept-on is read again for each model: it must be a file.")
        acceptance = None if accept_on is None else Acceptance(test=accept_on, **values)
        return function(*args, acceptance=acceptance, **kwargs)

    return command


_COMMON = "Common options"
_OTHERS = "Other methods"


class GroupedCommand(click.Command):
    """A command with many options.

    Parameters
    ----------
    common : str
        The options that most need, by their long names with underscores: what they are comes first, in a sentence.
    groups : mapping of str to str
        The options of each group. Those that are in none are of other methods.
    """

    def __init__(self, *args: Any, common: str, groups: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.common = common.split()
        self.groups = {title: names.split() for title, names in groups.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {_long_name(option): option.get_help_record(ctx) or ("", "") for option in options}
        others = [name for name in records if not any(name in names for names in self.groups.values())]
        with formatter.section(_COMMON):
            formatter.write_dl([(records[name][0], _first_words(records[name][1])) for name in self.common])
        for title, names in {**self.groups, _OTHERS: others}.items():
            with formatter.section(title):
                formatter.write_dl([records[name] for name in names])


def _long_name(option: click.Option) -> str:
    return option.opts[-1].strip("-").replace("-", "_")


def _first_words(text: str) -> str:
    return re.split(r"[.:;] ", text, maxsplit=1)[0].removesuffix(".") + "."
