"""Labels by name, and records by id: which label or instance a text represents.

docs/guide/formats.md describes the two forms of files of names. A name may be a URI, the label's identity in a
thesaurus, also in angle brackets, as in Annif's vocabularies. URIs are matched like names, but contain no words. A file
has the form with numbers if its first non-empty line starts with a whole number and a tab.

Names are the same if they are in Unicode's NFC, and are kept as written.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from mpu_cli.errors import CONTROL, InputError, abridged
from mpu_cli.names.lines import cell, composed, meanings, whole
from mpu_cli.svmlight.grammar import MAX_ID

# Only URI schemes for identifiers; `role::program` and `subject:history` are names.
_URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:|info:)[^\s<>]+")


def is_uri(text: str) -> bool:
    """Return whether a name is a URI."""
    return _URI.fullmatch(text) is not None


def uri_of(names: Iterable[str]) -> str | None:
    """Return the first URI among the names of a label; None if there is none."""
    return next(filter(is_uri, names), None)


def without_brackets(text: str) -> str:
    """Return a URI without its angle brackets, and any other text unchanged."""
    inner = text[1:-1]
    return inner if text.startswith("<") and text.endswith(">") and is_uri(inner) else text


# Label: its names, the main one first; possibly none.
Names = dict[int, tuple[str, ...]]

_MOST_NAMES = 10**7
_NO_NAMES = {
    # The beginnings of some first lines in Turtle, RDF/XML and N-Triples.
    r"\s*(?:@(?:prefix|base)\s|(?:PREFIX|BASE)\s+\S*\s*<|<\?xml|<rdf:RDF|<[^<>]+>\s+<[^<>]+>)": "RDF, not a name; "
    "`mpu vectorize --labels` reads it from a file called .ttl, .rdf, .nt or .jsonld",
    r"[0-9, ]*(?: [0-9]+:[-+.0-9eE]+){2,}\s*\Z": "LIBSVM data, not a name; give the file of names",
}
_LOOKED_AT = 100
_NUMBERED = re.compile(r"\s*[0-9]+\s*\t")


def parse_names(lines: Iterable[str], source: str, first: int = 1, is_ours: bool = False) -> tuple[Names, bool]:
    """Read label names from the lines of a file; also return whether the lines have numbers.

    `first`: {0, 1}: the label that line 1 names, if lines have no numbers.
    `is_ours`: whether `mpu vectorize` has written the file: each line is a name, whatever its form.
    Raises InputError (the file is empty, or a line has neither of these forms).
    """
    names: Names = {}
    is_numbered: bool | None = None
    for place, line in enumerate(lines, 1):
        if place > _MOST_NAMES:
            raise InputError(source, f"has more than {_MOST_NAMES:,} lines; is this a file of names?")
        for pattern, what in _NO_NAMES.items():
            if place <= _LOOKED_AT and not is_ours and re.match(pattern, line):
                raise InputError(source, f"this is {what}", place)
        if is_numbered is None and line.strip():
            is_numbered = not is_ours and bool(_NUMBERED.match(line))
        if not is_numbered:
            names[place - 1 + first] = _fields(line)
        elif line.strip():
            text, tab, rest = line.partition("\t")
            number = as_number(text.strip())
            if not tab or number is None:
                problem = f"does not begin with a number up to {MAX_ID} and a tab, as the first one does"
                raise InputError(source, f"this line {problem}; number all or none", place)
            if number in names:
                problem = f"label {number} has a line already; put all its names on one line, separated by tabs"
                raise InputError(source, problem, place)
            names[number] = _fields(rest)
    if is_numbered is None:
        raise InputError(source, "there is no name in it; line k should name label k")
    if not (is_numbered or is_ours):
        _refuse_misplaced_numbers(list(filter(None, names.values())), first, source)
    return names, is_numbered


def _refuse_misplaced_numbers(texts: list[tuple[str, ...]], first: int, source: str) -> None:
    """Raise InputError if a column, perhaps below its name, has the number of each label, but line k not that of k."""
    for column in (0, 1):
        cells = [of[column] for of in texts if len(of) > 1]
        numbers = [as_number(cell) for cell in cells[bool(cells) and not is_number(cells[0]) :]]
        found, in_order = {*numbers}, list(range(first, first + len(texts)))
        are_all = found in ({*range(len(numbers))}, {*range(1, len(numbers) + 1)})
        if are_all and len(numbers) >= max(len(texts) - 1, 2) and numbers != in_order:
            problem = "the number of a label is in each line, but not always first; remove a heading by sed 1d, or "
            raise InputError(source, problem + r"swap the columns: awk -F '\t' -v OFS='\t' '{print $2, $1}'")


def _fields(line: str) -> tuple[str, ...]:
    """Return the unique names in a line, those for people before URIs; none if the first is empty."""
    main, *others = (field.strip() for field in line.split("\t"))
    names = map(without_brackets, (main, *filter(None, others)))
    return tuple(dict.fromkeys(sorted(names, key=is_uri))) if main else ()


_WITH_NUMBER = re.compile(r"(.*) \(([0-9]{1,10})\)", re.DOTALL)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff]|(?<=i)\u0307")
_SHOWN = 40
_LISTED = 5
_PROPOSED = 3  # similar names that an error suggests
_LONGEST_COMPARED = 200  # characters; comparison time is quadratic in them


@dataclass(frozen=True)
class LabelNames:
    """The names of a set of labels; false if there are none, so that labels have numbers only.

    Everything is computed on first use, so unused names cost no time.

    `text`: a line for each label, ascending: its number and its names, separated by tabs.
    `source`: the file that contains them, for messages.

    >>> names = LabelNames.of({1: ("news",), 2: ("sport", "games"), 3: ("sport",), 4: ()})
    >>> [names.written(number) for number in (1, 2, 3, 4)]
    ['news', 'sport (2)', 'sport (3)', '4']
    >>> [names.number(text) for text in ("news", "games", "sport (3)", "4")]
    [1, 2, 3, 4]
    """

    text: bytes = b""
    source: str = "the names"

    def __bool__(self) -> bool:
        return bool(self.text)

    @classmethod
    def of(cls, names: Mapping[int, Iterable[str]], source: str = "the names") -> "LabelNames":
        """Name labels, each with any number of names without tabs, line ends and surrounding blanks."""
        lines = (f"{number}\t" + "\t".join(dict.fromkeys(names[number])) for number in sorted(names))
        return cls("".join(f"{line}\n" for line in lines).encode(), source)

    @cached_property
    def by_number(self) -> Names:
        """The names of each label, the main one first; InputError if the text is damaged."""
        if not self:
            return {}
        return parse_names(self.text.decode("utf-8", "replace").split("\n"), self.source)[0]

    def only(self, numbers: Iterable[int]) -> "LabelNames":
        """Return the names of only these labels."""
        of_labels = {number: self.by_number.get(number, ()) for number in numbers}
        return LabelNames.of(of_labels, self.source) if self else self

    def name(self, number: int) -> str:
        """Return the main name of a label; its number if it has none."""
        return (self.by_number.get(number) or (str(number),))[0]

    def uri(self, number: int) -> str | None:
        """Return the URI of a label, which is one of its names; None if absent."""
        return uri_of(self.by_number.get(number, ()))

    @cached_property
    def has_uris(self) -> bool:
        """Whether a label has a URI."""
        return any(map(uri_of, self.by_number.values()))

    def shown(self, number: int) -> str:
        """Return a unique text for a label among those in `by_number`: its name, or else the text from `written`.

        A name that is a number is returned unchanged, unless the label with this number has the same text.
        """
        name = self.name(number)
        other = as_number(name)
        if len(self._main.get(composed(name), ())) > 1 or (other in self.by_number and self.written(other) == name):
            return self.written(number)
        return name

    def in_cell(self, number: int) -> str:
        """Return the same as a table cell (see `lines.cell`), without control characters."""
        text = self.shown(number)
        return cell(self.written(number) if CONTROL.search(text) else text)

    def written(self, number: int) -> str:
        """Return the text that represents only this label: the reverse of `number`.

        It is the name. The number follows in brackets if another label has the same name, or if the name could be
        read as another name, a number or ``*``. Without a name, or if it contains control characters, it is the number.
        """
        return self._written.get(number) or str(number)

    def number(self, text: str, beside: Iterable[str] = ()) -> int:
        """Return the label that a text represents.

        A whole number is a label's number. Otherwise the text is a main name, or else a further name of a single label;
        or a result of `written`, possibly as a cell (see `lines.cell`).

        `beside`: as for `find`.
        Raises ValueError (there is no such label, or there are several; or a number is also the name of another label).
        """
        if (number := self.find(text, beside)) is not None:
            return number
        if not self:
            raise ValueError(f"{quoted(text)} is not the number of a label; --labels gives names of labels")
        alike = {folded(name): name for name in (*self._further, *self._main)}
        plain = folded(meanings(text)[0])
        close = get_close_matches(plain, alike, _PROPOSED) if len(plain) <= _LONGEST_COMPARED else []
        meant = " or ".join(quoted(alike[name]) for name in ([plain] if plain in alike else close))
        hint = f"do you mean {meant}?" if meant else f"write a name of {self.source}, or a number"
        raise ValueError(f"there is no label called {quoted(text)}; {hint}")

    def find(self, text: str, beside: Iterable[str] = ()) -> int | None:
        """Return the label that a text represents, like `number`; None if there is none.

        `beside`: the label's names that stand beside the text: with one, a number is clear.
        """
        number = as_number(text)
        if not self:
            return number
        if number is not None:
            named = {label for form in (text, str(number)) for label in self._labels(form)} - {number}
            if named and number not in self.by_number:
                problem = f"is the name of label {_listed(sorted(named))}, and no label has this number"
                raise ValueError(f"label {quoted(text)} {problem}; write {self.written(min(named))}")
            if named and self.written(number) != str(number) and self.name(number) not in beside:
                either = f"{self.written(number)} or {self.written(min(named))}"
                raise ValueError(f"{quoted(text)} is the number of a label and a name of another; write {either}")
            return number
        for form in meanings(text):
            if numbers := self._labels(form):
                if len(numbers) == 1:
                    return numbers[0]
                listed = f"{len(numbers)} labels, {_listed(numbers)}"
                raise ValueError(f"{quoted(form)} is the name of {listed}; write the number of one")
        return None

    def _labels(self, form: str) -> list[int]:
        """Return the labels with exactly this name, or with this name and number."""
        form = composed(form)
        for numbers in (self._main, self._further):
            if form in numbers:
                return numbers[form]
        match = _WITH_NUMBER.fullmatch(form)
        return [int(match[2])] if match and int(match[2]) in self._main.get(match[1], ()) else []

    @cached_property
    def _main(self) -> dict[str, list[int]]:
        return numbers_of((number, names[:1]) for number, names in self.by_number.items())

    @cached_property
    def _further(self) -> dict[str, list[int]]:
        return numbers_of((number, names[1:]) for number, names in self.by_number.items())

    @cached_property
    def _written(self) -> dict[int, str]:
        named = [(number, names[0]) for number, names in self.by_number.items() if names]
        texts = ((number, text) for number, name in named for text in (f"{name} ({number})", name))
        return {number: text for number, text in texts if self._reads_back(number, text)}  # the name itself, if it does

    def _reads_back(self, number: int, text: str) -> bool:
        """Return whether a text represents only this label, in every form that a cell may have."""
        if CONTROL.search(text) or text == "*" or is_number(text):
            return False
        return all(self._labels(form) in ([], [number]) for form in meanings(text))


def as_number(text: str) -> int | None:
    """Return digits as a label's number; None for any other text."""
    return whole(text, MAX_ID)


