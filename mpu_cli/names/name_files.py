"""Files of names: UTF-8 text, in one of two forms.

- Line k names label k, or label k - 1 where labels count from 0. An empty line: the label has no name.
- Every line has a number, a tab and a name; labels that have no line have no name.

In both, further names of the same label follow, separated by tabs; a name may be a URI, the identity of the label in a
thesaurus, also in angle brackets, as in the vocabularies of Annif. URIs are matched as names, but have no words. A file
has the second form if its first line that is not empty starts with a whole number and a tab.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from mpu_cli.errors import InputError
from mpu_cli.names.lines import text_lines, whole
from mpu_cli.svmlight.grammar import MAX_ID

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


# Label: its names, the main one first; possibly none.
Names = dict[int, tuple[str, ...]]

_MOST_NAMES = 10**7
# How some of the first lines of Turtle, RDF/XML and N-Triples begin.
_RDF = re.compile(r"\s*(?:@(?:prefix|base)\s|(?:PREFIX|BASE)\s+\S*\s*<|<\?xml|<rdf:RDF|<[^<>]+>\s+<[^<>]+>)")
_LOOKED_AT = 100
_NUMBERED = re.compile(r"\s*[0-9]+\s*\t")


def read_names(
    source: str | Path, first: int = 1, largest: int | None = None, is_ours: bool = False
) -> tuple[Names, bool]:
    """Read a file of names, by label; return also whether lines have numbers.

    `first`: {0, 1}: the label that line 1 names, where lines have no numbers.
    `largest`: stop after the name of this label, where lines have no numbers: the file may be endless.
    `is_ours`: whether `mpu vectorize` has written the file: each line is a name, whatever it looks like.
    Raises InputError (the file cannot be read, is empty, or a line has neither of these forms).
    """
    return parse_names(text_lines(source, is_ours=is_ours), str(source), first, largest, is_ours)


def parse_names(
    lines: Iterable[str], source: str, first: int = 1, largest: int | None = None, is_ours: bool = False
) -> tuple[Names, bool]:
    """Read names from lines; as `read_names`."""
    names: Names = {}
    is_numbered: bool | None = None
    for place, line in enumerate(lines, 1):
        if place > _MOST_NAMES:
            raise InputError(source, None, f"has more than {_MOST_NAMES:,} lines; is this a file of names?")
        if place <= _LOOKED_AT and not is_ours and _RDF.match(line):
            raise InputError(
                source,
                place,
                "this is RDF, and not a name; `mpu vectorize --labels` reads it from a file called .ttl, .rdf, .nt or "
                ".jsonld",
            )
        if is_numbered is None and line.strip():
            is_numbered = not is_ours and bool(_NUMBERED.match(line))
        if not is_numbered:
            names[place - 1 + first] = _fields(line)
            if place - 1 + first == largest:
                break
        elif line.strip():
            number, texts = _numbered(line, source, place)
            if number in names:
                raise InputError(
                    source, place, f"label {number} has a line already; put all names of a label on one, between tabs"
                )
            names[number] = texts
    if is_numbered is None:
        raise InputError(source, None, "there is no name in it; line k should name label k")
    return names, is_numbered


def _numbered(line: str, source: str, place: int) -> tuple[int, tuple[str, ...]]:
    text, tab, rest = line.partition("\t")
    text = text.strip()
    number = whole(text, MAX_ID)
    if not tab or (number is None and not (text.isascii() and text.isdigit())):
        raise InputError(
            source, place, "this line does not begin with a number and a tab, as the first one does; number all or none"
        )
    if number is None:
        raise InputError(source, place, f"no label can have the number {text[:40]}; the largest is {MAX_ID}")
    return number, _fields(rest)


def _fields(line: str) -> tuple[str, ...]:
    """Return the names of a line, each once, URIs last; none if the first is empty."""
    main, *others = (field.strip() for field in line.split("\t"))
    return tuple(dict.fromkeys(uris_last([main, *filter(None, others)]))) if main else ()
