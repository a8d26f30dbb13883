"""The options and the help of ``mpu report``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import PATH, option, run_options, runs_command, scores_option, training_files
from mpu_cli.cli.printing import json_option
from mpu_cli.runtime.options import MOST_INSTANCES, Integer


@click.command("report")
@option("-o, --output PAGE.html", PATH, "The page.", required=True)
@option("--csv FILE", PATH, "Also write the numbers of the page to FILE.", name="table")
@option("--top N", Integer(1, MOST_INSTANCES), "List the N most probable missing labels.", default=50)
@run_options("seed", "jobs", "kernel")
@training_files
@scores_option
@json_option
@verbosity_options
@runs_command
def command() -> None:
    """Write an HTML page about the missing labels of FILE.

    The page shows the missing share with its interval, by group (--groups) and label, the most probable missing labels,
    what reviews have changed, and how it was computed. It needs no network.

    \b
    Example:
      mpu report news.svm -o report.html
      mpu report news.svm --groups sources.txt --reviewed checked.tsv -o report.html --csv report.csv
    """