def is_number(text: str) -> bool:
    """Return whether a text is the number of a label."""
    return as_number(text) is not None


NAMELESS = LabelNames()


def quoted(text: str) -> str:
    """Return a text for a message: quoted, and truncated if long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def numbers_of(names: Iterable[tuple[int, Iterable[str]]]) -> dict[str, list[int]]:
    """Return the numbers of the labels with each name, in NFC, from the number and the names of each label."""
    labels: dict[str, list[int]] = {}
    for number, those in names:
        for name in dict.fromkeys(map(composed, those)):
            labels.setdefault(name, []).append(number)
    return labels


def folded(name: str) -> str:
    """Return a name without capital letters, superfluous blanks and invisible characters."""
    return " ".join(_INVISIBLE.sub("", name.casefold()).split())


def _listed(numbers: list[int]) -> str:
    return abridged(numbers[:_LISTED], len(numbers))


def repeated_id(key: str) -> ValueError:
    """Return the error for a decision on an id that several records have."""
    return ValueError(f"several records have the id {key!r}; make ids unique, or leave out decisions on them")


@dataclass(frozen=True)
class RecordIds:
    """An id for each instance, in their order. Several records may have the same id.

    >>> ids = RecordIds(["b1", "b2", "b1"])
    >>> ids.texts[1], ids.instance("b2"), ids.is_of("b1", 2)
    ('b2', 1, True)
    """

    texts: Sequence[str]

    def instance(self, text: str) -> int:
        """Return the instance, from 0, with an id, possibly a cell (`lines.cell`); ValueError if none or several."""
        for form in meanings(text):
            if instances := self.instances.get(form):
                self.unique(instances[0])
                return instances[0]
        raise ValueError(f"no record has the id {quoted(text)}")

    def unique(self, instance: int) -> str:
        """Return the id of an instance; ValueError if several records have it."""
        key = self.texts[instance]
        if len(self.instances[key]) > 1:
            raise repeated_id(key)
        return key

    def is_of(self, text: str, instance: int) -> bool:
        """Return whether a text, possibly a cell, is the id of an instance."""
        own = self.texts[instance]
        return text == cell(own) or own in meanings(text)

    @cached_property
    def instances(self) -> dict[str, list[int]]:
        """The instances of each id, from 0, ascending."""
        instances: dict[str, list[int]] = {}
        for instance, text in enumerate(self.texts):
            instances.setdefault(text, []).append(instance)
        return instances
