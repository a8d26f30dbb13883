"""``mpu corrupt``."""

from typing import TYPE_CHECKING

import click

from mpu_cli.cli.common import reading_options
from mpu_cli.cli.messages import info, verbosity_options
from mpu_cli.cli.options import click_type
from mpu_cli.cli.run_options import run_options
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
    help="uniform: exactly round(RATE * labels) of all labels. per-instance: the share within each label set, rounded "
    "up or down by chance.",
)
@click.option("--keep-one", is_flag=True, help="Leave every instance that has labels at least one.")
@click.option(
    "--removed", metavar="FILE", help="Write what was removed: lines of instance number (from 1), tab, label."
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
    """Remove labels by chance, to see how a method copes with missing labels.

    Copies the LIBSVM file IN to OUT (both may be -, the default: standard input and output) without a share of its
    labels; every other byte stays as it was. The same file and seed give the same result. Counts are reported on
    standard error.

    \b
    Example:
      mpu corrupt train.svm noisy.svm --missing-rate 0.3 --seed 1 --removed removed.tsv
      xzcat train.svm.xz | mpu corrupt --missing-rate 0.3 | gzip > noisy.svm.gz
    """
    from dataclasses import asdict

    from mpu_cli.commands import corruption
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
        f"{report.instances} instances with {report.labels} labels: {report.removed} removed{share}, "
        f"{report.labels - report.removed} left; {report.emptied} instances lost all their labels",
        **asdict(report),
    )
