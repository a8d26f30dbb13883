"""``mpu corrupt``."""

from typing import TYPE_CHECKING

import click

from mpu_cli.cli.options import click_type
from mpu_cli.cli.options.execution import run_options
from mpu_cli.cli.options.input_files import reading_options
from mpu_cli.cli.output.messages import info, verbosity_options
from mpu_cli.errors import counted
from mpu_cli.runtime.options import PROBABILITY
from mpu_cli.svmlight.grammar import Reading

if TYPE_CHECKING:
    from mpu_cli.runtime.run import Run


@click.command("corrupt")
@click.argument("source", metavar="[IN]", default="-")
@click.argument("target", metavar="[OUT]", default="-")
@click.option(
    "--missing-rate",
    type=click_type(PROBABILITY),
    required=True,
    help="Share of the labels to remove, from 0 to 1.",
)
@click.option(
    "--scheme",
    type=click.Choice(["uniform", "per-instance"]),
    default="uniform",
    show_default=True,
    help="uniform: remove exactly round(missing rate * labels) of all labels. per-instance: remove this share of the "
    "labels of each instance, rounded up or down at random.",
)
@click.option("--keep-one", is_flag=True, help="Keep at least one label of every instance that has labels.")
@click.option(
    "--removed",
    metavar="FILE",
    help="Write the removed labels to FILE. Each line has an instance number (from 1), a tab and a label.",
)
@run_options("seed", "kernel")
@reading_options
@verbosity_options
def corrupt(
    source: str,
    target: str,
    missing_rate: float,
    scheme: str,
    keep_one: bool,
    removed: str | None,
    run: "Run",
    reading: Reading,
) -> None:
    """Remove labels at random, to test how well a method copes with missing labels.

    Copies the LIBSVM file IN to OUT without a random share of its labels. Every other byte stays the same. The default
    for IN and OUT is -, which means standard input and standard output. The same file and seed give the same result.
    Counts are printed on standard error.

    \b
    Example:
      mpu corrupt train.svm noisy.svm --missing-rate 0.3 --seed 1 --removed removed.tsv
      xzcat train.svm.xz | mpu corrupt --missing-rate 0.3 | gzip > noisy.svm.gz
    """
    from dataclasses import asdict

    from mpu_cli.commands.data import corruption
    from mpu_cli.runtime.files import refuse_overlaps

    refuse_overlaps({"IN": source}, {"OUT": target, "--removed": removed})
    report = corruption.corrupt(
        source,
        target,
        missing_rate,
        scheme=scheme,
        keep_one=keep_one,
        run=run,
        removed_to=removed,
        reading=reading,
    )
    share = f" ({report.removed / report.labels:.1%})" if report.labels else ""
    info(
        f"{counted(report.instances, 'instance')} with {counted(report.labels, 'label')}: {report.removed:,} removed"
        f"{share}, {report.labels - report.removed:,} left; {counted(report.emptied, 'instance')} lost all labels",
        **asdict(report),
    )
