"""The fields of a record by name or by path: ``meta.tags`` is the field ``tags`` of the object ``meta``.

A field whose own name has the dot comes first: only without it is the name a path. `value_of` gets a field, and
`with_value` sets one in the text of a JSON object, in which all else stays as it was written.
"""

import json
from collections.abc import Iterator, Mapping

from mpu_cli.runtime.untrusted import MOST_LEVELS, json_value

# Of a JSON text, only the places of values count: numbers may have thousands of digits.
_PLACES = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_BLANKS = " \t\r\n"


def holder(fields: Mapping[str, object], name: str) -> tuple[Mapping[str, object], str] | None:
    """Return the object in which a field is, and its name there; None if there is no such object.

    The object at the end of a path may lack the field.

    Examples
    --------
    >>> record = {"meta": {"tags": ["a"]}, "meta.id": 3}
    >>> holder(record, "meta.tags")
    ({'tags': ['a']}, 'tags')
    >>> holder(record, "meta.id")[1]
    'meta.id'
    >>> holder(record, "meta.title"), holder(record, "title")
    (({'tags': ['a']}, 'title'), None)
    """
    if name in fields:
        return fields, name
    outer, _, inner = name.partition(".")
    within = fields.get(outer)
    return _place(within, inner) if inner and isinstance(within, Mapping) else None


def _place(fields: Mapping[str, object], name: str) -> tuple[Mapping[str, object], str] | None:
    outer, _, inner = name.partition(".")
    within = None if name in fields or not inner else fields.get(outer)
    if within is None:
        return fields, name
    return _place(within, inner) if isinstance(within, Mapping) else None


def value_of(fields: Mapping[str, object], name: str) -> object:
    """Return the value of a field; None without it."""
    place = holder(fields, name)
    return None if place is None else place[0].get(place[1])


def with_value(line: str, name: str, value: str) -> str:
    """Return the text of a JSON object in which a field, by its name or path, has the value of another JSON text.

    Of equal names the last one counts, as for readers of JSON. A field that is not there is added at the end, in an
    object of its own where the one of the path is missing or null. ValueError where the path leads through another
    value, or deeper than JSON is read.

    Examples
    --------
    >>> with_value('{"n": 1.50, "meta": {"id": 7}}', "meta.tags", '["a"]')
    '{"n": 1.50, "meta": {"id": 7, "tags": ["a"]}}'
    >>> with_value('{ "n":1 }', "n", "2")
    '{ "n":2 }'
    """
    after = _with_value(line, name, value)
    json_value(after.removeprefix("\ufeff"))  # the mark of a byte order may stand before the first record
    return after


def _with_value(line: str, name: str, value: str, level: int = 0) -> str:
    if level > MOST_LEVELS:
        raise ValueError(f"the path is too deep: it leads through more than {MOST_LEVELS} objects")
    places = {field: (start, end) for field, start, end in _values(line)}
    outer, _, inner = name.partition(".")
    if name in places or not inner:
        return _with_own(line, places, name, value)
    start, end = places.get(outer, (0, 0))
    within = line[start:end] if end and line[start:end] != "null" else "{}"
    if not within.startswith("{"):
        raise ValueError(f"the field {outer!r} is not an object, so {name!r} cannot be set")
    return _with_own(line, places, outer, _with_value(within, inner, value, level + 1))


def _with_own(line: str, places: dict[str, tuple[int, int]], name: str, value: str) -> str:
    if name in places:
        start, end = places[name]
        return f"{line[:start]}{value}{line[end:]}"
    end = line.rindex("}")
    inside = line[:end].rstrip()
    return f"{inside}{', ' if places else ''}{json.dumps(name, ensure_ascii=line.isascii())}: {value}{line[end:]}"


def _values(line: str) -> Iterator[tuple[str, int, int]]:
    """Yield each field of the text of a JSON object, with start and end of its value."""
    place = _next(line, line.index("{") + 1)
    while line[place] != "}":
        name, place = _PLACES.raw_decode(line, place)
        start = _next(line, _next(line, place) + len(":"))
        _, end = _PLACES.raw_decode(line, start)
        yield name, start, end
        place = _next(line, end)
        if line[place] == ",":
            place = _next(line, place + 1)


def _next(line: str, place: int) -> int:
    """Return the place of the next character that is no blank."""
    while line[place] in _BLANKS:
        place += 1
    return place
