"""Vocabularies of Annif that are tables: ``uri,label_en,label_de,...``."""

from collections.abc import Iterator
from pathlib import Path

from mpu_cli.errors import InputError
from mpu_cli.names.uris import without_brackets
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.svmlight.streams import open_input
from mpu_cli.text.rows import Bad, no_field, read_rows
from mpu_cli.thesaurus.concepts import Concept

_LABEL = "label_"


def read_table(source: str | Path) -> Iterator[Concept]:
    """Read the concepts of a table; InputError at a row that is no concept."""
    with open_input(source) as stream:
        for row in read_rows(stream, str(source), "csv", MAX_LINE_BYTES, needed=("uri",)):
            if isinstance(row, Bad):
                raise InputError(str(source), row.line, row.problem)
            if "uri" not in row.fields:
                raise InputError(str(source), row.line, no_field("uri", row.fields))
            fields = {name: str(value).strip() for name, value in row.fields.items()}
            if not (uri := without_brackets(fields.get("uri", ""))):
                raise InputError(str(source), row.line, "the column uri is empty; each concept has a URI")
            names = {
                name.removeprefix(_LABEL): value for name, value in fields.items() if name.startswith(_LABEL) and value
            }
            yield Concept(uri, names | ({"": fields["label"]} if fields.get("label") else {}))
