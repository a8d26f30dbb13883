"""Thesauri from files: SKOS, or a table of Annif."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mpu_cli.errors import InputError
from mpu_cli.svmlight.streams import open_input
from mpu_cli.text.labels import Labels
from mpu_cli.text.records import clean
from mpu_cli.thesaurus.concepts import Concept
from mpu_cli.thesaurus.skos import read_skos
from mpu_cli.thesaurus.tables import read_table

# RDF, by the suffix of the file.
RDF_FORMATS = {
    ".ttl": "turtle",
    ".rdf": "xml",
    ".xml": "xml",
    ".nt": "nt",
    ".jsonld": "json-ld",
    ".json": "json-ld",
}
TABLE = ".csv"
_COMPRESSED = (".gz", ".bz2", ".xz")


@dataclass(frozen=True)
class Thesaurus:
    """The concepts of a thesaurus as labels.

    Attributes
    ----------
    labels : Labels
        One of each concept that is not deprecated, by URI, with its names and its URI.
    language : str
        In which they are named; "" where names have no language.
    others : tuple of str
        Further languages in the file, ascending.
    deprecated : int
        Concepts that were left out.
    """

    labels: Labels
    language: str
    others: tuple[str, ...]
    deprecated: int


def suffix_of(source: str | Path) -> str:
    """Return the suffix of a file, compressed or not, in small letters."""
    path = Path(source)
    return (path.with_suffix("") if path.suffix in _COMPRESSED else path).suffix.lower()


def is_thesaurus(source: str | Path) -> bool:
    """Whether the name of a file is that of a thesaurus, and not of a list of names."""
    return suffix_of(source) in (*RDF_FORMATS, TABLE)


def read_concepts(source: str | Path) -> list[Concept]:
    """Read the concepts of a thesaurus, by the suffix of its name; compressed or not.

    Parameters
    ----------
    source : str or Path
        SKOS: ``.ttl``, ``.rdf`` or ``.xml``, ``.nt``, ``.jsonld`` or ``.json``; or ``.csv``: a table of Annif, with
        columns ``uri`` and ``label_en``, ``label_de``, ...

    Returns
    -------
    list of Concept
        By URI, ascending.

    Raises
    ------
    InputError
        The file cannot be read, or has no concept.
    MpuError
        RDF needs the extra skos.
    """
    suffix = suffix_of(source)
    if suffix == TABLE:
        concepts = list(read_table(source))
        expected = "columns uri and label_en, label_de, ..., as Annif writes them"
    else:
        with open_input(source) as stream:
            concepts = list(read_skos(stream.read(), RDF_FORMATS[suffix], str(source)))
        expected = "what is a skos:Concept, or has a skos:prefLabel"
    if not concepts:
        raise InputError(str(source), None, f"has no concept; expected: {expected}")
    return sorted(concepts, key=lambda concept: concept.uri)


def read_thesaurus(source: str | Path, language: str | None = None) -> Thesaurus:
    """Read a thesaurus as labels.

    Parameters
    ----------
    source : str or Path
        As for `read_concepts`.
    language : str, optional
        In which concepts are named, as far as they are. Default: that of most names.

    Raises
    ------
    InputError
        As `read_concepts`; or nothing has a name in the language.
    """
    concepts = read_concepts(source)
    current = [concept for concept in concepts if not concept.deprecated]
    languages = sorted({name for concept in concepts for name in concept.names if name})
    chosen = _usual_language(concepts) if language is None else language
    if language is not None and language not in languages:
        there = ", ".join(languages) or "none"
        raise InputError(str(source), None, f"nothing has a name in the language {language!r}; languages: {there}")
    number = {concept.uri: k for k, concept in enumerate(current, 1)}
    broader = {
        number[concept.uri]: tuple(number[uri] for uri in concept.broader if uri in number and uri != concept.uri)
        for concept in current
    }
    names = [[clean(name) for name in concept.names_in(chosen)] for concept in current]
    return Thesaurus(
        Labels(names, {narrower: them for narrower, them in broader.items() if them}),
        chosen,
        tuple(name for name in languages if name != chosen),
        len(concepts) - len(current),
    )


def _usual_language(concepts: Iterable[Concept]) -> str:
    """Return the language of most preferred names; the first by the alphabet of several."""
    counts = Counter(language for concept in concepts for language in concept.names if language)
    return min(counts, key=lambda language: (-counts[language], language), default="")
