"""Reports of commands: dataclasses that ``--json`` prints. docs/reports.md has their fields.

A field whose default is None is left out where it is None; all others are in every report, perhaps as null.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

# Metadata of a field that is not in the report, of one whose entries are fields of the report, and of one that is null,
# and not left out, by default.
HIDDEN = {"json": "hidden"}
INLINE = {"json": "inline"}
NULL = {"json": "null"}


def as_json(value: Any) -> Any:
    """Return a report, or a value in one, as JSON values: NaN is null, keys are texts."""
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return str(value) if isinstance(value, Path) else value


def _fields(report: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for of in fields(report):
        value, how = getattr(report, of.name), of.metadata.get("json")
        if how == "hidden" or (value is None and of.default is None and how != "null"):
            continue
        values |= as_json(value) if how == "inline" else {of.name: as_json(value)}
    return values
