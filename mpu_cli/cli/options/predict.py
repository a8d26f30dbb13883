"""The options and the help of ``mpu predict``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    PATH,
    cluster_options,
    encoding_option,
    numbers_option,
    option,
    reading_options,
    run_options,
    runs_command,
    suggestible_options,
)
from mpu_cli.runtime.options import PROBABILITY, Integer
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.text.records import FORMATS


@click.command("predict")
@click.argument("model", type=PATH)
@click.argument("sources", metavar="[FILE]...", nargs=-1, type=FILE)
@option(
    "--text TEXT", str, "Predict the labels of this text instead of FILE. Can be repeated.", name="texts", multiple=True
)
@option("--text-format", FORMATS, "FILE contains texts in this format. Default: by its suffix.", name="text_form")
@encoding_option
@option(
    "-o, --output OUT",
    FILE,
    "Output file, or directory for several FILEs. Default: standard output.",
    default="-",
    show_default=False,
)
@option(
    "--format",
    ("labels", "scores", "both", "jsonl", "tsv"),
    "labels: 3,7. scores: 3:0.91 7:0.5, most probable first. both: 3 3:0.91 7:0.5. jsonl, tsv: ids, label names and "
    "probabilities.",
    name="form",
    default="labels",
)
@option("--top-k", Integer(1, MAX_ID + 1), "Write at most N labels per instance, the most probable ones.")
@option(
    "--threshold",
    PROBABILITY,
    "Write labels with at least this probability. Default: the thresholds of the model; all labels where scores are "
    "written.",
)
@option("--line-buffered", bool, "Answer each line of FILE at once, for a program at the other end of a pipe. Slower.")
@option("--why", bool, "With --format jsonl: add the features that speak most for each label.")
@option("--fill-implied", bool, "Also write broader labels that the predicted ones imply.")
@suggestible_options
@numbers_option
@cluster_options
@reading_options
@run_options("jobs", "kernel")
@verbosity_options
@runs_command
def command() -> None:
    """Predict the labels of FILE with MODEL, one line per instance.

    FILE is a LIBSVM file, or - for standard input; its labels are ignored. A MODEL of data made by `mpu vectorize` also
    takes texts: .jsonl, .csv or .tsv with the same fields, or --text. Several FILEs are predicted into a directory OUT,
    each to a file of its name.

    \b
    Example:
      mpu predict news.mpu new.svm -o tags.txt
      zcat new.svm.gz | mpu predict news.mpu - --format scores --top-k 5
      mpu predict news.mpu part-*.svm.gz -o tags/
      mpu predict news.mpu new.jsonl --format jsonl
      mpu predict news.mpu --text "Digital television starts today" --format tsv
    """
