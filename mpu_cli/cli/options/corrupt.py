"""The options and the help of ``mpu corrupt``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import FILE, option, reading_options, run_options, runs_command
from mpu_cli.runtime.options import PROBABILITY


@click.command("corrupt")
@click.argument("source", metavar="[IN]", default="-")
@click.argument("target", metavar="[OUT]", default="-")
@option("--missing-rate", PROBABILITY, "Share of the labels to remove.", required=True)
@option(
    "--scheme", ("uniform", "label"), "uniform: all labels alike. label: each label at its own rate.", default="uniform"
)
@option("--keep-one", bool, "Keep at least one label per instance.")
@option("--removed FILE", str, "Write the removed labels to FILE: lines `instance<TAB>label`.")
@option("--kept FILE", FILE, "Write the kept share of each label to FILE, for `--c`.")
@run_options("seed", "kernel")
@reading_options
@verbosity_options
@runs_command
def command() -> None:
    """Remove labels at random, to test methods on missing labels.

    Copies the LIBSVM file IN to OUT without a random share of its labels; everything else is copied byte for byte, but
    labels such as "1.0, +2" become 1,2. The default - is standard input or output. The kept share, the true c, is
    printed on standard error.

    \b
    Example:
      mpu corrupt train.svm noisy.svm --missing-rate 0.3 --seed 1 --removed removed.tsv
      mpu corrupt train.svm noisy.svm --missing-rate 0.5 --scheme label --kept c.txt
      xzcat train.svm.xz | mpu corrupt --missing-rate 0.3 | gzip > noisy.svm.gz
    """
