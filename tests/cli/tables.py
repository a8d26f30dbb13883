"""Tables that commands write."""

import csv
from pathlib import Path


def table(path: Path) -> list[dict[str, str]]:
    """Read the rows below comments and the names of columns."""
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
