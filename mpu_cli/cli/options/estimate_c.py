"""The options and the help of ``mpu estimate-c``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    Parsed,
    numbers_option,
    option,
    options_as_one,
    run_options,
    runs_command,
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
    "bbe: best bin (Garg et al., 2021). e1, e2, e3: Elkan and Noto (2008).",
    default="bbe",
)
@option("--per-label", bool, "Also estimate the frequency of each label. See the caution above.")
@option("-o, --output", click.Path(), "Write the label frequencies to a file for `mpu train --c`.")
@option(
    "--plan [WIDTHS]",
    Parsed("widths", _widths),
    "Report how many questions or reviewed instances give intervals of c of these widths, such as 0.1,0.05.",
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
@runs_command
def command() -> None:
    """Estimate c, the share of the true labels that is annotated.

    Without --reviewed or --fully-labelled, c is estimated from the incomplete labels alone, under the assumption that
    every true label is annotated with the same chance. Where chances differ, c is that of the labels annotated best,
    and more labels are missing; incomplete labels cannot show this. The 90 % interval is what annotations allow
    under this assumption.

    With answers to questions (`mpu suggest --questions`), reviewed random instances (`mpu review --sample`) or a second
    file with complete labels, no such assumption is needed.

    Estimates of single labels (--per-label) are less certain: `mpu train --c FILE` with them raised micro-F1 by up to
    0.07 where rates differ, and lowered it by up to 0.01 elsewhere. Compare both models on complete labels first.

    \b
    Example:
      mpu estimate-c news.svm
      mpu estimate-c news.svm --per-label --json
      mpu estimate-c news.svm --reviewed checked.tsv
      mpu estimate-c news.svm --plan
      mpu estimate-c news.svm --scores forest-oof.txt
    """
