"""Labels by name, from thesauri, SKOS in all its formats and the tables of Annif, and from files of names."""

import bz2
import gzip
import sys

import pyoxigraph
import pytest

from mpu_cli.errors import InputError, MpuError
from mpu_cli.text.labels import RDF_SUFFIXES, read_labels, read_thesaurus
from tests.golden import refused

SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TURTLE = f"""
@prefix skos: <{SKOS}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <https://example.org/> .
:fruit a skos:Concept ; skos:prefLabel "Fruit"@en, "Obst"@de ; skos:altLabel "Fruits"@en ; skos:narrower :apple .
:apple a skos:Concept ; skos:prefLabel "Apple"@en, "Apfel"@de ; skos:hiddenLabel "Appel"@en .
:pear skos:prefLabel "Pear"@en ; skos:broader :fruit, <https://elsewhere.org/food> .
:nut a skos:Concept ; skos:prefLabel "Nuss"@de .
:other a skos:Concept ; skos:prefLabel "Apple"@en .
:old a skos:Concept ; skos:prefLabel "Pome"@en ; owl:deprecated true .
:book a owl:Class .
:all a skos:ConceptScheme ; skos:prefLabel "Our subjects"@en ; skos:hasTopConcept :fruit .
:round a skos:Collection ; skos:prefLabel "Round ones"@en ; skos:member :apple .
"""
ENGLISH = [
    ("Apple", "Appel", "https://example.org/apple"),
    ("Fruit", "Fruits", "https://example.org/fruit"),
    ("Nuss", "https://example.org/nut"),
    ("Apple", "https://example.org/other"),
    ("Pear", "https://example.org/pear"),
]


CONCEPT = f"{{}} <{SKOS}prefLabel> {{}} .\n"


@pytest.fixture
def read(tmp_path):
    """Read a thesaurus of this name and text."""

    def written(name, text, *language):
        (tmp_path / name).write_text(text, errors="surrogateescape")
        return read_thesaurus(tmp_path / name, *language)

    return written


@pytest.mark.parametrize("suffix", [*RDF_SUFFIXES, ".ttl.gz", ".nt.bz2"])
def test_every_format_of_skos(tmp_path, suffix):
    path = tmp_path / f"thesaurus{suffix}"
    first, _, packed = suffix[1:].partition(".")
    statements = pyoxigraph.parse(TURTLE, pyoxigraph.RdfFormat.TURTLE)
    data = pyoxigraph.serialize(statements, format=pyoxigraph.RdfFormat.from_extension(first))
    path.write_bytes({"": bytes, "gz": gzip.compress, "bz2": bz2.compress}[packed](data))
    labels, (of_languages, of_lacking, of_deprecated) = read_thesaurus(path)
    assert "has names in en, de: those in 'en' are used" in of_languages
    assert of_lacking.startswith("1 concept of 5 in ")
    assert of_lacking.endswith(": no name in 'en', so that in another language is used")
    assert of_deprecated.startswith("1 deprecated concept of ")
    assert (labels.names, labels.broader.next_broader()) == (ENGLISH, {1: (2,), 5: (2,)})
    tags = "Appel", "Pear", "<https://example.org/nut>", "Pome"
    assert [labels.number(tag) for tag in tags] == [1, 5, 3, None]


def test_another_language(read):
    labels, (of_lacking, _) = read("thesaurus.ttl", f"\ufeff{TURTLE}", "de")
    assert [names[0] for names in labels.names] == ["Apfel", "Obst", "Nuss", "Apple", "Pear"]
    assert "2 concepts of 5" in of_lacking


VARIANTS = """uri,label_de,label_en-GB,label_EN-us,label_en,label_zh-Hans
https://x.org/a,Arbeit,labour,labor,,
https://x.org/b,,,color,colour,x
"""


@pytest.mark.parametrize("is_table", [True, False])
@pytest.mark.parametrize(
    ("languages", "names"),
    [
        ("en", [["labour", "labor"], ["colour", "color"]]),
        ("EN-us", [["labor"], ["color"]]),
        ("en-US, de", [["labor", "Arbeit"], ["color"]]),
        (None, [["labour", "labor"], ["colour", "color"]]),
        ("zh-hans", [["Arbeit"], ["x"]]),
        ("zh", [["Arbeit"], ["x"]]),
    ],
)
def test_a_language_has_its_variants_whatever_their_capitals(read, is_table, languages, names):
    tags, *rows = (line.replace("label_", "@").split(",")[1:] for line in VARIANTS.splitlines())
    triples = (
        f'<https://x.org/{k}> <{SKOS}prefLabel> "{name}"{tag} .\n'
        for k, row in enumerate(rows)
        for name, tag in zip(row, tags, strict=True)
        if name
    )
    labels, cautions = read(*(("t.csv", VARIANTS) if is_table else ("t.nt", "".join(triples))), languages)
    assert [list(of_label[:-1]) for of_label in labels.names] == names
    assert any("1 concept of 2" in caution for caution in cautions) == (names[0][0] == "Arbeit")


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16"])
def test_xml_in_another_encoding_is_refused_with_the_remedy(tmp_path, encoding):
    path = tmp_path / "a.rdf"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n<rdf:RDF xmlns:rdf="{RDF}">é</rdf:RDF>', encoding)
    with refused(InputError, "a.rdf:1:"):
        read_thesaurus(path)


@pytest.mark.parametrize(("languages", "further"), [("de,en", ("Kunst",)), ("de", ("Kunst",)), ("en", ())])
def test_a_further_name_in_a_language_that_the_preferred_name_is_not_in(read, languages, further):
    of_art = f'<https://a.org/1> <{SKOS}altLabel> "Kunst"@de .\n' + CONCEPT.format("<https://a.org/1>", '"art"@en')
    labels, _ = read("a.nt", of_art + CONCEPT.format("<https://a.org/2>", '"Welt"@de'), languages)
    assert labels.names[0] == ("art", *further, "https://a.org/1")


