"""FILE and the other input files of a command that trains."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.common import reading_options
from mpu_cli.cli.naming_options import names_option
from mpu_cli.cli.run_options import cache_option
from mpu_cli.svmlight.grammar import Reading

if TYPE_CHECKING:
    from mpu_cli.names import Naming
    from mpu_cli.training.training_data import Sources

_READABLE = click.Path(allow_dash=True)


def training_files(function: Callable) -> Callable:
    """Add FILE, ``--reviewed``, ``--reviewed-wins``, ``--complete``, ``--cache``, and the options of names and reading.

    The command gets them as `sources`.
    """

    @names_option
    @reading_options
    @wraps(function)
    def with_sources(
        *args: Any,
        source: tuple[str, ...],
        reviewed: tuple[str, ...],
        reviewed_wins: bool,
        complete: tuple[str, ...],
        cache: Path | None,
        naming: "Naming",
        reading: Reading,
        **kwargs: Any,
    ) -> Any:
        from mpu_cli.runtime.files import refuse_repeated
        from mpu_cli.svmlight.sources import as_one
        from mpu_cli.training.training_data import Sources

        refuse_repeated("FILE", source)
        if reviewed_wins and not reviewed:
            raise click.UsageError("--reviewed-wins needs --reviewed.")
        if len(complete) > 1:
            raise click.UsageError("--complete takes one file: join them.")
        sources = Sources(as_one(source), reviewed, reviewed_wins, next(iter(complete), None), cache, naming, reading)
        return function(*args, sources=sources, **kwargs)

    options = (
        click.argument("source", metavar="FILE...", nargs=-1, required=True, type=_READABLE),
        click.option(
            "--reviewed",
            metavar="CHECKED.tsv",
            multiple=True,
            type=_READABLE,
            help="Verified labels of FILE: decisions of people, as the page of `mpu review` exports them. May be given "
            "several times.",
        ),
        click.option(
            "--reviewed-wins",
            is_flag=True,
            help="If a review says no to an annotated label, the review wins. Otherwise this is an error.",
        ),
        click.option(
            "--complete",
            metavar="MORE.svm",
            multiple=True,  # so that a second one is refused
            type=_READABLE,
            help="Learn from these instances too. Their label sets are complete.",
        ),
        cache_option,
    )
    command: Callable = with_sources
    for option in reversed(options):
        command = option(command)
    return command


def label_features_option(function: Callable) -> Callable:
    """Add ``--label-features`` to a command with `training_files`; it becomes part of its `sources`."""

    @click.option(
        "--label-features",
        metavar="LABELS.svm",
        type=click.Path(),
        help="Features of labels, such as the words of their names: a file with one line `number index:value ...` per "
        "label, whose features are numbered as those of FILE. Default: the words of the names of labels, if FILE "
        "was made by `mpu vectorize`.",
    )
    @wraps(function)
    def command(*args: Any, label_features: str | None, sources: "Sources", **kwargs: Any) -> Any:
        return function(*args, sources=replace(sources, label_features=label_features), **kwargs)

    return command
