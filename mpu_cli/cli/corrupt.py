"""``mpu corrupt``."""

from typing import Any

import click

from mpu_cli.cli.messages import info, verbosity_options
from mpu_cli.cli.options import FILE, option, reading_options, run_options
from mpu_cli.errors import counted
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
def corrupt(
    source: str, target: str, missing_rate: float, scheme: str, removed: str | None, kept: str | None, **how: Any
) -> None:
    """Remove labels at random, to test methods on missing labels.

    Copies the LIBSVM file IN to OUT without a random share of its labels. Every other byte stays the same. The default
    for IN and OUT is -, which means standard input and standard output. The same file and seed give the same result.
    Counts are printed on standard error, with the share of the labels that was kept: the true c, overall and of the
    labels with the lowest and the highest.

    \b
    Example:
      mpu corrupt train.svm noisy.svm --missing-rate 0.3 --seed 1 --removed removed.tsv
      mpu corrupt train.svm noisy.svm --missing-rate 0.5 --scheme label --kept c.txt
      xzcat train.svm.xz | mpu corrupt --missing-rate 0.3 | gzip > noisy.svm.gz
    """
    from dataclasses import asdict

    from mpu_cli.commands import corrupt as command
    from mpu_cli.runtime.files import refuse_overlaps
    from mpu_cli.svmlight.streams import refuse_unwritable

    refuse_overlaps({"IN": source}, {"OUT": target, "--removed": removed, "--kept": kept})
    refuse_unwritable(kept)
    report = command.corrupt(
        source, target, missing_rate, scheme=scheme, lists=command.Lists(removed=removed, kept=kept), **how
    )
    share = f" ({report.removed / report.labels:.1%})" if report.labels else ""
    of_labels = ""
    counts = asdict(report)
    if c_of_labels := counts.pop("c_of_labels"):
        c = {"c": 1 - report.removed / report.labels, "least_c": min(c_of_labels.values())}
        c["most_c"] = max(c_of_labels.values())
        of_labels = "; c {c:.3f}, of labels {least_c:.3f} to {most_c:.3f}".format(**c)
        counts |= c
    info(
        f"{counted(report.instances, 'instance')} with {counted(report.labels, 'label')}: {report.removed:,} removed"
        f"{share}, {report.labels - report.removed:,} left; {counted(report.emptied, 'instance')} lost all labels"
        f"{of_labels}",
        **counts,
    )