def test_a_table_of_annif(read):
    text = "uri,label_de,label_en,notation\n<https://x.org/2>,Birne,Pear,2\nhttps://x.org/1,Apfel,Apple,1\n"
    labels, _ = read("vocabulary.csv", text, "en")
    assert labels.names == [("Apple", "https://x.org/1"), ("Pear", "https://x.org/2")]


def test_without_pyoxigraph_its_package_is_named(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with refused(MpuError):
        read("a.ttl", TURTLE)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1e900000000", "http://www.w3.org/2001/XMLSchema#decimal"),
        ("NaN", "http://www.w3.org/2001/XMLSchema#decimal"),
        ("<a><b>", f"{RDF}XMLLiteral"),
    ],
)
def test_a_name_is_a_text_whatever_its_type(read, text, kind):
    lines = (CONCEPT.format("<https://a.org/x>", name) for name in (f'"{text}"^^<{kind}>', '"2"'))
    ((name, *_),) = read("a.nt", "".join(lines))[0].names
    assert name in (text, "2")


def test_a_uri_is_one_cell_of_one_line(read):
    uris = "<https://a.org/x\\u000Ay>", "<https://a.org/x\\u0009z>", "<https://b.org>"
    labels, _ = read("a.nt", "".join(CONCEPT.format(uri, '"Name"') for uri in uris))
    lines = labels.lines().splitlines()
    assert len(lines) == 3
    assert all(len(line.split("\t")) == 2 for line in lines)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "inside",
    [
        "<skos:prefLabel>" + "&#65;" * 800_000 + "</skos:prefLabel>",
        '<skos:note rdf:parseType="Literal">' + "<a>" * 5_000 + "</a>" * 5_000 + "</skos:note>",
        "<skos:prefLabel>&a;</skos:prefLabel>",
    ],
)
def test_the_time_of_rdf_is_that_of_its_size(read, inside):
    text = (
        f'<!DOCTYPE r [<!ENTITY a "{"a" * 200}">]><rdf:RDF xmlns:skos="{SKOS}" xmlns:rdf="{RDF}">'
        f'<skos:Concept rdf:about="https://a.org/x">{inside}</skos:Concept></rdf:RDF>'
    )
    assert len(read("a.rdf", text)[0]) == 1


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "entities",
    [
        "<!ENTITY a0 'x'>" + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 10)),  # of a gigabyte
        f"\n<!ENTITY a9 '{'x' * 1_000}'>",
        f"<!-- {'x' * 100_000} --><!ENTITY a9 '{'x' * 100_000}'>",
        "<!ENTITY a0 'x'><!ENTITY <",
    ],
)
def test_entities_that_make_much_of_little_are_refused(read, entities):
    with refused(InputError, "a.rdf:"):
        read("a.rdf", f'<!DOCTYPE r [{entities}]>\n<rdf:RDF xmlns:rdf="{RDF}"/>')


GND = {
    "gnd.ttl": f"""@prefix skos: <{SKOS}> .
@prefix : <https://d-nb.info/gnd/> .
:4113937-9 skos:prefLabel "Hydrogeologie"@de ; skos:notation "19.2b" .
:4026894-9 skos:prefLabel "Informatik"@de ; skos:altLabel "Hydrogeologie", "30" ; skos:notation "30" .
:4127413-1 skos:prefLabel "Chemie"@de ; skos:altLabel "30" .
""",
    "gnd.csv": """uri,label_de,notation
https://d-nb.info/gnd/4113937-9,Hydrogeologie,19.2b
https://d-nb.info/gnd/4026894-9,Informatik,30
https://d-nb.info/gnd/4127413-1,Chemie,30
""",
}


@pytest.mark.parametrize("name", GND)
def test_concepts_by_notation_and_by_the_end_of_their_uris(read, name):
    labels, _ = read(name, GND[name])
    numbers = map(labels.number, TAGS_BY_ID)
    assert [number and labels.names[number - 1][0] for number in numbers] == [*TAGS_BY_ID.values()]
    assert labels.by_id.keys() == {"4113937-9", "(DE-588)4026894-9", "gnd:4113937-9"}
    assert labels.of_several == {"30"}


TAGS_BY_ID = {
    "19.2b": "Hydrogeologie",
    "30": "Informatik",
    "4113937-9": "Hydrogeologie",
    "(DE-588)4026894-9": "Informatik",
    "gnd:4113937-9": "Hydrogeologie",
    "http://d-nb.info/gnd/4113937-9": "Hydrogeologie",
    "https://elsewhere.org/4113937-9": None,
    "4113937-8": None,
    "Hydrogeologie": "Hydrogeologie",
}


def test_a_file_of_names(tmp_path, file):
    labels = read_labels(file("\ufeffOne\tEins\t Uno \r\n\n Three \nOne\nEins\n".encode(), "names"))
    assert (labels.names, labels.shared) == ([("One", "Eins", "Uno"), (), ("Three",), (), ("Eins",)], 1)
    assert [labels.number(name) for name in ("One", "Uno", "Three", "Eins", "one", "")] == [1, 1, 3, 5, None, None]
    assert labels.add("Six") == 6 == labels.number("Six")
    (tmp_path / "again").write_text(labels.lines(), encoding="utf-8")
    assert read_labels(tmp_path / "again").names == labels.names
    assert read_labels(file("3\tThree\n1\tOne\tEins\n", "numbered")).names == [("One", "Eins"), (), ("Three",)]
