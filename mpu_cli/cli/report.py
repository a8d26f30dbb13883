"""``mpu report``."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpu_cli.cli.messages import info, verbosity_options
from mpu_cli.cli.options import PATH, option, run_options, scores_option, training_files
from mpu_cli.cli.printing import give, json_option
from mpu_cli.runtime.options import MOST_INSTANCES, Whole

if TYPE_CHECKING:
    from mpu_cli.commands.report import MissingLabelsReport
    from mpu_cli.inputs.training_data import Sources
    from mpu_cli.runtime.run import Run


@click.command("report")
@option("-o, --output PAGE.html", PATH, "The page.", required=True)
@option(
    "--csv FILE",
    PATH,
    "Also write the numbers of the page as a table: of all labels together, of each group, and of every label.",
    name="table",
)
@option("--top N", Whole(1, MOST_INSTANCES), "List the N most probable missing labels.", default=50)
@run_options("seed", "jobs", "kernel")
@training_files
@scores_option
@json_option
@verbosity_options
def report(sources: "Sources", output: Path, table: Path | None, top: int, run: "Run", as_json: bool) -> None:
    """Write a page about what is missing from FILE.

    For those who decide what to do about it. One HTML file to read or print, without network or scripts: what share of
    the labels is missing and how sure that is, by group (--groups) and by the fifty most frequent labels, the most
    certain suggestions by name and record, what a review has changed (--reviewed), and how all this was computed. The
    numbers are those of `mpu estimate-c` and `mpu suggest` with default settings.

    \b
    Example:
      mpu report news.svm -o report.html
      mpu report news.svm --groups sources.txt --reviewed checked.tsv -o report.html --csv report.csv
    """
    from mpu_cli.commands import report as reporting

    if "-" in (str(output), str(table)):
        raise click.UsageError("Standard output takes the report of --json: give -o, and --csv, a file.")
    made = reporting.report(sources, output, table=table, top=top, run=run)
    give(made, as_json, partial(_say, output))


def _say(output: Path, report: "MissingLabelsReport") -> None:
    c = report.frequency
    if c.interval is None:
        info(f"how many labels are missing is unknown; see {output}")
        return
    low, high = (1 - end for end in reversed(c.interval))
    at_least = " or more" * (c.assumption is not None and c.predictable)
    info(f"{c.missing_rate:.1%}{at_least} of the true labels are missing ({low:.1%} to {high:.1%}); see {output}")
