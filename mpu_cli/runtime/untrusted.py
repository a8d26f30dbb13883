"""JSON that may come from an untrusted source."""

import json
import math
from typing import Any

_MOST_LEVELS = 100
_TOO_DEEP = f"this is not JSON that can be read: it is nested more than {_MOST_LEVELS} deep"


def expect(condition: bool, otherwise: str) -> None:
    """Raise ValueError with this message if a condition does not hold."""
    if not condition:
        raise ValueError(otherwise)


def json_value(text: str | bytes, strict: bool = False) -> Any:
    """Return the value of a JSON text.

    Raises ValueError, with a message that can be shown to users, if the text is not JSON; if `strict`, and a key is
    duplicate or a number is not finite; or if lists and objects are nested more than 100 deep, which is never intended
    and breaks recursive functions: the JSON reader and writer, and `repr`.
    """
    try:
        value = json.loads(text, **_STRICT if strict else {})
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:  # also of a number with thousands of digits, which Python refuses
        if strict and not isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise
        raise ValueError("this is not JSON") from None
    level: list[dict[str, Any] | list[Any]] = [[value]]
    for _ in range(_MOST_LEVELS + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise ValueError(_TOO_DEEP)


def _unique(pairs: list[tuple[Any, ...]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("duplicate key")
    return values


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("a number is not finite")
    return number


_STRICT: dict[str, Any] = {
    "object_pairs_hook": _unique,
    "parse_float": _finite,
    "parse_constant": _finite,
}


def json_object(text: bytes) -> dict[str, Any]:
    """Return the values of a JSON object, read by `json_value` in strict mode; ValueError if it is not an object."""
    values = json_value(text, strict=True)
    expect(isinstance(values, dict), "it is not a JSON object")
    return values
