"""URIs among names: the identity of a label in a thesaurus. They are matched as names, but have no words."""

import re
from collections.abc import Iterable

# Of schemes that identify something; `role::program` and `subject:history` are names.
_URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:|info:)[^\s<>]+")


def is_uri(text: str) -> bool:
    """Whether a name is a URI."""
    return _URI.fullmatch(text) is not None


def uri_of(names: Iterable[str]) -> str | None:
    """Return the first URI among the names of a label; None if there is none."""
    return next(filter(is_uri, names), None)


def without_brackets(text: str) -> str:
    """Return a URI without the angle brackets around it, and any other text as it is."""
    inner = text[1:-1]
    return inner if text.startswith("<") and text.endswith(">") and is_uri(inner) else text


def uris_last(names: Iterable[str]) -> list[str]:
    """Return the names of a label, those that are URIs after the others, so that the main name is for people."""
    return sorted(map(without_brackets, names), key=is_uri)
