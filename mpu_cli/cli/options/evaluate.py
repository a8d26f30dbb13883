"""The options and the help of ``mpu evaluate``."""

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
    runs_command,
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
    "Instead of PREDICTIONS if TRUTH is several files: a model, a file, or a directory written by `mpu predict`. Can "
    "be repeated.",
    name="candidates",
    multiple=True,
)
@option("--metrics NAMES", str, "Report only these metrics, separated by commas.")
@option("--per-label", bool, "Also report precision, recall and F1 per label.")
@names_options
@numbers_option
@option(
    "--c",
    PerLabel(FREQUENCY),
    "Label frequency of TRUTH, if its labels are incomplete: also estimate the metrics on complete labels.",
)
@option("--k NUMBERS", Parsed("numbers", _cutoffs), "Cut-offs of metrics at k.", name="ks", default="1,3,5")
@option(
    "--training TRAIN.svm",
    FILE,
    "Also report propensity-scored precision and nDCG (PSP, PSnDCG), with propensities from these label counts (Jain "
    "et al., 2016).",
)
@option("--propensity-a", PROPENSITY_A_RANGE, "Constant A of the propensity model.", default=PROPENSITY_A)
@option("--propensity-b", PROPENSITY_B_RANGE, "Constant B of the propensity model.", default=PROPENSITY_B)
@option(
    "--frequencies FILE",
    FILE,
    "Instead of --training: use these label frequencies, as written by `mpu estimate-c -o`, as propensities.",
)
@option(
    "--threshold",
    Real(-LARGEST_POSITIVE, LARGEST_POSITIVE),
    "For scores without thresholds: predict labels with at least this score.",
    default=0.5,
)
@option("--calibration", bool, "For scores: report the share of true labels by score.")
@option("--calibration-plot FILE", FILE, "Draw the calibration in FILE (.png or .svg; needs matplotlib).")
@reviewed_option("Evaluate on the completely reviewed random instances of this review file, with 90 % intervals.")
@option(
    "--fail-below METRIC=NUMBER",
    Parsed("metric", _least),
    "Exit with status 3 if a metric is lower. Can be repeated.",
    multiple=True,
)
@reading_options
@run_options("kernel")
@report_options
@verbosity_options
@runs_command
def command() -> None:
    """Compare PREDICTIONS with the labels of TRUTH.

    PREDICTIONS is a model, or a file of `mpu predict` with one line per instance: labels (3,7), scores (3:0.91 7:0.5)
    or both (3 3:0.91 7:0.5). Scores are needed for metrics of rankings.

    Several PREDICTIONS are compared with the first: differences have 95 % intervals by a paired bootstrap of the
    instances, and a verdict by micro-F1 or the first of --metrics. The randomness of training is not included.

    If TRUTH is several files, read as one, give --predictions.

    \b
    Example:
      mpu evaluate test.svm tags.txt
      mpu evaluate incomplete.svm tags.txt --c 0.4
      mpu evaluate test.svm scores.txt --training train.svm --k 1,3,5
      mpu evaluate incomplete.svm tags.txt --reviewed checked.tsv
      mpu evaluate test.svm old.mpu new.mpu tags.txt
      mpu evaluate part-*.svm.gz --predictions tags/
    """
