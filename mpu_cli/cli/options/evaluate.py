"""The options and the help of ``mpu evaluate``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    Parsed,
    names_options,
    numbers_option,
    option,
    reading_options,
    reviewed_option,
    run_options,
)
from mpu_cli.cli.printing import report_options
from mpu_cli.runtime.options import (
    FREQUENCY,
    LARGEST_POSITIVE,
    PROBABILITY,
    PROPENSITY_A,
    PROPENSITY_A_RANGE,
    PROPENSITY_B,
    PROPENSITY_B_RANGE,
    PerLabel,
    Real,
)


def _least(text: str) -> tuple[str, float]:
    """Read ``micro_f1=0.6``; ValueError where it is not such a text."""
    name, _, number = text.partition("=")
    if not number:
        raise ValueError(f"{text!r}: give a metric and a number, such as micro_f1=0.6")
    return name, PROBABILITY.parse(number)


def _cutoffs(text: str) -> tuple[int, ...]:
    """Return the numbers in a list such as ``1,3,5``."""
    try:
        cutoffs = tuple(dict.fromkeys(map(int, text.split(","))))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of whole numbers such as 1,3,5") from None
    if not all(1 <= k < 2**31 for k in cutoffs):
        raise ValueError("cut-offs are numbers of labels, from 1")
    return cutoffs


@click.command("evaluate")
@click.argument("files", metavar="TRUTH PREDICTIONS...", nargs=-1, required=True, type=FILE)
@option(
    "--predictions OUT",
    FILE,
    "Instead of PREDICTIONS, if TRUTH is several files: the directory that `mpu predict` has written for them, "
    "a model, or one file with all predictions. Can be repeated.",
    name="candidates",
    multiple=True,
)
@option("--metrics NAMES", str, "Report only these metrics, separated by commas. Their names are those in the report.")
@option("--per-label", bool, "Also report precision, recall and F1 of each label.")
@names_options
@numbers_option
@option(
    "--c",
    PerLabel(FREQUENCY),
    "Label frequency of TRUTH, if its labels are incomplete (see `mpu estimate-c`), or a file with that of each "
    "label. Precision, recall and F1, and precision and nDCG at k, on complete labels are then estimated, and reported "
    "next to the naive ones.",
)
@option(
    "--k NUMBERS",
    Parsed("numbers", _cutoffs),
    "Cut-offs k of precision, nDCG, recall and coverage at k. They need scores.",
    name="ks",
    default="1,3,5",
)
@option(
    "--training TRAIN.svm",
    FILE,
    "Also report propensity-scored precision and nDCG at k (PSP, PSnDCG). The propensity of a label comes from "
    "the number of its annotations in this file, by the model of Jain et al. (2016).",
)
@option(
    "--propensity-a",
    PROPENSITY_A_RANGE,
    "Constant A of this model. 0.5 was fitted to Wikipedia, 0.6 to Amazon.",
    default=PROPENSITY_A,
)
@option(
    "--propensity-b",
    PROPENSITY_B_RANGE,
    "Constant B of this model. 0.4 was fitted to Wikipedia, 2.6 to Amazon.",
    default=PROPENSITY_B,
)
@option(
    "--frequencies FILE",
    FILE,
    "In place of --training: report PSP and PSnDCG with the label frequency of each label as its propensity. The "
    "file has one line `label c` for each label, as `mpu estimate-c --output` writes it.",
)
@option(
    "--threshold",
    Real(-LARGEST_POSITIVE, LARGEST_POSITIVE),
    "For scores: a label counts as predicted if its score is at least this. (What `mpu predict` "
    "has written has the thresholds of the model, unless this is set.) Scores such as log probabilities may have one "
    "below 0.",
    default=0.5,
)
@option(
    "--calibration",
    bool,
    "For scores: report the share of true labels among labels with similar scores. With --c, it is estimated on "
    "complete labels.",
)
@option(
    "--calibration-plot FILE", FILE, "Draw the calibration as a figure in FILE (.png or .svg). This needs matplotlib."
)
@reviewed_option(
    "Review file of TRUTH, whose labels may be incomplete. Compare only the instances that were drawn at random "
    "and completely reviewed, and report 90 % intervals. Their predictions should come from a model that has not seen "
    "them."
)
@option(
    "--fail-below METRIC=NUMBER",
    Parsed("metric", _least),
    "Exit with status 3 if a metric is lower, after the report. Can be repeated.",
    multiple=True,
)
@reading_options
@run_options("kernel")
@report_options
@verbosity_options
def command(**given: Any) -> None:
    """Compare PREDICTIONS with the labels of TRUTH.

    TRUTH is a data file. PREDICTIONS has one line per instance of TRUTH, as `mpu predict` writes it: a label list
    (3,7), scores (3:0.91 7:0.5), or both (3 3:0.91 7:0.5). A file whose lines are all empty counts as both. Either
    file may be compressed, or - for standard input. PREDICTIONS may also be a model: it predicts the instances of
    TRUTH, with its own thresholds.

    Metrics of label sets: precision, recall and F1, each as micro average, macro average (over labels) and samples
    average (over instances); Hamming loss; subset accuracy. Only labels that occur in a true or a predicted set count.

    Metrics of rankings, if PREDICTIONS has scores: precision, nDCG and recall at k, label ranking average precision,
    coverage error, one-error, and coverage at k, the share of the true labels that are retrieved among the first k of
    at least one instance. Labels without a score rank last and are never retrieved.

    TRUTH may be several files, which are read as one: then --predictions takes the place of PREDICTIONS. In a
    directory, the predictions for a file of TRUTH have the name of this file.

    Several PREDICTIONS, files and models, are compared with the first of them: by micro and macro averages over the
    labels that TRUTH has, whatever is predicted, by F1 averaged over instances, and, if all have scores, by precision
    and nDCG at k. Differences have 95 % intervals, by a paired bootstrap of the instances. They cover the choice of
    instances, and not the randomness of training. A verdict is by micro-F1, or by the first of --metrics.

    \b
    Example:
      mpu predict news.mpu test.svm -o tags.txt
      mpu evaluate test.svm tags.txt
      mpu evaluate test.svm tags.txt --metrics micro_f1,macro_f1 --json
      mpu evaluate incomplete.svm tags.txt --c 0.4
      mpu evaluate incomplete.svm scores.txt --c c.txt
      mpu evaluate test.svm scores.txt --calibration
      mpu evaluate test.svm scores.txt --training train.svm --k 1,3,5
      mpu evaluate incomplete.svm tags.txt --reviewed checked.tsv
      mpu evaluate test.svm old.mpu new.mpu tags.txt
      mpu evaluate part-*.svm.gz --predictions tags/
    """
    from mpu_cli.cli import evaluate

    evaluate.command(**given)
