"""Text labels and their numbers: from a file of names, or a thesaurus in SKOS or as an Annif table."""

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote
from xml.parsers import expat

from mpu_cli.core.implications import Implications
from mpu_cli.errors import InputError, MpuError, counted, shown
from mpu_cli.names.label_names import is_uri, numbers_of, uri_of, without_brackets
from mpu_cli.names.lines import NOT_UTF8, composed, open_side
from mpu_cli.names.naming import read_names
from mpu_cli.runtime.files import Joined
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES, problem_of
from mpu_cli.text.analyzer import TextIn
from mpu_cli.text.records import clean, read_rows, suffix_of

_MOST_NUMBERS = 10**7
_ID = re.compile(r"(?:\([A-Z]{2}-[A-Z0-9-]+\)|[A-Za-z]+:)?([^\s/:()]*[0-9][^\s/:()]*)")  # as in "(DE-588)4113937-9"


def _id(names: Sequence[str]) -> list[str]:
    """Return the id that ends the URI of a label, if there is one."""
    end = _ID.fullmatch(re.split("[/#:]", uri_of(names) or "")[-1])
    return [end[1]] if end else []


class Labels:
    """Labels identified by their names, in Unicode's NFC: label k is ``names[k - 1]``.

    `names`: the names of each label, the main one first; empty for an unused number. One of them may be a URI.
    `broader`: which labels imply others, by number.
    `deprecated`: in the constructor, the names of concepts that are labels only if a record has them, and are not
    suggested; the attribute has the numbers of such labels.
    `shared`: number of labels with the main name of an earlier one, and no other URI. They are the same label, so their
    own numbers have no name.
    `of_several`: names shared by labels with different URIs; they refer to the first of these labels.
    `by_id`: names that no label has, and the labels whose URIs end in them, such as the id ``4113937-9``.
    """

    def __init__(
        self,
        names: Iterable[Sequence[str]] = (),
        broader: Iterable[tuple[int, int]] = (),
        deprecated: Iterable[Sequence[str]] = (),
    ) -> None:
        self.deprecated: list[int] = []
        self._deprecated = [*map(tuple, deprecated)]
        self._added: dict[int, int] = {}  # the number of each deprecated concept that is a label, by place
        self.broader = Implications(broader)
        self.names: list[tuple[str, ...]] = []
        self.shared = 0
        self.by_id: dict[str, int] = {}
        uris: dict[str, str | None] = {}  # of the first label with each main name
        for of_label in map(tuple, names):
            is_shared = False
            if of_label:
                name, uri = composed(of_label[0]), uri_of(of_label)
                is_shared = name in uris and uris[name] == uri
                uris.setdefault(name, uri)
            self.shared += is_shared
            self.names.append(() if is_shared else of_label)
        main = numbers_of(enumerate((of_label[:1] for of_label in self.names), 1))
        further = numbers_of(enumerate((of_label[1:] for of_label in self.names), 1))
        numbers = further | main  # a main name wins over further names of other labels
        self.of_several = {name for name, having in numbers.items() if len(having) > 1}
        # The place of a label is its number; those of deprecated concepts are -1, -2, ..., and labels win over them
        places = numbers_of((~k, of_one) for k, of_one in enumerate(self._deprecated)) | numbers
        ids = numbers_of((~k, _id(of_one)) for k, of_one in enumerate(self._deprecated))
        ids |= numbers_of(enumerate(map(_id, self.names), 1))
        self._places = {name: having[0] for name, having in places.items()}
        self._ids = {end: having[0] for end, having in ids.items() if len(having) == 1}

    def __len__(self) -> int:
        return len(self.names)

    def number(self, name: str) -> int | None:
        """Return the number of the label with this name, or None."""
        place = self._place(name)
        return place if place is None or place > 0 else self._added.get(place)

    def _place(self, name: str) -> int | None:
        name = without_brackets(composed(name))
        place = self._places.get(name)
        if place is None and name.startswith("http://"):
            place = self._places.get(name.replace("http", "https", 1))
        if place is None and self._ids and (of_id := _ID.fullmatch(name)) and (place := self._ids.get(of_id[1])):
            self.by_id[name] = self._added.get(place, place)
        return place

    def notation(self, number: int) -> str | None:
        """Return the further name of a label that looks like a notation, or its id; None if it means no such label."""
        names = self.names[number - 1]
        codes = (name for name in names[1:] if re.fullmatch(r"\S*[0-9]\S*", name) and not is_uri(name))
        return next((code for code in (*codes, *_id(names)) if self.number(code) == number), None)

    def add(self, name: str) -> int:
        """Add a label after the others, and return its number."""
        place, number = self._place(name), len(self.names) + 1
        if place is None:
            name = composed(without_brackets(name))
            self.names.append((name,))
            self._places[name] = number
        else:
            self.names.append(self._deprecated[~place])
            self._added[place] = number
            self.deprecated.append(number)
        return number

    def lines(self) -> str:
        """Return the content of a file of names: line k has the names of label k, separated by tabs."""
        return "".join("\t".join(of_label) + "\n" for of_label in self.names)


