"""The fields of a record, and lists of tags that a field contains as text: read, and written back in the same form.

A field is identified by its name or by a path: ``meta.tags`` is the field ``tags`` of the object ``meta``. A field
whose own name contains the dot takes precedence: only if none exists is the name a path.

Lists are ``["a", "b"]`` (JSON), ``['a', 'b']`` and ``('a', 'b')`` (Python), ``['a' 'b']`` (NumPy), ``{a,"b c"}``
(PostgreSQL), ``<a><b>`` and ``|a|b|`` (Stack Exchange). Any other text has a separator between its tags.
"""

import json
import re
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from mpu_cli.runtime.files import json_value


def holder(fields: Mapping[str, object], name: str, is_inner: bool = False) -> tuple[Mapping[str, object], str] | None:
    """Return the object that contains a field, and the field's name in it; None if there is no such object.

    The object at the end of a path may lack the field; `is_inner` indicates that `fields` is such an inner object.

    >>> record = {"meta": {"tags": ["a"]}, "meta.id": 3}
    >>> holder(record, "meta.tags")
    ({'tags': ['a']}, 'tags')
    >>> holder(record, "meta.id")[1]
    'meta.id'
    >>> holder(record, "meta.title"), holder(record, "title")
    (({'tags': ['a']}, 'title'), None)
    """
    outer, _, inner = name.partition(".")
    within = None if name in fields or not inner else fields.get(outer)
    if within is None:
        return (fields, name) if is_inner or name in fields else None
    return holder(within, inner, is_inner=True) if isinstance(within, Mapping) else None


def value_of(fields: Mapping[str, object], name: str) -> object:
    """Return the value of a field; None if it is absent."""
    place = holder(fields, name)
    return None if place is None else place[0].get(place[1])


def with_value(text: str, name: str, value: object, encoder: json.JSONEncoder) -> str:
    """Return the text of a JSON object with a value for the field with a name or path; all else is unchanged.

    An object in the path is created if absent. ValueError if it is no object.

    >>> text = with_value('{"meta": {"id": 1.50}, "meta.n": 1}', "meta.tags", ["a"], json.JSONEncoder())
    >>> with_value(text, "meta.n", 2, json.JSONEncoder())
    '{"meta": {"id": 1.50, "tags": ["a"]}, "meta.n": 2}'
    """
    spans = _spans(text)
    outer, _, inner = name.partition(".")
    if name in spans or not inner:
        outer, new = name, encoder.encode(value)
    else:
        within = text[slice(*spans.get(outer, (0, 0)))]
        if not within.startswith("{") and within not in ("", "null"):
            raise ValueError(f"the field {outer!r} is not an object, so {name!r} cannot be set")
        new = with_value(within if within.startswith("{") else "{}", inner, value, encoder)
    if outer in spans:
        begin, end = spans[outer]
        return text[:begin] + new + text[end:]
    end = max((end for _, end in spans.values()), default=text.index("{") + 1)
    new = f"{encoder.item_separator * bool(spans)}{encoder.encode(outer)}{encoder.key_separator}{new}"
    return text[:end] + new + text[end:]


def _spans(text: str) -> dict[str, tuple[int, int]]:
    """Return where the value of each field of a JSON object begins and ends; of several with one name, the last."""
    found, at = [], text.index("{") + 1  # names and values, with their ends
    while text[at] != "}":
        if text[at] in " \t\r\n:,":
            at += 1
        else:
            value, end = json.JSONDecoder().raw_decode(text, at)
            found.append((value, (at, end)))
            at = end
    return {name: span for (name, _), (_, span) in zip(found[::2], found[1::2], strict=True)}


_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# By opening bracket of a list: the pattern of an item, of the text between two items, and of the end.
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
_MARKS = {"<": "><", "|": "|"}  # by the opening character of a text with marks: the text between its tags
_MARKED = re.compile(r"(?:<[^<>\s:]+(?: +[^<>\s:]+)*>)+|\|(?:[^|]+\|)+")
_BEGUN = re.compile(r"""[\[({]\s*['"]|\[\s*[\[{]""")  # no tag begins like this


def listed(text: str) -> list[object] | None:
    """Return the tags in a text that is a list; None if it is not a list.

    Raises ValueError (it begins like a list, but cannot be read as one).

    >>> listed("['a', 'b, c']"), listed("<Urban planning><c++>"), listed("a; b"), listed("[Anonymous]")
    (['a', 'b, c'], ['Urban planning', 'c++'], None, None)
    """
    text = text.strip()
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


_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[0-7])")  # of a character that is not ASCII


def has_escapes(text: str, otherwise: bool) -> bool:
    """Return whether a text in JSON escapes characters that are not ASCII; `otherwise` if it has none."""
    return _ESCAPE.search(text) is not None or (otherwise and text.isascii())


def relisted(text: str, removed: Callable[[object], bool], added: Iterable[str], escaped: bool = False) -> str:
    """Return the text of a list, as `listed` reads it, without some of its tags and with others appended.

    `escaped`: whether a list in JSON escapes characters that are not ASCII.
    Raises ValueError (a tag cannot be written in this form).

    >>> relisted("['a','b']", lambda tag: tag == "a", ["it's"]), relisted("<a>", lambda tag: False, ["b"])
    ('[\\'b\\',"it\\'s"]', '<a><b>')
    """
    inner, added = text.strip(), list(added)
    if _MARKED.fullmatch(inner):
        tags = [*(tag for tag in _marked(inner) if not removed(tag)), *added]
        after = f"{inner[0]}{_MARKS[inner[0]].join(tags)}{inner[-1]}" if tags else ""
        if tags and (not _MARKED.fullmatch(after) or _marked(after) != tags):
            raise ValueError(f"the tags {', '.join(added)} cannot be written as in {inner[:40]!r}")
        return after
    is_json = _json_list(inner) is not None
    kept = [*(tag for tag in listed(inner) or () if not removed(tag)), *added]
    between = re.search(r"(?:['\"]|\d)(\s*,\s*|\s+)(?=['\"\d])", inner)
    comma = between[1] if between else "," if inner[0] == "{" and "'" not in inner else ", "
    text_of = partial(json.dumps, ensure_ascii=escaped and is_json) if is_json or "'" not in inner else repr
    return f"{inner[0]}{comma.join(map(text_of, kept))}{inner[-1]}"


def _marked(text: str) -> list[str]:
    return text[1:-1].split(_MARKS[text[0]])


def _json_list(text: str) -> list[object] | None:
    try:
        values = json_value(text)
    except ValueError:
        return None
    if values == {}:  # PostgreSQL's empty list
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
        warnings.simplefilter("ignore")  # about escapes that Python does not recognise
        try:
            return str(literal_eval(item))
        except (SyntaxError, ValueError):
            return item[1:-1]
