"""The options of input: data files and how they are read, the other files of a command that trains, names of labels."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from mpu_cli.cli.options import click_type, file_option
from mpu_cli.runtime.options import Whole
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES, Reading

MOST_LINE_BYTES = 1 << 30  # positions within a block of lines are 32-bit numbers


max_line_bytes_option = click.option(
    "--max-line-bytes",
    type=click_type(Whole(1, MOST_LINE_BYTES)),
    default=MAX_LINE_BYTES,
    show_default=True,
    metavar="N",
    help="Longest line that is accepted, in bytes.",
)
numbers_option = click.option(
    "--numbers", "by_number", is_flag=True, help="Print numbers of labels, even if they have names."
)


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


def names_option(function: Callable, *, older: str | None = None) -> Callable:
    """Add ``--labels``, perhaps with an older name, and ``--zero-based``; the command gets a `Naming` as `naming`."""

    @wraps(function)
    def command(*args: Any, labels: str | None, zero_based: bool, **kwargs: Any) -> Any:
        from mpu_cli.names import Naming

        return function(*args, naming=Naming(labels, zero_based), **kwargs)

    file = file_option(
        "--labels",
        *([older] if older else []),
        "labels",
        metavar="NAMES",
        help="The names of labels: a text file whose line k names label k, or with lines `number<TAB>name`; further "
        "names of a label come after tabs. Default: news.text/labels or news.labels beside the data news.svm, if it "
        "exists.",
    )
    first = click.option(
        "--zero-based", is_flag=True, help="Line 1 names label 0. Default: if the data have a label 0."
    )
    return file(first(command))


def suggestible_options(function: Callable) -> Callable:
    """``--only FILE`` and ``--exclude FILE``: the command gets a `Suggestible` as `suggestible`."""

    @wraps(function)
    def command(*args: Any, only: str | None, exclude: str | None, **kwargs: Any) -> Any:
        from mpu_cli.names import Suggestible

        return function(*args, suggestible=Suggestible(only, exclude), **kwargs)

    only = file_option(
        "--only",
        metavar="LABELS",
        help="Suggest these labels alone: a text file with a label on each line, by number, name or URI. Probabilities "
        "do not change.",
    )
    exclude = file_option("--exclude", metavar="LABELS", help="Do not suggest these labels: a file as for --only.")
    return only(exclude(command))


_READABLE = click.Path(allow_dash=True)


def reviewed_options(purpose: str) -> Callable:
    """Add ``--reviewed`` with this help, and ``--on-conflict``."""

    def options(function: Callable) -> Callable:
        files = file_option(
            "--reviewed",
            metavar="CHECKED.tsv",
            multiple=True,
            help=f"{purpose} Can be repeated, as for the files of two people.",
        )
        on_conflict = click.option(
            "--on-conflict",
            type=click.Choice(["undecided", "error"]),
            default="undecided",
            show_default=True,
            help="Where two --reviewed files contradict each other, leave the label undecided, or stop.",
        )
        return files(on_conflict(function))

    return options


def training_files(function: Callable) -> Callable:
    """Add FILE, the files that say more of its labels, ``--cache``, and the options of names and reading.

    The command gets them as `sources`, with other options that fill a field of `Sources`.
    """

    @names_option
    @reading_options
    @wraps(function)
    def with_sources(*args: Any, file: tuple[str, ...], complete: tuple[str, ...], **kwargs: Any) -> Any:
        from mpu_cli.runtime.files import refuse_repeated
        from mpu_cli.svmlight.streams import as_one
        from mpu_cli.training.training_data import Sources

        refuse_repeated("FILE", file)
        if kwargs["reviewed_wins"] and not kwargs["reviewed"]:
            raise click.UsageError("--reviewed-wins needs --reviewed.")
        if len(complete) > 1:
            raise click.UsageError("--complete takes one file: join them.")
        chosen = {field.name: kwargs.pop(field.name) for field in fields(Sources) if field.name in kwargs}
        sources = Sources(as_one(file), complete=next(iter(complete), None), **chosen)
        return function(*args, sources=sources, **kwargs)

    options = (
        click.argument("file", metavar="FILE...", nargs=-1, required=True, type=_READABLE),
        reviewed_options("Verified labels of FILE: decisions of people, as the page of `mpu review` exports them."),
        click.option(
            "--reviewed-wins",
            is_flag=True,
            help="If a review says no to an annotated label, the review wins. Otherwise this is an error.",
        ),
        file_option(
            "--complete",
            metavar="MORE.svm",
            multiple=True,  # so that a second one is refused
            help="Learn from these instances too. Their label sets are complete.",
        ),
        file_option(
            "--groups",
            metavar="GROUPS",
            help="Estimate c for each group of instances, such as those of one source, year or department: a text file "
            "whose line k names the group of instance k.",
        ),
        file_option(
            "--implied",
            metavar="RULES",
            help="Labels that imply others: a text file with two columns, a narrower and a broader label. Implied "
            "labels are not suggested as missing; where they have been filled in, they do not raise c.  "
            "[default: those of the thesaurus that `mpu vectorize --labels` has read]",
        ),
        click.option(
            "--cache",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="Keep the parsed data in DIR. Next time they are loaded from there, unless FILE has changed.",
        ),
    )
    command: Callable = with_sources
    for option in reversed(options):
        command = option(command)
    return command


# Of commands with `training_files`.
label_features_option = file_option(
    "--label-features",
    metavar="LABELS.svm",
    help="Features of labels, such as the words of their names: a file with one line `number index:value ...` per "
    "label, whose features are numbered as those of FILE. Default: the words of the names of labels, if FILE "
    "was made by `mpu vectorize`.",
)
scores_option = file_option(
    "--scores",
    metavar="OOF",
    help="Out-of-fold scores of FILE by any other classifier, in place of learning one: a line `label:score ...` "
    "per instance, from 0 to 1, as `mpu predict --format scores` writes them. No instance may be scored by a model "
    "that has seen it.",
)
