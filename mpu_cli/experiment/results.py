"""The files of an experiment: the table of finished cells, from which a killed experiment continues, and its settings.

Each is replaced as a whole, whenever a cell ends. Links in the folder are not followed.
"""

import csv
import io
import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError, MpuError, one_line
from mpu_cli.evaluation.compare import metric_names
from mpu_cli.experiment.cell import AVERAGES, LOSSES, Cell, Row
from mpu_cli.names import lines
from mpu_cli.runtime.files import open_regular, replacing
from mpu_cli.runtime.untrusted import json_value

# As in `mpu evaluate`, and estimates on complete labels, for a test set with incomplete labels.
METRICS = (*metric_names((1, 3, 5)), *LOSSES, *(f"corrected_{name}" for name in AVERAGES))
_CELL = tuple(field.name for field in fields(Cell))
_NUMBERS = ("fit_seconds", "predict_seconds", "c")
_TEXTS = ("dataset", "method", "version", "error")
_COUNTS = ("fold", "instances", "seed")
HEADER = ("dataset", "method", *_CELL[1:], *METRICS, *_NUMBERS, "seed", "version", "error")


def cell_of(row: Row) -> Cell:
    """Return the cell that a row is of."""
    return Cell(*(row[name] for name in _CELL))


def finished(path: Path, cells: Collection[Cell]) -> list[Row]:
    """Read the rows of finished cells; none where there is no file.

    InputError where a line, other than an unfinished last one, is not a row of these cells.
    """
    text = _content(path) or b""
    reader = csv.reader(io.StringIO(text[: text.rfind(b"\n") + 1].decode(errors="replace"), newline=""), strict=True)
    rows: list[Row] = []
    try:
        if next(reader, list(HEADER)) != list(HEADER):
            raise ValueError
        for values in reader:
            rows.append(row := _parsed(values))
            if cell_of(row) not in cells:
                raise ValueError
    except (ValueError, KeyError, csv.Error) as error:
        raise InputError(
            str(path),
            max(reader.line_num, 1),
            "not a line that this experiment wrote; remove it, and its cell is run again",
        ) from error
    return rows


def _parsed(values: Sequence[str]) -> Row:
    row: Row = {}
    for name, text in zip(HEADER, values, strict=True):
        if name in _TEXTS:
            row[name] = lines.meanings(text)[0] if text else ""
        elif text:
            row[name] = int(text) if name in _COUNTS else float(text)
    if not row["error"] and not row.keys() >= {*_NUMBERS}:
        raise ValueError
    return row


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the table; MpuError where it cannot be written."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEADER)
    table.writerows([lines.cell(str(row.get(name, ""))) for name in HEADER] for row in rows)
    write(path, text.getvalue().encode())


def write(path: Path, content: bytes) -> None:
    """Write a file in the folder, in place of whatever has its name; MpuError where it cannot be written."""
    try:
        with replacing(path) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise MpuError(f"{path}: cannot be written: {error.strerror}") from error


def keep_settings(path: Path, settings: dict[str, Any]) -> None:
    """Write the settings of an experiment to a JSON file, or compare them with those that it has.

    MpuError, which names them, where these are others.
    """
    settings = json.loads(json.dumps(settings))  # with lists for tuples
    if (content := _content(path)) is None:
        write(path, json.dumps(settings, indent=2).encode() + b"\n")
        return
    try:
        before = dict(json_value(content))
    except (ValueError, TypeError) as error:
        raise InputError(str(path), None, "not the settings of an experiment; give another --out") from error
    differing = [
        f"{name} {_shown(before.get(name))}, now {_shown(settings.get(name))}"
        for name in sorted(before.keys() | settings.keys())
        if before.get(name) != settings.get(name)
    ]
    if differing:
        raise MpuError(
            f"{path.parent} holds an experiment with other settings ({'; '.join(differing)}): "
            "give the same ones to continue it, or another --out"
        )


def _shown(value: Any) -> str:
    return one_line(",".join(map(str, value)) if isinstance(value, list) else str(value))


def _content(path: Path) -> bytes | None:
    """Return what is in a file, None where there is none."""
    try:
        with open_regular(path) as file:
            return file.readall()
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError(str(path), None, f"cannot be read: {error}; give another --out") from None
