"""Reports: as JSON, and for people as tables, and as names with their values.

A report is a dictionary, perhaps with dataclasses within. docs/reports.md has the fields.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from mpu_cli.errors import abridged, for_terminal

QUESTIONS = "mpu suggest FILE --questions 40"
_WIDE = 0.2
_MOST_LISTED = 20  # numbers of a list


def first_of_all(interval: Sequence[float] | None) -> str:
    """Return what to do first where the interval of c by annotations alone leaves too much open; nothing elsewhere."""
    is_wide = interval is not None and interval[1] - interval[0] > _WIDE
    return f"answer 40 questions, since annotations alone leave c open: {QUESTIONS}" * is_wide


def present(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def as_json(value: Any) -> Any:
    """Return a report, or a value in one, as JSON values: NaN is null, keys are texts.

    A field of a dataclass whose default is None is left out where it is None.
    """
    if is_dataclass(value) and not isinstance(value, type):
        inner = {of.name: getattr(value, of.name) for of in fields(value)}
        left_out = {of.name for of in fields(value) if of.default is None and inner[of.name] is None}
        return {name: as_json(item) for name, item in inner.items() if name not in left_out}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return str(value) if isinstance(value, Path) else value


def print_table(rows: list[list[Any]]) -> None:
    """Print rows of equal length in aligned columns. The first column is aligned left, the others right."""
    cells = [[f"{cell:.4f}" if isinstance(cell, float) else for_terminal(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        line = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(line).rstrip())


def print_groups(rows: list[dict[str, Any]] | None) -> None:
    """Print c of each group of instances, the worst first, as `mpu train --json` has it under ``c_by_group``."""
    if rows:
        click.echo()
        print_rates(sorted(rows, key=itemgetter("c")), ["group", "instances", "annotations"], 0)


def print_rates(rows: list[dict[str, Any]], names: list[str], digits: int) -> None:
    """Print c of groups or labels, with its interval and how many labels are missing, after the columns of names."""
    table = [
        [
            *(row[name] for name in [*names, "c"]),
            *row["interval"],
            f"{row['missing']:,.{digits}f}",
            "pooled: few annotations" if row["pooled"] else "unreliable" * row.get("unreliable", False),
        ]
        for row in rows
    ]
    print_table([[*names, "c", "90 % from", "to", "missing", ""], *table])


def print_lines(lines: dict[str, str]) -> None:
    """Print texts, each after its name, in two columns."""
    width = max(map(len, lines), default=0) + 2
    for name, text in lines.items():
        click.echo(f"{for_terminal(name):<{width}}{for_terminal(text)}")


def print_values(report: Any) -> None:
    """Print a report by the names of its JSON: its values line by line, then each list of objects as a table."""
    values = _flat(as_json(report))
    tables = {
        name: value
        for name, value in values.items()
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    }
    print_lines({name: _written(value) for name, value in values.items() if name not in tables})
    for number, (name, rows) in enumerate(tables.items(), len(values) - len(tables)):
        click.echo("\n" * bool(number) + for_terminal(name))
        flat = [_flat(row) for row in rows]
        columns = list(dict.fromkeys(column for row in flat for column in row))
        print_table([columns, *([row.get(column, "") for column in columns] for row in flat)])


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Return values by name, those of an object as ``object.name``."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= (
            {f"{name}.{inner}": of for inner, of in _flat(value).items()} if isinstance(value, dict) else {name: value}
        )
    return flat


def _written(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, list):
        return abridged(map(_written, value[:_MOST_LISTED]), len(value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
