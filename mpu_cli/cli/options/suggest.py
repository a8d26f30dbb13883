"""The options and the help of ``mpu suggest``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    PATH,
    label_features_option,
    numbers_option,
    option,
    options_as_one,
    run_options,
    scores_option,
    suggestible_options,
    training_files,
)
from mpu_cli.cli.printing import report_options
from mpu_cli.core.options import Options
from mpu_cli.runtime.options import MOST_INSTANCES, PROBABILITY, Whole
from mpu_cli.svmlight.grammar import MAX_ID


@click.command("suggest")
@option("-o, --output", FILE, "Default: standard output.", name="target", default="-", show_default=False)
@option(
    "--format",
    ("list", "svm"),
    "list: the missing labels, the most probable first, as a review file. svm: FILE, a single one, with labels "
    "filled in.",
    name="form",
    default="list",
)
@option("--top N", Whole(1, MOST_INSTANCES), "The N most probable of all.")
@option("--min-probability P", PROBABILITY, "List only labels of at least this probability.")
@option("--per-instance K", Whole(1, MAX_ID + 1), "The K most probable of each instance.")
@option(
    "--questions N",
    Whole(1, MOST_INSTANCES),
    "Draw N questions instead of suggestions: cells whose answers are evidence of the label frequency c.",
)
@option("--fill-implied", bool, "With --format svm: fill in what the labels of an instance imply.")
@option("--why", bool, "Beside each suggestion, list the features of the instance that speak most for it.")
@option(
    "--suspects WRONG.tsv",
    FILE,
    "List annotated labels that are probably false, the least probable first, in a file of their own.",
)
@option("--model MODEL", PATH, "Save the model that was trained, a directory.")
@suggestible_options
@numbers_option
@options_as_one(Options)
@run_options("seed", "jobs", "kernel")
@training_files
@label_features_option
@scores_option
@report_options
@verbosity_options
def command(**given: Any) -> None:
    """Find the labels that are missing from FILE.

    Trains as `mpu train` does, predicts every instance by models that have not seen it, and lists labels that are not
    annotated, the most probable first: by the features of an instance and, of up to 500 labels, by the other labels
    that it has. The list is a review file with an empty column `verdict`, in which a person can decide; `mpu review`
    makes a page of it. Decisions of --reviewed files are used in training, and not listed again. Several FILEs are
    read as one: their instances are numbered through all of them, in their order.

    Without --top, --min-probability and --per-instance, all labels are listed that are probable enough to raise the
    expected F1 of the labels of FILE; --format svm fills in those that do. Of more than 500 labels, only the 20 most
    probable ones of an instance are considered (more if instances have many labels).

    --questions N lists questions instead of suggestions: N cells that are not annotated, drawn at random such that the
    answers estimate c best. The probability with which each was drawn is written beside it. Answer them in the file, or
    on the page of `mpu review --suggestions`. All commands with --reviewed then estimate c of each label from the
    answers. With --reviewed, --questions draws the next questions. No model is trained.

    --scores OOF takes out-of-fold scores of any other classifier, and trains no model. The scores are calibrated to
    probabilities (isotonic regression). c, the list and the report are made as without this option.

    \b
    Example:
      mpu suggest news.svm --top 1000 -o missing.tsv
      mpu suggest news.svm --questions 40 -o questions.tsv
      mpu suggest news.svm --reviewed checked.tsv --top 1000 -o more.tsv
      mpu suggest news.svm --format svm -o filled.svm
      mpu suggest news.svm --scores forest-oof.txt -o missing.tsv
    """
    from mpu_cli.cli import suggest

    suggest.command(**given)
