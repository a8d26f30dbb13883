"""Tags that are a list in one text, as exports write them, read and written back in the same form.

These are ``["a", "b"]`` (JSON), ``['a', 'b']`` and ``('a', 'b')`` (Python), ``['a' 'b']`` (NumPy), ``{a,"b c"}``
(PostgreSQL), ``<a><b>`` and ``|a|b|`` (Stack Exchange). Any other text has a separator between its tags.
"""

import json
import re
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterable

from mpu_cli.runtime.untrusted import json_value

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
_OPENING = {"<", "|", *_FORMS}
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
        after = f"{inner[0]}{_between(inner).join(kept)}{inner[-1]}" if kept else ""
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


def _between(text: str) -> str:
    return "><" if text[0] == "<" else "|"


def _marked(text: str) -> list[str]:
    return text[1:-1].split(_between(text))


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
