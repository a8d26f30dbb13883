"""Reports: as one JSON object, or as tables."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.output import messages
from mpu_cli.errors import one_line
from mpu_cli.runtime.report import as_json

if TYPE_CHECKING:
    from mpu_cli.core.frequency.group_frequencies import GroupRow


def json_option(function: Callable) -> Callable:
    """``--json``: print the report as one JSON object."""
    return click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")(function)


def print_json(report: Any) -> None:
    """Print a report as one JSON object, with the warnings so far."""
    click.echo(json.dumps(_whole(report), allow_nan=False))


def give(report: Any, is_json: bool, printed: Callable[[Any], None]) -> None:
    """Say the warnings of a report, then give it: to the log, if that is of JSON lines, and as JSON or for people."""
    for warning in getattr(report, "warnings", ()):
        messages.warn(warning)
    messages.report(_whole(report))
    if is_json:
        print_json(report)
    else:
        printed(report)


def _whole(report: Any) -> dict[str, Any]:
    return as_json(report) | {"warnings": messages.warnings()}


def print_table(rows: list[list]) -> None:
    """Print rows of equal length in aligned columns. The first column is aligned left, the others right."""
    cells = [[f"{cell:.4f}" if isinstance(cell, float) else one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        line = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(line).rstrip())


def print_groups(rows: "list[GroupRow] | None") -> None:
    """Print c of each group of instances, the worst first, as `mpu train --json` has it under ``c_by_group``."""
    if not rows:
        return
    header = ["group", "instances", "annotations", "c", "90 % from", "to", "missing", ""]
    table = [
        [
            row["group"],
            row["instances"],
            row["annotations"],
            row["c"],
            *row["interval"],
            f"{row['missing']:,.0f}",
            "pooled: few annotations" * row["pooled"],
        ]
        for row in sorted(rows, key=lambda row: row["c"])
    ]
    click.echo()
    print_table([header, *table])
