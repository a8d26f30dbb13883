"""JSON that somebody else has written."""

import json
from typing import Any

MOST_LEVELS = 100


def json_value(text: str | bytes, unique: bool = False) -> Any:
    """Return the value of a JSON text.

    Parameters
    ----------
    text : str or bytes
    unique : bool
        Whether an object with a key twice is refused.

    Raises
    ------
    ValueError
        It is no JSON; a key is there twice; or lists and objects in it are nested more than `MOST_LEVELS` deep, which
        nobody means, and at which fails whatever calls itself for what is inside: the reader of JSON, its writer,
        `repr`. The message can be part of one for users.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique if unique else None)
    except RecursionError:
        raise _too_deep() from None
    except _TwiceError:
        raise
    except ValueError:  # also of numbers with thousands of digits, which are none for Python
        raise ValueError("this is not JSON") from None
    level: list[dict | list] = [[value]]
    for _ in range(MOST_LEVELS + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise _too_deep()


class _TwiceError(ValueError):
    pass


def _unique(pairs: list[tuple]) -> dict:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _TwiceError("a key is there twice")
    return values


def _too_deep() -> ValueError:
    return ValueError(f"this is not JSON that can be read: it is nested more than {MOST_LEVELS} deep")
