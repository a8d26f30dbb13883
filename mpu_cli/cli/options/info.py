"""The options and the help of ``mpu info``."""

from pathlib import Path

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import PATH, numbers_option, option, runs_command
from mpu_cli.cli.printing import report_options
from mpu_cli.runtime.options import Integer


def _figure(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix not in _FORMATS:
        raise click.BadParameter(f"the name of a figure ends in {', '.join(_FORMATS)}, and not in {str(value)!r}")
    return value


_FORMATS = (".png", ".svg", ".pdf")


@click.command("info")
@click.argument("model", metavar="[MODEL]", type=PATH, required=False)
@option("--history FILE", PATH, "Instead of MODEL: list the trainings in FILE, written by `mpu train --history`.")
@option(
    "--label NAME",
    str,
    "Also show this label: its frequency, threshold, weights and links to other labels. Can be repeated.",
    name="labels",
    multiple=True,
)
@option("--top N", Integer(0), "With --label: list at most N features and links in each direction.", default=10)
@click.option(
    "--plot",
    metavar="FILE",
    type=PATH,
    callback=_figure,
    help="Draw the model or history in FILE (.png, .svg or .pdf; needs matplotlib).",
)
@numbers_option
@report_options
@verbosity_options
@runs_command
def command() -> None:
    """Show what MODEL is and what it has learned about labels.

    With --label, weights add up to log odds. A feature's weight is that of one unit at the first level. A link is the
    effect of one predicted label on another at the last level.

    \b
    Example:
      mpu info news.mpu
      mpu info news.mpu --json
      mpu info news.mpu --label "Digital television" --label Radio
      mpu info news.mpu --label 3 --numbers --top 20
      mpu info news.mpu --plot news.svg
      mpu info --history trainings.jsonl --plot trainings.svg
    """
