"""Reports of commands, as ``--json`` prints them: dictionaries, and dataclasses within. docs/reports.md has the fields.

A field of a dataclass whose default is None is left out where it is None.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

# Metadata of a field that is not in the report, and of one that is null, and not left out, by default.
HIDDEN = {"json": "hidden"}
NULL = {"json": "null"}


def present(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def as_json(value: Any) -> Any:
    """Return a report, or a value in one, as JSON values: NaN is null, keys are texts."""
    if is_dataclass(value) and not isinstance(value, type):
        values = {}
        for of in fields(value):
            inner, how = getattr(value, of.name), of.metadata.get("json")
            if how != "hidden" and (inner is not None or of.default is not None or how == "null"):
                values[of.name] = as_json(inner)
        return values
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return str(value) if isinstance(value, Path) else value
