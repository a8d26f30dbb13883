"""``mpu info``."""

from pathlib import Path
from typing import Any

import click

from mpu_cli.cli.common import json_option, print_json, print_table
from mpu_cli.cli.info_report import print_report
from mpu_cli.cli.messages import log_format_option
from mpu_cli.cli.naming_options import numbers_option
from mpu_cli.cli.options import click_type
from mpu_cli.runtime.options import Whole

_FORMATS = (".png", ".svg", ".pdf")
_JUDGED = ["trained", "accepted", "by", "test", "unknown features", "labels per instance", "expected", "warnings"]


def _figure(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix not in _FORMATS:
        raise click.BadParameter(f"the name of a figure ends in {', '.join(_FORMATS)}, and not in {str(value)!r}")
    return value


@click.command("info")
@click.argument("model", metavar="[MODEL]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--history",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="In place of MODEL: list the trainings in FILE, to which `mpu train --history` adds a line each. With --plot, "
    "draw c, expected F1, counts and time, and what --accept-on has found: quality, unknown features, labels.",
)
@click.option(
    "--label",
    "labels",
    metavar="NAME",
    multiple=True,
    help="Also show this label, given by name or number: its label frequency and threshold, how often it was annotated "
    "and is probably true, the features that speak for and against it, and its links to other labels. May be given "
    "several times.",
)
@click.option(
    "--top",
    type=click_type(Whole(0)),
    default=10,
    show_default=True,
    metavar="N",
    help="With --label: list at most N features for it, N against it, and N links in each direction.",
)
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_figure,
    help="Also draw the model in FILE (.png, .svg or .pdf): how often labels were annotated and are probably true, "
    "label frequencies, calibration, and the strongest links between labels. This needs matplotlib.",
)
@numbers_option
@json_option
@log_format_option
def info(
    model: Path | None,
    history: Path | None,
    labels: tuple[str, ...],
    top: int,
    plot: Path | None,
    by_number: bool,
    as_json: bool,
) -> None:
    """Show what MODEL is, how it was trained, and what it has learned of single labels.

    The weights of --label add up to log-odds. That of a feature is what one unit of it adds at the first level, which
    sees the features alone. From the second level on, a link is what a prediction of 1 of the one label adds to the
    other at the last level: a positive link makes it more probable, a negative one less.

    "not recorded" marks information that the model does not have, such as one that an earlier mpu has written.

    \b
    Example:
      mpu info news.mpu
      mpu info news.mpu --json
      mpu info news.mpu --label "Digital television" --label Radio
      mpu info news.mpu --label 3 --numbers --top 20
      mpu info news.mpu --plot news.svg
      mpu info --history trainings.jsonl --plot trainings.svg
    """
    if history is not None:
        if model is not None or labels:
            raise click.UsageError("--history takes neither MODEL nor --label.")
        _show_history(history, plot, as_json)
        return
    if model is None:
        raise click.UsageError("Missing argument 'MODEL'.")
    from mpu_cli.commands.describe.description import describe

    report = describe(model, labels, top, by_number, plot)
    if as_json:
        print_json(report.as_json())
    else:
        print_report(report)


def _show_history(path: Path, plot: Path | None, as_json: bool) -> None:
    from mpu_cli.commands.train import history
    from mpu_cli.runtime.files import refuse_overlaps

    refuse_overlaps({"--history": path}, {"--plot": plot})
    entries = history.read(path)
    if plot is not None:
        history.draw(path, entries, plot)
    if as_json:
        print_json({"trainings": entries})
        return
    rows = [[entry["time"], *(_number(entry.get(name)) for name in history.NUMBERS)] for entry in entries]
    print_table([["trained", *(name.replace("_", " ") for name in history.NUMBERS)], *rows])
    if judged := history.judged(entries):
        click.echo()
        values = [[_number(entry.get(name)) for name in history.JUDGED] for entry in judged]
        print_table([_JUDGED, *map(_judged, judged, values)])


def _judged(entry: dict[str, Any], values: list[str]) -> list[str]:
    accepted = "yes" if entry.get("accepted") else "no"
    metric = str(entry.get("test_metric", "-"))
    return [entry["time"], accepted, metric, *values, str(len(entry.get("warnings") or ()))]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
