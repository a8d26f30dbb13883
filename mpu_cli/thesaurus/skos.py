"""SKOS: concepts in RDF."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpu_cli.errors import InputError, MpuError
from mpu_cli.thesaurus.concepts import Concept

if TYPE_CHECKING:
    from rdflib import Graph

_LONGEST = 200  # characters of a problem


def read_skos(data: bytes, form: str, source: str) -> Iterator[Concept]:
    """Read the concepts of an RDF text: what is a skos:Concept, or has a skos:prefLabel.

    Parameters
    ----------
    data : bytes
    form : str
        A format of rdflib.
    source : str
        The file, for errors.

    Raises
    ------
    InputError
        It is no RDF of this format.
    MpuError
        rdflib is not installed.
    """
    try:
        from rdflib import OWL, RDF, SKOS, Graph, Literal, URIRef
    except ImportError:
        raise MpuError(f"{source}: reading RDF needs rdflib: pip install 'mpu-cli[skos]'") from None
    graph = _parsed(Graph(), data, form, source)
    concepts = {*graph.subjects(RDF.type, SKOS.Concept), *graph.subjects(SKOS.prefLabel, None)}
    for concept in concepts:
        if not isinstance(concept, URIRef):
            continue
        names: dict[str, str] = {}
        for name in sorted(graph.objects(concept, SKOS.prefLabel)):
            if isinstance(name, Literal) and str(name).strip():
                names.setdefault(name.language or "", str(name))
        others: defaultdict[str, list[str]] = defaultdict(list)
        for kind in (SKOS.altLabel, SKOS.hiddenLabel):
            for name in sorted(graph.objects(concept, kind)):
                if isinstance(name, Literal) and str(name).strip():
                    others[name.language or ""].append(str(name))
        broader = {*graph.objects(concept, SKOS.broader), *graph.subjects(SKOS.narrower, concept)}
        deprecated = any(str(value).lower() in ("true", "1") for value in graph.objects(concept, OWL.deprecated))
        yield Concept(str(concept), names, dict(others), tuple(sorted(map(str, broader))), deprecated)


def _parsed(graph: "Graph", data: bytes, form: str, source: str) -> "Graph":
    import logging
    import warnings

    rdflib_log = logging.getLogger("rdflib")
    before = rdflib_log.level
    rdflib_log.setLevel(logging.CRITICAL)  # it tells of each odd literal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rdflib about itself
            return graph.parse(data=data, format=form)
    except Exception as error:  # rdflib's parsers raise what they like
        problem = " ".join(str(error).split())[:_LONGEST]
        raise InputError(source, None, f"cannot be read as {form}: {problem or type(error).__name__}") from None
    finally:
        rdflib_log.setLevel(before)
