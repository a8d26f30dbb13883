"""The options and the help of ``mpu corrupt``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import FILE, option, reading_options, run_options
from mpu_cli.runtime.options import PROBABILITY


@click.command("corrupt")
@click.argument("source", metavar="[IN]", default="-")
@click.argument("target", metavar="[OUT]", default="-")
@option("--missing-rate", PROBABILITY, "Share of the labels to remove, from 0 to 1.", required=True)
@option(
    "--scheme",
    ("uniform", "label"),
    "uniform: remove exactly round(missing rate * labels) of all labels. label: each label has a rate of its own, and "
    "the missing rate is the mean of these.",
    default="uniform",
)
@option("--keep-one", bool, "Keep at least one label of every instance that has labels.")
@option(
    "--removed FILE",
    str,
    "Write the removed labels to FILE. Each line has an instance number (from 1), a tab and a label.",
)
@option(
    "--kept FILE",
    FILE,
    "Write the share of each label that was kept to FILE, in the form of `mpu estimate-c -o`: the true c of each "
    "label, for `--c`.",
)
@run_options("seed", "kernel")
@reading_options
@verbosity_options
def command(**given: Any) -> None:
    """Remove labels at random, to test methods on missing labels.

    Copies the LIBSVM file IN to OUT without a random share of its labels. Every other byte stays the same, but labels
    written as "1.0, +2" become 1,2. The default for IN and OUT is -, which means standard input and standard output.
    The same file and seed give the same result. Counts are printed on standard error, with the share of the labels that
    was kept: the true c, overall and of the labels with the lowest and the highest.

    \b
    Example:
      mpu corrupt train.svm noisy.svm --missing-rate 0.3 --seed 1 --removed removed.tsv
      mpu corrupt train.svm noisy.svm --missing-rate 0.5 --scheme label --kept c.txt
      xzcat train.svm.xz | mpu corrupt --missing-rate 0.3 | gzip > noisy.svm.gz
    """
    from mpu_cli.cli import corrupt

    corrupt.command(**given)