def read_labels(source: str | Path) -> Labels:
    """Read a file of names, in the format of `names.label_names`; labels count from 1.

    `source`: UTF-8 text, plain or compressed; ``-`` is standard input.
    Raises InputError (it cannot be read, or contains label 0, or a label far beyond the number of names).
    """
    names, _ = read_names(source)
    most = max(names)
    if 0 in names or most > _MOST_NUMBERS:
        number = 0 if 0 in names else most
        raise InputError(source, f"names label {number}; here labels are numbers from 1 to {_MOST_NUMBERS:,}")
    return Labels(names.get(number, ()) for number in range(1, most + 1))


RDF_SUFFIXES = (".ttl", ".rdf", ".xml", ".nt", ".jsonld", ".json")
TABLE = ".csv"


@dataclass(frozen=True)
class Concept:
    """A thesaurus concept."""

    uri: str
    names: Mapping[str, str]  # the preferred name by language tag, in small letters; "" for one without a language
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)  # further names by language tag
    broader: tuple[str, ...] = ()  # URIs of broader concepts
    deprecated: bool = False

    def names_in(self, languages: Sequence[str]) -> tuple[str, ...]:
        """Return the names in some languages; preferred ones or else without one, or in any. The URI is last."""
        preferred = tags_in(languages, self.names) or sorted(self.names)[:1]
        texts = [(self.names[code], code) for code in preferred]
        spoken = dict.fromkeys((*preferred, *tags_in(languages, self.others), ""))
        texts += [(other, code) for code in spoken for other in self.others.get(code, ())]
        names = [TextIn.of(clean(text), code) for text, code in texts]
        return tuple(dict.fromkeys((*filter(None, names), self.uri)))


def tags_in(languages: Sequence[str], tags: Iterable[str]) -> list[str]:
    """Return the tags of some languages, in their order, by the basic filtering of RFC 4647."""
    ordered = sorted(tags)  # "en" is before "en-us"
    return list(dict.fromkeys(tag for code in languages for tag in ordered if f"{tag}-".startswith(f"{code}-")))


def is_thesaurus(source: str | Path) -> bool:
    """Return whether a file name indicates a thesaurus rather than a list of names."""
    return suffix_of(source) in (*RDF_SUFFIXES, TABLE)


