"""The options and the help of ``mpu suggest``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    KNOWLEDGE,
    LEARNING,
    PATH,
    GroupedCommand,
    label_features_option,
    numbers_option,
    option,
    options_as_one,
    run_options,
    runs_command,
    scores_option,
    suggestible_options,
    training_files,
)
from mpu_cli.cli.printing import report_options
from mpu_cli.core.options import Options
from mpu_cli.runtime.options import MOST_INSTANCES, PROBABILITY, Integer
from mpu_cli.svmlight.grammar import MAX_ID

_GROUPS = {
    "Common options": "output format top min_probability per_instance questions c levels labels reviewed jobs seed "
    "json quiet help",
    "What is listed": "only exclude numbers fill_implied why suspects",
    "Learning": f"{LEARNING} model scores",
    "Knowledge about labels": KNOWLEDGE,
    "Input and output": "implicit_values max_line_bytes report log_format verbose accept_warning",
}


@click.command("suggest", cls=GroupedCommand, groups=_GROUPS)
@option("-o, --output", FILE, "Default: standard output.", name="target", default="-", show_default=False)
@option(
    "--format",
    ("list", "svm"),
    "list: a review file of missing labels, most probable first. svm: FILE with the missing labels filled in.",
    name="form",
    default="list",
)
@option("--top N", Integer(1, MOST_INSTANCES), "List the N most probable.")
@option("--min-probability P", PROBABILITY, "List only labels of at least this probability.")
@option("--per-instance K", Integer(1, MAX_ID + 1), "List the K most probable of each instance.")
@option("--questions N", Integer(1, MOST_INSTANCES), "Draw N yes/no questions instead, whose answers estimate c.")
@option("--fill-implied", bool, "With --format svm: also fill in implied labels.")
@option("--why", bool, "Show the features that speak most for each suggestion.")
@option("--suspects WRONG.tsv", FILE, "Also list annotated labels that are probably false.")
@option("--model MODEL", PATH, "Save the trained model in this directory.")
@suggestible_options
@numbers_option
@options_as_one(Options)
@run_options("seed", "jobs", "kernel")
@training_files
@label_features_option
@scores_option
@report_options
@verbosity_options
@runs_command
def command() -> None:
    """Find the labels that are missing from FILE.

    Trains like `mpu train`, predicts every instance by models that have not seen it, and lists labels that are not
    annotated, most probable first. The list is a review file: decide in its column `verdict`, or on the page of
    `mpu review`. Decisions in --reviewed files are learned from and not listed again.

    Without --top, --min-probability and --per-instance, it lists all labels whose addition raises the expected F1 of
    the labels of FILE.

    With --questions N, it writes N random cells instead, and your answers (--reviewed, in all commands) estimate c.

    \b
    Example:
      mpu suggest news.svm --top 1000 -o missing.tsv
      mpu suggest news.svm --questions 40 -o questions.tsv
      mpu suggest news.svm --reviewed checked.tsv --top 1000 -o more.tsv
      mpu suggest news.svm --format svm -o filled.svm
      mpu suggest news.svm --scores forest-oof.txt -o missing.tsv
    """
