"""Texts from files: what a person reads in place of features."""

import csv
import json
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, cast

from mpu_cli.errors import InputError, shown
from mpu_cli.names.files import text_lines
from mpu_cli.runtime.json_text import json_value
from mpu_cli.svmlight.streams import open_input

_COMPRESSED = (".gz", ".bz2", ".xz")
_TABLES = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")


def read_texts(source: str | Path, wanted: set[int], n: int, field: str | None = None) -> dict[int, str]:
    """Read the texts of some of n instances.

    Parameters
    ----------
    source : str or Path
        A text on each line; or JSON objects, one on each line (``.jsonl``, ``.ndjson``); or a table whose first line
        names its columns (``.csv``, ``.tsv``). Plain or compressed; ``-``, standard input, has a text on each line.
    wanted : set of int
        Instances, from 0.
    n : int
        How many texts there must be.
    field : str, optional
        Which field of an object, or which column of a table.

    Raises
    ------
    InputError
        The file cannot be read, does not have n texts, or has no such field.
    """
    path = Path(source)
    suffix = path.with_suffix("").suffix if path.suffix in _COMPRESSED else path.suffix
    if suffix in _TABLES:
        texts = _of_table(source, field, _TABLES[suffix])
    elif suffix in _JSON_LINES:
        texts = _of_json(source, field)
    elif field is None:
        texts = text_lines(source)
    else:
        raise InputError(
            str(source), None, f"has no field {field!r}: fields are for .jsonl, .ndjson, .csv and .tsv, by their names"
        )
    count, kept = 0, {}
    for text in texts:
        if count == n:
            raise InputError(str(source), None, f"has more texts than the data have instances, {n}; each has one")
        if count in wanted:
            kept[count] = text
        count += 1
    if count < n:
        raise InputError(str(source), None, f"has {count} texts, but the data have {n} instances; each has one")
    return kept


def _of_json(source: str | Path, field: str | None) -> Iterator[str]:
    for number, line in enumerate(text_lines(source), 1):
        try:
            record = json_value(line)
        except ValueError as error:
            raise InputError(str(source), number, f"{error}; each line should be one object") from None
        if not isinstance(record, dict):
            raise InputError(str(source), number, "this is not a JSON object with fields")
        yield _shown_value(record[_chosen(source, number, field, list(record))])


def _of_table(source: str | Path, field: str | None, delimiter: str) -> Iterator[str]:
    with open_input(source) as stream:
        text = TextIOWrapper(cast(BinaryIO, stream), "utf-8-sig", newline="")
        rows = csv.reader(text, delimiter=delimiter)
        try:
            header = next(rows, [])
            column = header.index(_chosen(source, 1, field, header))
            for row in rows:
                if row:
                    yield row[column] if column < len(row) else ""
        except UnicodeDecodeError:
            raise InputError(
                str(source), None, f"after line {rows.line_num}, this is not UTF-8 text; save the file as UTF-8"
            ) from None
        except csv.Error as error:
            raise InputError(str(source), rows.line_num, f"this is not a table: {error}") from None
        finally:
            text.detach()


def _chosen(source: str | Path, line: int, field: str | None, fields: list[str]) -> str:
    """Return the field to take, the only one if none is given."""
    if field is None and len(fields) == 1:
        return fields[0]
    there = f"{shown(source)} has {', '.join(map(repr, fields[:10]))}"
    if field is None:
        raise InputError(str(source), line, f"which field has the text? Name it by --text-field; {there}")
    if field not in fields:
        raise InputError(str(source), line, f"there is no field {field!r} here; {there}")
    return field


def _shown_value(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
