"""The readable report of ``mpu evaluate`` on several models and files of predictions."""

from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.common import print_table
from mpu_cli.errors import one_line

if TYPE_CHECKING:
    from mpu_cli.commands.evaluate.comparison import Report


def print_comparison(report: "Report") -> None:
    """Print the metrics of each, a column each; the differences from the first, with intervals; and the verdicts."""
    sizes: dict[str, Any] = {"instances": report.instances, "labels": report.labels}
    sizes |= {} if report.c is None else {"c": report.c}
    print_table([[name, value] for name, value in sizes.items()])
    click.echo()
    rows = [[metric, *(metrics[metric] for metrics in report.metrics)] for metric in report.metrics[0]]
    print_table([["on complete labels" if report.c is not None else "", *report.names], *rows])
    for name, differences in zip(report.names[1:], report.differences, strict=True):
        click.echo()
        table = [
            [metric, *(f"{value:+z.4f}" for value in (found.value, found.low, found.high))]
            for metric, found in differences.items()
        ]
        print_table([[f"{name} minus {report.names[0]}", "difference", "95 % from", "to"], *table])
    click.echo()
    for verdict in report.verdicts:
        click.echo(one_line(verdict))