def read_thesaurus(source: str | Path, language: str | None = None) -> tuple[Labels, list[str]]:
    """Read a thesaurus as labels, in the format that its suffix indicates; also return warnings.

    Each concept that is not deprecated is a label, with its names and its URI, sorted by URI. If a tag refers to a
    deprecated concept, this becomes a label after them.

    `source`: SKOS: ``.ttl``, ``.rdf`` or ``.xml``, ``.nt``, ``.jsonld`` or ``.json``; or ``.csv``: a table of Annif,
    with columns ``uri`` and ``label_en``, ``label_de``, ...; compressed or not.
    `language`: the language of the names, for concepts that have one in it; ``en`` includes ``en-GB``. With several,
    separated by commas, the first is used for main names, and names in the others are further names. Default: the
    language with the most names.
    Raises InputError (the file cannot be read, or has no concept, or none has a name in the language), MpuError (RDF
    needs the extra skos).
    """
    is_table = suffix_of(source) == TABLE
    concepts = sorted(read_table(source) if is_table else read_skos(source), key=lambda concept: concept.uri)
    if not concepts:
        expected = "columns uri and label_en, label_de, ..." if is_table else "a skos:Concept, or a skos:prefLabel"
        raise InputError(source, f"has no concept; expected: {expected}")
    current = [concept for concept in concepts if not concept.deprecated]
    deprecated = [concept for concept in concepts if concept.deprecated]
    counts = Counter(chain.from_iterable({code.split("-")[0] for code in one.names if code} for one in concepts))
    usual = min(counts, key=lambda code: (-counts[code], code), default="")  # the language of most preferred names
    wanted = [usual] if language is None else [code.strip().lower() for code in language.split(",")]
    languages = sorted({code for concept in concepts for code in concept.names if code})
    if language is not None and (unknown := [code for code in wanted if not tags_in([code], languages)]):
        there = ", ".join(languages) or "none"
        raise InputError(source, f"no concept has a name in the language {unknown[0]!r}; languages: {there}")
    number = {concept.uri: k for k, concept in enumerate(current, 1)}
    broader = ((one.uri, uri) for one in current for uri in one.broader if uri in number and uri != one.uri)
    names, of_deprecated = ([concept.names_in(wanted) for concept in some] for some in (current, deprecated))
    labels = Labels(names, ((number[narrower], number[wide]) for narrower, wide in broader), of_deprecated)
    cautions = []
    chosen = tags_in(wanted, languages)
    if language is None and len(chosen) < len(languages):
        there = f"{shown(source)} has names in {', '.join(dict.fromkeys([*chosen, *languages]))}"
        cautions.append(f"{there}: those in {usual!r} are used; --language chooses another")
    if lacking := sum(one.names.keys().isdisjoint([*chosen, ""]) for one in current if one.names):
        cautions.append(
            f"{counted(lacking, 'concept')} of {len(current):,} in {shown(source)}: no name in "
            f"{' or '.join(map(repr, wanted))}, so that in another language is used"
        )
    if deprecated:
        cautions.append(
            f"{counted(len(deprecated), 'deprecated concept')} of {shown(source)}: no labels, unless a record has "
            "them, and never suggested"
        )
    return labels, cautions


_LABEL = "label_"


def read_table(source: str | Path) -> Iterator[Concept]:
    """Read the concepts from a table; InputError at a row that is not a concept."""
    with open_side(source) as stream:
        for row in read_rows(stream, str(source), "csv", needed=("uri",)):
            if row.problem:
                raise InputError(source, row.with_lines(row.problem), row.line)
            fields = {name: str(value).strip() for name, value in row.fields.items()}
            if not (uri := without_brackets(fields["uri"])):
                raise InputError(source, "the column uri is empty; each concept has a URI", row.line)
            of_languages = {name[len(_LABEL) :]: fields[name] for name in fields if name.startswith(_LABEL)}
            names = {code.lower(): name for code, name in of_languages.items() if name}
            notation = fields.get("notation", "")
            others = {"": [notation]} if notation and not uri.endswith(notation) else {}
            yield Concept(_escaped(uri), names | ({"": fields["label"]} if fields.get("label") else {}), others)


_SKOS, _OWL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2002/07/owl#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_NOT_CONCEPTS = ("ConceptScheme", "Collection", "OrderedCollection")  # these have names too


def read_skos(source: str | Path) -> Iterator[Concept]:
    """Read the concepts in an RDF file: skos:Concepts, and subjects of a skos:prefLabel but schemes and collections.

    Statements are read one by one, literals are not interpreted, and no other file or address is opened.

    Raises InputError (it is not RDF in the format that its suffix indicates), MpuError (pyoxigraph is not installed).
    """
    try:
        from pyoxigraph import Literal, NamedNode
    except ImportError:
        raise MpuError(f"{source}: reading RDF needs pyoxigraph; install it with: pip install pyoxigraph") from None
    # By subject: the texts of each kind of name, in each language.
    names: defaultdict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    others: defaultdict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    broader: defaultdict[str, set[str]] = defaultdict(set)
    concepts, not_concepts, deprecated = set(), set(), set()
    for subject, predicate, value in _statements(source):
        if not isinstance(subject, NamedNode):
            continue
        uri, kind = _escaped(subject.value), predicate.value.removeprefix(_SKOS)
        if isinstance(value, Literal):
            is_end = kind == "notation" and uri.endswith(value.value)  # it is found without being a name
            if kind in ("prefLabel", "altLabel", "hiddenLabel", "notation") and value.value.strip() and not is_end:
                of_kind = names if kind == "prefLabel" else others
                of_kind[uri][(value.language or "").lower()].append(value.value)
            elif kind == f"{_OWL}deprecated" and value.value.lower() in ("true", "1"):
                deprecated.add(uri)
        elif isinstance(value, NamedNode):
            if kind == "broader":
                broader[uri].add(_escaped(value.value))
            elif kind == "narrower":
                broader[_escaped(value.value)].add(uri)
            elif kind == _TYPE and value.value == f"{_SKOS}Concept":
                concepts.add(uri)
            elif kind == _TYPE and value.value.removeprefix(_SKOS) in _NOT_CONCEPTS:
                not_concepts.add(uri)
    for uri in concepts | (names.keys() - not_concepts):
        yield Concept(
            uri,
            {language: min(texts) for language, texts in names[uri].items()},
            {language: sorted(texts) for language, texts in others[uri].items()},
            tuple(sorted(broader[uri])),
            uri in deprecated,
        )


