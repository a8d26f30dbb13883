"""Tables, data and pages that commands write."""

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mpu_cli.svmlight.reader import read


def table(path: Path) -> list[dict[str, str]]:
    """Read the rows below comments and the names of columns."""
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def records(text: str) -> list[dict[str, Any]]:
    """Read JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


def write_records(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def first_lines(source: Path, n: int, target: Path) -> Path:
    """Copy so many lines of a file; return the copy."""
    target.write_bytes(b"".join(source.read_bytes().splitlines(keepends=True)[:n]))
    return target


def label_sets(path: Path) -> list[set[int]]:
    """Read the labels of each instance of a data file."""
    return [set(row.indices.tolist()) for row in read(path).labels]


def data_of_page(path: Path) -> dict[str, Any]:
    """Read what a page for reviewing shows."""
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL)[1])
