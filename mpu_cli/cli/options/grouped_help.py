"""Help that lists the options of a command in groups, and first those that most need, a line or two each."""

import re
from collections.abc import Mapping
from typing import Any

import click

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
