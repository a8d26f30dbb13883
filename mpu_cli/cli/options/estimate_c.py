"""The options and the help of ``mpu estimate-c``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    Parsed,
    numbers_option,
    option,
    options_as_one,
    run_options,
    scores_option,
    training_files,
)
from mpu_cli.cli.printing import report_options
from mpu_cli.core.options import FrequencyOptions


def _widths(text: str) -> tuple[float, ...]:
    """Return the numbers in a list such as ``0.1,0.05``."""
    try:
        widths = tuple(map(float, text.split(",")))
    except ValueError:
        raise ValueError(
            f"{text!r} is not a list of numbers such as 0.1,0.05; without numbers, --plan comes after FILE"
        ) from None
    if not all(0.001 <= width <= 1 for width in widths):
        raise ValueError("widths of intervals are from 0.001 to 1")
    return widths


@click.command("estimate-c")
@option(
    "--method",
    ("bbe", "e1", "e2", "e3"),
    "bbe: best bin, after Garg et al. (2021). e1, e2, e3: estimators of Elkan and Noto (2008).",
    default="bbe",
)
@option("--per-label", bool, "Also estimate the frequency of each label. Read the caution above first.")
@option(
    "-o, --output",
    click.Path(),
    "Write the label frequencies to a file for `mpu train --c`, which repeats the interval and the warnings in it.",
)
@option(
    "--plan [WIDTHS]",
    Parsed("widths", _widths),
    "Report how many instances to review, or questions to answer, for intervals of c of these widths: numbers "
    "from 0 to 1, separated by commas.",
    is_flag=False,
    flag_value="0.2,0.1,0.05,0.02",
    default=(),
)
@options_as_one(FrequencyOptions)
@numbers_option
@run_options("seed", "jobs", "kernel")
@training_files
@scores_option
@report_options
@verbosity_options
def command(**given: Any) -> None:
    """Estimate c, the share of the true labels that is annotated.

    c is the label frequency of FILE. Several FILEs are read as one.

    If some instances were drawn at random and completely reviewed (--reviewed; `mpu review --sample N` draws them), c
    is estimated from these, for each label. The same holds for a second file with complete label sets
    (--fully-labelled); the instances of both files should then come from the same source.

    Otherwise the estimate uses only the incomplete labels, by cross-validation. It assumes that every true label is
    annotated with the same chance. Where chances differ, it gives the frequency of the labels annotated best, and more
    labels are missing than it says; incomplete labels alone cannot show this. The best-bin method needs at least one
    label that the features predict well. If there is none, it also uses labels that are mostly annotated together,
    and usually prints a warning: c may then be too low, or, if it is close to 1, unknown. The 90 % interval is what
    annotations allow under this assumption: its lower end is found on other instances than bins are chosen on, and its
    upper end allows for labels that the features do not determine. Of e1, e2 and e3 it is a bootstrap over instances.

    The estimates of single labels (--per-label) are much less certain than c. They show which labels may be missing
    more often than others. The more labels agree on one frequency, the nearer they are to c. Their 90 % intervals
    allow for labels that the features cannot distinguish, and for different frequencies of labels; one wider
    than 0.5 is marked as unreliable. The estimated numbers of missing labels of all labels add
    up to the number that c implies.

    With `mpu train --c FILE`, such estimates raised micro-F1 by up to 7 points where labels were missing at different
    rates, and lowered it by up to 1 point elsewhere. Incomplete labels cannot show which case you have. So first
    compare both models on instances with complete labels. This does not apply to frequencies from another
    source.

    \b
    Example:
      mpu estimate-c news.svm
      mpu estimate-c news.svm --per-label --json
      mpu estimate-c news.svm --reviewed checked.tsv
      mpu estimate-c news.svm --plan
      mpu estimate-c news.svm --scores forest-oof.txt
    """
    from mpu_cli.cli import estimate_c

    estimate_c.command(**given)
