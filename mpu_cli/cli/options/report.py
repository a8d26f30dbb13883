"""The options and the help of ``mpu report``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import PATH, option, run_options, scores_option, training_files
from mpu_cli.cli.printing import json_option
from mpu_cli.runtime.options import MOST_INSTANCES, Whole


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
def command(**given: Any) -> None:
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
    from mpu_cli.cli import report

    report.command(**given)
