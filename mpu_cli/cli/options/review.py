"""The options and the help of ``mpu review``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    names_options,
    numbers_option,
    option,
    reading_options,
    reviewed_option,
    run_options,
    runs_command,
    suggestible_options,
)
from mpu_cli.runtime.options import MOST_INSTANCES, Integer


@click.command("review")
@click.argument("source", metavar="FILE", type=FILE)
@option("-o, --output PAGE", FILE, "Write the page here.", required=True)
@option("--sample N", Integer(1, MOST_INSTANCES), "Review N instances drawn at random, from which c can be estimated.")
@option("--suggestions MISSING.tsv", FILE, "Show the suggestions or questions of `mpu suggest`.")
@reviewed_option("Start from the decisions of this review file.")
@option(
    "--text TEXTS",
    FILE,
    "Texts of the instances: one per line, or .jsonl, .csv or .tsv. Default: those of `mpu vectorize`, else the "
    "heaviest features.",
)
@option(
    "--text-field NAME",
    str,
    "Field of --text to show; the first one is the title. Can be repeated.",
    name="text_fields",
    multiple=True,
)
@option("--link URL", str, "Link to each record: https://... with {id} for its id.")
@names_options
@suggestible_options
@numbers_option
@option("--features NAMES", FILE, "Feature names: a file whose line k names feature k.")
@run_options("seed", "jobs", "kernel")
@reading_options
@verbosity_options
@runs_command
def command() -> None:
    """Create a web page where people decide about labels.

    The page is one HTML file that needs no network. It shows the instances of FILE one at a time, with their labels and
    suggestions. "Export" saves the decisions as a review file for `--reviewed`. It contains N random instances
    (--sample), those of --suggestions, or all.

    \b
    Example:
      mpu review news.svm --sample 200 --text news.txt --labels tags.txt -o review.html
      mpu review news.svm --suggestions missing.tsv --text news.jsonl --text-field abstract -o review.html
      mpu review news.svm --suggestions missing.tsv --reviewed checked-Anna.tsv -o review.html
    """
