"""The options and the help of ``mpu info``."""

from pathlib import Path
from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import PATH, numbers_option, option
from mpu_cli.cli.printing import report_options
from mpu_cli.runtime.options import Whole


def _figure(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix not in _FORMATS:
        raise click.BadParameter(f"the name of a figure ends in {', '.join(_FORMATS)}, and not in {str(value)!r}")
    return value


_FORMATS = (".png", ".svg", ".pdf")


@click.command("info")
@click.argument("model", metavar="[MODEL]", type=PATH, required=False)
@option(
    "--history FILE",
    PATH,
    "In place of MODEL: list the trainings in FILE, to which `mpu train --history` adds a line each. With --plot, "
    "draw c, expected F1, counts and time, and what --accept-on measured: quality, unknown features, labels.",
)
@option(
    "--label NAME",
    str,
    "Also show this label, by name or number: its label frequency and threshold, how often it was annotated "
    "and is probably true, the features that speak for and against it, and its links to other labels. Can be "
    "repeated.",
    name="labels",
    multiple=True,
)
@option(
    "--top N",
    Whole(0),
    "With --label: list at most N features for it, N against it, and N links in each direction.",
    default=10,
)
@click.option(
    "--plot",
    metavar="FILE",
    type=PATH,
    callback=_figure,
    help="Also draw the model in FILE (.png, .svg or .pdf): how often labels were annotated and are probably true, "
    "label frequencies, calibration, and the strongest links between labels. This needs matplotlib.",
)
@numbers_option
@report_options
@verbosity_options
def command(**given: Any) -> None:
    """Show what MODEL is, and what it has learned of labels.

    The weights of --label add up to log-odds. That of a feature is what one unit of it adds at the first level, which
    sees the features alone. From the second level on, a link is what a prediction of 1 of the one label adds to the
    other at the last level: a positive link makes it more probable, a negative one less.

    "not recorded" marks information that the model does not have, such as one that an earlier version of mpu wrote.

    \b
    Example:
      mpu info news.mpu
      mpu info news.mpu --json
      mpu info news.mpu --label "Digital television" --label Radio
      mpu info news.mpu --label 3 --numbers --top 20
      mpu info news.mpu --plot news.svg
      mpu info --history trainings.jsonl --plot trainings.svg
    """
    from mpu_cli.cli import info

    info.command(**given)
