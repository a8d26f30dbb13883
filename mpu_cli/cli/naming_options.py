"""The options of label names, the same for every command."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click


def names_option(function: Callable, *, older: str | None = None) -> Callable:
    """Add ``--labels``, perhaps with an older name, and ``--zero-based``; the command gets a `Naming` as `naming`."""

    @wraps(function)
    def command(*args: Any, labels: str | None, zero_based: bool, **kwargs: Any) -> Any:
        from mpu_cli.names import Naming

        return function(*args, naming=Naming(labels, zero_based), **kwargs)

    file = click.option(
        "--labels",
        *([older] if older else []),
        "labels",
        metavar="NAMES",
        type=click.Path(allow_dash=True),
        help="The names of labels: a text file whose line k names label k, or with lines `number<TAB>name`; further "
        "names of a label come after tabs. Default: news.text/labels or news.labels beside the data news.svm, if it "
        "exists.",
    )
    first = click.option(
        "--zero-based",
        is_flag=True,
        help="Line 1 names label 0. Default: if the data have a label 0.",
    )
    return file(first(command))


def numbers_option(function: Callable) -> Callable:
    """``--numbers``: the command gets it as `by_number`."""
    return click.option(
        "--numbers", "by_number", is_flag=True, help="Print numbers of labels, even if they have names."
    )(function)
