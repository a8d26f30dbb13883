"""The fields of a record, and lists of tags that one of them has as a text: read, and written back in the same form.

A field is called by its name or by a path: ``meta.tags`` is the field ``tags`` of the object ``meta``. A field whose
own name has the dot comes first: only without it is the name a path. `value_of` gets a field, and `with_value` sets one
in the text of a JSON object, in which all else stays as it was written.

Lists are ``["a", "b"]`` (JSON), ``['a', 'b']`` and ``('a', 'b')`` (Python), ``['a' 'b']`` (NumPy), ``{a,"b c"}``
(PostgreSQL), ``<a><b>`` and ``|a|b|`` (Stack Exchange). Any other text has a separator between its tags.
"""

import json
import re
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping

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
    return _holder(fields, name, is_inner=False)


def _holder(fields: Mapping[str, object], name: str, is_inner: bool) -> tuple[Mapping[str, object], str] | None:
    outer, _, inner = name.partition(".")
    within = None if name in fields or not inner else fields.get(outer)
    if within is None:
        return (fields, name) if is_inner or name in fields else None
    return _holder(within, inner, is_inner=True) if isinstance(within, Mapping) else None


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


_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# By how a list opens: an item, what is between two of them, how it closes.
_FORMS = {
    "(": (_QUOTED, r"\s*+,\s*+", r"\)"),
    "[": (rf"{_QUOTED}|\d++", r"\s*+,\s*+|\s++", r"\]"),
    "{": (rf"{_QUOTED}|[^\s,'\"{{}}][^,'\"{{}}]*+", r",\s*+", r"\}"),
}
_ITEMS = {opening: re.compile(item, re.DOTALL) for opening, (item, _, _) in _FORMS.items()}
_LISTS = {
    opening: re.compile(rf"\{opening}\s*+(?:(?:{item})(?:{between}|(?={closing})))*{closing}", re.DOTALL)
    for opening, (item, between, closing) in _FORMS.items()
}
_MARKS = {"<": "><", "|": "|"}  # by how a text with marks opens: what is between its tags
_OPENING = {*_MARKS, *_FORMS}
_MARKED = re.compile(r"(?:<[^<>\s:]+>)+|\|(?:[^|]+\|)+")
_BEGUN = re.compile(r"""[\[({]\s*['"]|\[\s*[\[{]""")  # which no tag begins with


def listed(text: str) -> list[object] | None:
    """Return the tags of a text that is a list; None if it is none.

    Raises ValueError (it begins as a list, and is none that can be read).

    Examples
    --------
    >>> listed("['a', 'b, c']"), listed("<python><c++>"), listed("a; b"), listed("[Anonymous]")
    (['a', 'b, c'], ['python', 'c++'], None, None)
    """
    text = text.strip()
    if text[:1] not in _OPENING:
        return None
    if _MARKED.fullmatch(text):
        return list(_marked(text))
    if text[:1] in _FORMS:
        if (values := _json_list(text)) is not None:
            return values
        if _LISTS[text[0]].fullmatch(text):
            return [_value(item) for item in _ITEMS[text[0]].findall(text[1:-1])]
    if _BEGUN.match(text):
        raise ValueError(f"begins like a list of texts, but is not one: {text[:40]!r}")
    return None


def relisted(text: str, removed: Callable[[object], bool], added: Iterable[str]) -> str:
    """Return the text of a list, as `listed` reads it, without some of its tags, and with others at the end.

    Raises ValueError (a tag cannot be written in this form).

    Examples
    --------
    >>> relisted("['a','b']", lambda tag: tag == "a", ["it's"]), relisted("<a>", lambda tag: False, ["b"])
    ('[\\'b\\',"it\\'s"]', '<a><b>')
    """
    inner, added = text.strip(), list(added)
    if _MARKED.fullmatch(inner):
        kept = [*(tag for tag in _marked(inner) if not removed(tag)), *added]
        after = f"{inner[0]}{_MARKS[inner[0]].join(kept)}{inner[-1]}" if kept else ""
        if kept and (not _MARKED.fullmatch(after) or _marked(after) != kept):
            raise ValueError(f"the tags {', '.join(added)} cannot be written as in {inner[:40]!r}")
        return after
    if (values := _json_list(inner)) is not None:
        kept = [json.dumps(value, ensure_ascii=text.isascii()) for value in values if not removed(value)]
        new = [json.dumps(tag, ensure_ascii=text.isascii()) for tag in added]
    else:
        kept = [item for item in _ITEMS[inner[0]].findall(inner[1:-1]) if not removed(_value(item))]
        new = [repr(tag) if "'" in inner or inner[0] != "{" else json.dumps(tag, ensure_ascii=False) for tag in added]
    between = re.search(r"(?:['\"]|\d)(\s*,\s*|\s+)(?=['\"\d])", inner)
    comma = between[1] if between else "," if inner[0] == "{" and "'" not in inner else ", "
    return f"{inner[0]}{comma.join([*kept, *new])}{inner[-1]}"


def _marked(text: str) -> list[str]:
    return text[1:-1].split(_MARKS[text[0]])


def _json_list(text: str) -> list[object] | None:
    try:
        values = json_value(text)
    except ValueError:
        return None
    if values == {}:  # of PostgreSQL
        return None
    if not isinstance(values, list):
        raise ValueError("is an object in JSON")
    return values


def _value(item: str) -> str:
    item = item.strip()
    if item[:1] not in ("'", '"'):
        return item
    if "\\" not in item:
        return item[1:-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python does not know
        try:
            return str(literal_eval(item))
        except (SyntaxError, ValueError):
            return item[1:-1]
