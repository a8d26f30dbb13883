"""Reports of commands: dataclasses from which both what ``--json`` prints and its schema in ``docs/schemas`` follow.

A field whose default is None is left out where it is None; all others are in every report, perhaps as null.
Descriptions in schemas are comments on fields that begin with ``#:``, or docstrings.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

# What a schema says beyond the type.
Count = Annotated[int, ("minimum", 0)]
Share = Annotated[float, ("minimum", 0), ("maximum", 1)]
Frequency = Annotated[float, ("exclusiveMinimum", 0), ("maximum", 1)]
Interval = Annotated[Sequence[float], ("minItems", 2), ("maxItems", 2)]

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