def _escaped(uri: str) -> str:
    """Return a URI on one line and in one cell: white space and control characters as in RFC 3986, Section 2.1."""
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f<>]", lambda character: quote(character[0]), uri)


def _statements(source: str | Path) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the subject, predicate and value of each statement of an RDF file."""
    import pyoxigraph

    form: Any = pyoxigraph.RdfFormat.from_extension(suffix_of(source)[1:])
    try:
        with open_side(source) as opened:
            start = opened.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
            pieces: Iterator[bytes] = chain([start], iter(partial(opened.read, _HEAD), b""))
            data = Joined(_checked_xml(pieces, str(source)) if form.name == "RDF/XML" else pieces)
            # Lenient: URIs with blanks in them are common.
            for statement in pyoxigraph.parse(cast(Any, data), form, lenient=True):
                yield statement.subject, statement.predicate, statement.object
    except SyntaxError as error:
        with open_side(source) as stream:
            raise _unreadable(error, stream.read(MAX_LINE_BYTES), form.name, str(source)) from None


def _checked_xml(pieces: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Yield the pieces of an XML file, checked for what the RDF parser does not tell.

    Raises SyntaxError with the line (it is not XML), InputError (it is truncated, or an entity is long or contains
    others). Such entities expand a kilobyte to gigabytes; those for address prefixes in RDF/XML are neither.
    """
    parser = expat.ParserCreate("utf-8")

    def declared(_name: str, _is_parameter: bool, value: str | None, *_of_file: str | None) -> None:
        if value is not None and (len(value) > _LONGEST_ENTITY or "&" in value):
            problem = "is a long or nested entity; replace it by its value in the file"
            raise InputError(source, problem, parser.CurrentLineNumber)

    parser.EntityDeclHandler = declared
    for piece in chain(filter(None, pieces), [b""]):
        try:
            parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            problem = expat.ErrorString(error.code)
            if problem == expat.errors.XML_ERROR_NO_ELEMENTS:
                raise InputError(source, "the file breaks off here; get it again, whole", error.lineno) from None
            raise SyntaxError(problem, (source, error.lineno, None, None)) from None
        yield piece


_HEAD = 1 << 16
_LONGEST_ENTITY = 300


def _unreadable(error: SyntaxError, data: bytes, form: str, source: str) -> InputError:
    """Return the error for an RDF text that its parser has refused, with the line if it is known.

    `data`: the text, or the first `MAX_LINE_BYTES` of it.
    """
    if (declared := _DECLARED.match(data)) and declared[1].upper() != b"UTF-8":
        encoding = declared[1].decode()
        problem = (
            f"declares the encoding {encoding}, and only UTF-8 is read; convert it, unless it is UTF-8 already: "
            f'iconv -f {encoding} -t UTF-8; and write encoding="UTF-8" here'
        )
        return InputError(source, problem, 1)
    if found := problem_of(data.lstrip()):
        return InputError(source, found)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)  # it may end within a character
    except UnicodeDecodeError as wrong:
        return InputError(source, NOT_UTF8, data.count(b"\n", 0, wrong.start) + 1)
    problem = _PLACE.sub("", error.msg)
    if "LoadDocumentCallback" in problem:
        return InputError(source, "refers to a @context at another address; copy that context into the file instead")
    advice = "correct it, or give the file the suffix of its format"
    return InputError(source, f"is not {form}: {problem}; {advice}", error.lineno)


_DECLARED = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*encoding\s*=\s*["']([A-Za-z][\w.-]*)""")
# How pyoxigraph's message describes the place, besides `lineno`.
_PLACE = re.compile(r"^Parser error at line .*?: | \(line \d+\)$")
