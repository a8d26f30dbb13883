"""The options and the help of ``mpu predict``."""

from typing import Any

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
    suggestible_options,
)
from mpu_cli.runtime.options import PROBABILITY, Whole
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.text.records import FORMATS


@click.command("predict")
@click.argument("model", type=PATH)
@click.argument("sources", metavar="[FILE]...", nargs=-1, type=FILE)
@option(
    "--text TEXT",
    str,
    "Predict the labels of this text in place of FILE. Can be repeated.",
    name="texts",
    multiple=True,
)
@option(
    "--text-format",
    FORMATS,
    "FILE has texts, in this format. Default: by the suffix of its name; with another one, it has vectors.",
    name="text_form",
)
@encoding_option
@option(
    "-o, --output OUT",
    FILE,
    "Output file. Default: standard output. Of several FILEs, or if it ends in /, a directory, in which the "
    "predictions of each FILE get its name.",
    default="-",
    show_default=False,
)
@option(
    "--format",
    ("labels", "scores", "both", "jsonl", "tsv"),
    "labels: lines such as 3,7. scores: lines such as 3:0.91 7:0.5, most probable label first; the "
    "first one ends in the thresholds of the model, # threshold 0.31, for `mpu evaluate`. both: the labels, "
    "then the scores of all, 3 3:0.91 7:0.5, from which `mpu evaluate` has all of its metrics. jsonl: objects with "
    "id, labels by name and probabilities, most probable first. tsv: a table with a line for each label.",
    name="form",
    default="labels",
)
@option(
    "--top-k",
    Whole(1, MAX_ID + 1),
    "Write at most this many labels per instance, the most probable ones.",
)
@option(
    "--threshold",
    PROBABILITY,
    "Write labels with at least this probability. Default: the thresholds of the model; for scores and both, and "
    "for jsonl and tsv with --top-k, all labels; of more than 500 labels, the 20 most probable ones of an instance "
    "(more if instances have many).",
)
@option(
    "--line-buffered",
    bool,
    "Answer each line of FILE as soon as it comes, for a program at the other end of a pipe. This takes some "
    "25 times as long per line as a whole file does, and one thread.",
)
@option("--why", bool, "With --format jsonl: the features that speak most for each label, by name, as `why`.")
@option(
    "--fill-implied",
    bool,
    "Also write the broader labels that those of an instance imply, as probable as these, beyond --top-k: by the "
    "thesaurus of the training data, or its --implied RULES. For --format labels, jsonl and tsv.",
)
@suggestible_options
@numbers_option
@cluster_options
@reading_options
@run_options("jobs", "kernel")
@verbosity_options
def command(**given: Any) -> None:
    """Predict the labels of FILE with MODEL, one line per instance.

    FILE is a LIBSVM file, plain or compressed, or - for standard input. Its labels are ignored. The memory needed does
    not grow with its size. Features that did not occur in training are ignored; a warning counts them. A FILE without
    instances gives an empty output and a warning.

    Several FILEs are predicted one after the other into a directory OUT, which is created if missing. The predictions
    of each have the name of FILE, compressed if FILE is, and appear there when they are complete; those of an earlier
    run are replaced.

    A MODEL of data that `mpu vectorize` made of texts takes texts too: FILE may be .jsonl, .csv or .tsv, with the same
    fields for text and id, or --text takes its place.

    \b
    Example:
      mpu predict news.mpu new.svm -o tags.txt
      zcat new.svm.gz | mpu predict news.mpu - --format scores --top-k 5
      mpu predict news.mpu part-*.svm.gz -o tags/
      mpu predict news.mpu part-*.svm.gz -o tags/ --cluster tcp://scheduler:8786
      mpu predict news.mpu new.svm --format jsonl --top-k 20
      mpu predict news.mpu new.jsonl --format jsonl
      mpu predict news.mpu --text "Digital television starts today" --format tsv

    jsonl has lines such as {"id": "17", "labels": ["Digital television"], "probabilities": [0.93]}. The id is that of
    the instance in new.text/ids if this file is beside new.svm, otherwise the number of the instance, from 1. Labels
    have the names of MODEL, or else their numbers. The table of tsv has the columns id, label and probability; a cell
    that a spreadsheet would read as a formula begins with an apostrophe.
    """
    from mpu_cli.cli import predict

    predict.command(**given)
