"""What a request asks for: texts or instances, read from its body and checked. What makes no sense is refused."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from scipy.sparse import csr_array
from starlette.exceptions import HTTPException

from mpu_cli.names.label_names import quoted
from mpu_cli.names.lines import is_utf8, whole
from mpu_cli.runtime.options import Whole
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.serve import Limits
from mpu_cli.svmlight.grammar import FLOAT32_OVERFLOW, MAX_ID

_USUAL_TOP = 20
_FIELDS = ("texts", "instances", "top")
# Of Annif's http backend, with all fields that begin with `metadata_`.
_ANNIF_FIELDS = ("text", "limit", "project")
_ANNIF_LIMIT = "10"


@dataclass(frozen=True)
class Asked:
    """A request.

    Attributes
    ----------
    data : list of str, or csr_array of float32, shape (n, any)
        Texts, or the features of instances.
    top : int
        How many scores of each are wanted.
    """

    data: list[str] | csr_array
    top: int


def from_json(body: bytes, limits: Limits) -> Asked:
    """Read ``{"texts": [...]}`` or ``{"instances": [{"index": value, ...}, ...]}``, perhaps with ``"top"``.

    Raises
    ------
    HTTPException
        It makes no sense (400), or has more instances than are allowed (413).
    """
    values = _read(lambda: json_value(body, unique=True), "the body")
    if not isinstance(values, dict):
        raise HTTPException(400, "the body is no JSON object")
    _refuse_unknown(values, _FIELDS)
    if ("texts" in values) == ("instances" in values):
        raise HTTPException(400, 'give {"texts": [...]} or {"instances": [{"index": value, ...}, ...]}')
    name = "texts" if "texts" in values else "instances"
    items, kind = values[name], str if name == "texts" else dict
    if not isinstance(items, list) or not all(isinstance(one, kind) for one in items):
        raise HTTPException(400, f"{name}: give a list of {'texts' if kind is str else 'objects'}")
    if len(items) > limits.max_instances:
        raise HTTPException(413, f"{len(items):,} {name}: give at most {limits.max_instances:,} at a time")
    wanted = values.get("top", min(_USUAL_TOP, limits.max_top))
    top = _read(lambda: Whole(1, limits.max_top).check(wanted), "top")
    return Asked(_texts(items) if kind is str else _features(items), top)


def from_form(body: bytes, limits: Limits) -> Asked:
    """Read the form that Annif's http backend sends: ``text=...&limit=10``; HTTPException as for `from_json`."""
    pairs = _read(lambda: parse_qsl(body.decode(), keep_blank_values=True, errors="strict"), "the form")
    values = dict(pairs)
    _refuse_unknown([name for name in values if not name.startswith("metadata_")], _ANNIF_FIELDS)
    if len(values) < len(pairs) or "text" not in values:
        raise HTTPException(400, "give a form with one field text, and perhaps one field limit")
    top = _read(lambda: Whole(1, limits.max_top).parse(values.get("limit", _ANNIF_LIMIT)), "limit")
    return Asked(_texts([values["text"]]), top)


def _read(read: Callable[[], Any], name: str) -> Any:
    try:
        return read()
    except ValueError as error:
        raise HTTPException(400, f"{name}: {error}") from None


def _refuse_unknown(names: Collection[str], fields: tuple[str, ...]) -> None:
    if unknown := [name for name in names if name not in fields]:
        raise HTTPException(400, f"{quoted(unknown[0])} is no field of a request; there are {', '.join(fields)}")


def _texts(texts: list[str]) -> list[str]:
    for number, text in enumerate(texts, 1):
        if not is_utf8(text):
            raise HTTPException(400, f"text {number} has half of a surrogate pair (\\ud800 to \\udfff)")
    return texts


def _features(instances: list[dict[str, Any]]) -> csr_array:
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, instance in enumerate(instances):
        numbered = [(whole(index, MAX_ID), value) for index, value in instance.items()]
        entries = {index: value for index, value in numbered if index is not None}
        if len(entries) < len(instance):
            raise HTTPException(400, f"instance {row + 1}: give each index once, a whole number from 0 to {MAX_ID:,}")
        for index, value in entries.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < FLOAT32_OVERFLOW:
                raise HTTPException(400, f"instance {row + 1}: the value of {index} is no number of 32 bits")
        rows += [row] * len(entries)
        columns += entries
        values += entries.values()
    shape = len(instances), max(columns, default=0) + 1
    return csr_array((np.array(values, np.float32), (rows, columns)), shape=shape)
