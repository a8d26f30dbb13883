"""``mpu versions``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import info, verbosity_options
from mpu_cli.cli.options import PATH, click_type, option, wait_option
from mpu_cli.cli.printing import json_option, print_json, print_table, show
from mpu_cli.runtime.options import Whole

if TYPE_CHECKING:
    from mpu_cli.commands.versions import VersionsReport


@click.command("versions")
@click.argument("model", metavar="MODEL", type=PATH)
@option("--restore", bool, "Put VERSION back in the place of MODEL: by default, the one before it.")
@click.argument("version", metavar="[VERSION]", type=click_type(Whole(1)), required=False)
@wait_option
@json_option
@verbosity_options
def versions(model: Path, restore: bool, version: int | None, wait: float, as_json: bool) -> None:
    """List the versions of MODEL, or restore one.

    The list has the models that `mpu train --accept-on` has accepted, and those that it has rejected. Versions are
    models, in the directory MODEL.versions: `mpu predict news.mpu.versions/2 new.svm` predicts with one. Versions that
    are no longer kept, and models that were rejected, are in the list only.

    --restore replaces MODEL in one step, as a training does. A training in progress has to end first. Versions that
    came after the restored one are kept, but new models are no longer compared with them.

    \b
    Example:
      mpu train news.svm --accept-on test.svm
      mpu versions news.mpu
      mpu versions news.mpu --restore       # the one before the present one
      mpu versions news.mpu --restore 2
      mpu versions news.mpu --json
    """
    if version is not None and not restore:
        raise click.UsageError("VERSION is for --restore.")
    from mpu_cli.commands import versions as command

    if restore:
        number = command.restore(model, version, wait)
        info(f"{model} is version {number}")
        if as_json:
            print_json(command.describe(model))
        return
    report = command.describe(model)
    show(report, as_json, print_versions)


def print_versions(report: "VersionsReport") -> None:
    """Print a row for each line of the history; what is said of it comes last, with its warnings below."""
    rows = [["version", "time", "data", "test", ""]]
    for entry in report.versions:
        test = f"{entry['test_metric']} {entry['test_value']:.3f}" if "test_value" in entry else "-"
        number = entry.get("version")
        rows.append([str(number or "-"), entry["time"] or "-", entry.get("file", "-"), test, _said(report, entry)])
        rows += [["", "", "", "", f"warning: {warning}"] for warning in entry.get("warnings", ())]
    width = max(len(row[-1]) for row in rows)
    print_table([[*row[:-1], row[-1].ljust(width)] for row in rows])


def _said(report: "VersionsReport", entry: dict[str, Any]) -> str:
    number = entry.get("version")
    if entry.get("restored"):
        words = "put back"
    elif "accepted" in entry:
        words = f"{'accepted' if entry['accepted'] else 'rejected'}: {entry['verdict']}"
    else:
        words = entry.get("verdict", "without a line in the history")
    states = [*(["in use"] if number is not None and number == report.in_use else [])]
    states += [] if number is None or number in report.kept else ["not kept"]
    return f"{words} ({', '.join(states)})" if states else words
