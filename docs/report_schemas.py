"""The schemas of reports, from the dataclasses that these are: ``python -m docs.report_schemas`` writes them."""

import inspect
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from mpu_cli.commands import apply, estimate_c, evaluate, info, suggest, train, vectorize, versions
from mpu_cli.commands import report as reporting

FOLDER = Path(__file__).parent / "schemas"
# The title of the schema of each report, and what it says beyond the fields.
REPORTS: dict[str, tuple[type, str, dict[str, Any]]] = {
    "apply": (apply.TaggingReport, "`mpu apply --json`", {}),
    "comparison": (evaluate.ComparisonReport, "`mpu evaluate A B --json`", {}),
    "suggest": (suggest.SuggestionReport, "`mpu suggest --json`", {}),
    "estimate-c": (estimate_c.FrequencyReport, "`mpu estimate-c --json`", {}),
    "evaluate": (evaluate.EvaluationReport, "`mpu evaluate --json`, of one file of predictions", {}),
    "history-line": (train.HistoryLine, "A line of `mpu train --history`", {}),
    "info": (info.ModelReport, "`mpu info MODEL --json`", {}),
    "questions": (estimate_c.Asked, "`mpu suggest --questions N --json`", {}),
    "report": (reporting.MissingLabelsReport, "`mpu report --json`", {}),
    "train": (
        train.TrainingReport,
        "`mpu train --json`",
        {"oneOf": [{"required": ["threshold"]}, {"required": ["thresholds"]}]},
    ),
    "vectorize": (vectorize.VectorizationReport, "`mpu vectorize --json`", {}),
    "versions": (versions.VersionsReport, "`mpu versions MODEL --json`", {}),
}
_SIMPLE = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string", NoneType: "null"}


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of a report, in which each command adds its warnings."""
    report, title, more = REPORTS[name]
    schema = _object(report)
    schema["properties"]["warnings"] = {"$ref": "common.schema.json#/$defs/warnings"}
    schema["required"] += ["warnings"] * ("warnings" not in schema["required"])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{name}.schema.json", "title": title}
    return head | schema | more


def _object(kind: Any) -> dict[str, Any]:
    """Return the schema of a dataclass or a typed dictionary."""
    hints, texts = get_type_hints(kind, include_extras=True), _descriptions(kind)
    if is_dataclass(kind):
        how = {field.name: field.metadata.get("json") for field in fields(kind)}
        optional = {name for name in how if kind.__dataclass_fields__[name].default is None and how[name] != "null"}
    else:
        how, optional = dict.fromkeys(hints), kind.__optional_keys__
    properties, required, patterns = {}, [], []
    for name in how:
        if how[name] == "hidden":
            continue
        left_out = name in optional and is_dataclass(kind)  # where it is None
        inner = schema(_without_none(hints[name]) if left_out else hints[name])
        if how[name] == "inline":
            properties |= inner.get("properties", {})
            required += [] if name in optional else inner.get("required", [])
            patterns += [inner] if "$ref" in inner else []
            continue
        text = texts.get(name, "").replace("None", "left out" if left_out else "null")
        properties[name] = inner | ({"description": text} if text else {})
        required += [] if name in optional else [name]
    closed = {"allOf": patterns, "unevaluatedProperties": False} if patterns else {"additionalProperties": False}
    return {"type": "object", "properties": properties, "required": required, **closed}


def schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a type of Python."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin is Annotated:
        more = dict(args[1:])
        return more if "$ref" in more else schema(args[0]) | more
    if origin is NotRequired:
        return schema(args[0])
    if origin in (Union, UnionType):
        one_of = [schema(of) for of in args]
        if len(one_of) == 2 and one_of[1] == {"type": "null"} and "type" in one_of[0] and "properties" not in one_of[0]:
            return one_of[0] | {"type": [one_of[0]["type"], "null"]}
        return {"anyOf": one_of}
    if origin in (list, Sequence, tuple):
        return {"type": "array", "items": schema(args[0])}
    if origin is dict:
        keys = {"propertyNames": {"pattern": "^[0-9]+$"}} if args[0] is int else {}
        return {"type": "object", **keys, **({} if args[1] is Any else {"additionalProperties": schema(args[1])})}
    return _object(kind) if is_dataclass(kind) or is_typeddict(kind) else {"type": _SIMPLE[kind]}


def _without_none(kind: Any) -> Any:
    return reduce(or_, (of for of in get_args(kind) if of is not NoneType)) if NoneType in get_args(kind) else kind


def _descriptions(kind: type) -> dict[str, str]:
    """Return what is said of each attribute, on one line: in comments with ``#:``, or in the docstring."""
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in (inspect.getdoc(kind) or "").partition("Attributes\n----------\n")[2].splitlines():
        if line.startswith("    "):
            texts |= {name: f"{texts.get(name, '')} {line.strip()}".strip() for name in names}
        else:
            names = line.partition(" : ")[0].split(", ")
    return texts | _comments(kind)


def _comments(kind: type) -> dict[str, str]:
    """Return the comments on attributes: after one, or above it; or above several, whose names come first then."""
    texts: dict[str, str] = {}
    above = ""
    with suppress(OSError):  # of a typed dictionary that is made by a call
        for line in map(str.strip, inspect.getsource(kind).splitlines()):
            if line.startswith("#:"):
                above += line.removeprefix("#:")
                continue
            if (name := line.partition(":")[0]).isidentifier():
                text = line.partition("  #: ")[2] or above.strip()
                several = re.match(r"((?:`\w+`(?:, )?)+): ", text)
                names = re.findall(r"\w+", several[1]) if several else [name]
                texts |= dict.fromkeys(names if text else (), text[several.end() :] if several else text)
            above = ""
    return texts


def written(schema: dict[str, Any]) -> str:
    """Return the content of a file."""
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for name in REPORTS:
        (FOLDER / f"{name}.schema.json").write_text(written(schema_of(name)))
