"""Files of JSON lines and tables, row by row. A bad row is an item too, so that the caller may go on after it."""

import csv
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_cli.errors import InputError
from mpu_cli.names.cells import first_repeated
from mpu_cli.names.lines import NOT_UTF8, decoded_lines, is_utf8
from mpu_cli.runtime.untrusted import json_value

if TYPE_CHECKING:
    from mpu_cli.svmlight.streams import ReadableLines

ANNIF, SUBJECTS = "annif", "subjects"
FORMATS = ("jsonl", "csv", "tsv", ANNIF)
_FORMAT_OF = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
_COMPRESSED = (".gz", ".bz2", ".xz")
_MOST_SHOWN = 10


@dataclass(frozen=True)
class Row:
    """A row with its fields. Those of a table are strings.

    Attributes
    ----------
    line : int
        Line of the file in which it starts, from 1.
    fields : mapping
        Values by the names of the fields.
    written : str or sequence of str
        The line of an object; or all values of a row of a table, also those that have no field.
    header : sequence of str
        The first row of a table, as it is written.
    """

    line: int
    fields: Mapping[str, object]
    written: str | Sequence[str] = field(default="", compare=False, repr=False)
    header: Sequence[str] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Bad:
    """A row that cannot be used.

    Attributes
    ----------
    line : int
        Line of the file in which it starts, from 1.
    problem : str
        What is wrong, and what to do.
    """

    line: int
    problem: str


def format_of(source: str | Path) -> str | None:
    """Return the format of a file by its suffix, compressed or not; None if the suffix means none."""
    path = Path(source)
    return _FORMAT_OF.get(path.with_suffix("").suffix if path.suffix in _COMPRESSED else path.suffix)


def read_rows(
    stream: "ReadableLines", source: str, form: str, max_line_bytes: int, needed: Iterable[str] = ()
) -> Iterator[Row | Bad]:
    """Read rows one by one.

    Empty lines are skipped. A byte order mark and CRLF are allowed. The first row of a table names its fields. Fields
    of a table may be quoted; then they may have separators, line ends, and quotation marks written twice.

    Parameters
    ----------
    stream : binary file
    source : str
        Its name for errors.
    form : {"jsonl", "csv", "tsv", "annif"}
        JSON objects, one on each line; a table separated by commas or tabs; or, without a row of names, lines of a
        text, a tab, and URIs with blanks between them: the fields ``text`` and ``subjects``.
    max_line_bytes : int
        Largest size of a line, and of a row of a table, which may have several lines.
    needed : iterable of str
        Fields that a table must have. If it has rows, each of them reports a missing one.

    Yields
    ------
    Row or Bad
        `Bad` if the row is not UTF-8, too long, not an object, or does not fit the first row of a table.

    Raises
    ------
    InputError
        The file as a whole cannot be read: it is UTF-16, or a table without a row of names, or one with this row alone
        in which a needed name is missing.
    """
    lines = decoded_lines(stream, source, max_line_bytes)
    if form == "jsonl":
        yield from _objects(lines, max_line_bytes)
    elif form == ANNIF:
        yield from _texts_and_uris(lines, max_line_bytes)
    else:
        yield from _table(lines, source, "," if form == "csv" else "\t", max_line_bytes, needed)


def _texts_and_uris(lines: Iterator[str | None], limit: int) -> Iterator[Row | Bad]:
    for number, line in enumerate(lines, 1):
        if line is None:
            yield Bad(number, _too_long(limit))
        elif not is_utf8(line):
            yield Bad(number, NOT_UTF8)
        elif line.strip():
            text, _, uris = line.rstrip("\r\n").partition("\t")
            yield Row(number, {"text": text, SUBJECTS: uris}, (text, uris))


def _too_long(limit: int) -> str:
    return f"the line is longer than {limit:,} bytes; --max-line-bytes N takes longer lines"


def _objects(lines: Iterator[str | None], limit: int) -> Iterator[Row | Bad]:
    for number, line in enumerate(lines, 1):
        if line is None:
            yield Bad(number, _too_long(limit))
        elif not is_utf8(line):
            yield Bad(number, NOT_UTF8)
        elif line.strip():
            yield _object(number, line)


def _object(number: int, line: str) -> Row | Bad:
    try:
        fields = json_value(line)
    except ValueError as error:
        return Bad(number, f"{error}; each line should be one object")
    if not isinstance(fields, dict):
        return Bad(number, "this is not a JSON object with fields; each line should be one")
    return Row(number, fields, line)


class _Numbered:
    """Lines for the reader of tables, with the problem of the current row."""

    def __init__(self, lines: Iterator[str | None], limit: int) -> None:
        self._lines = lines
        self._limit = limit
        self._room = 0  # characters left for the row
        self.number = 0
        self.problem: str | None = None  # of the row that is being read

    def begin_row(self) -> int:
        """Return the line in which the next row starts."""
        self._room, self.problem = self._limit + len("\r\n"), None
        return self.number + 1

    def __iter__(self) -> "_Numbered":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        if line is None:
            self.problem = _too_long(self._limit)
            return "\n"
        self._room -= len(line)
        if self._room < 0:
            self.problem = (
                f"the row is longer than {self._limit:,} characters; is a quotation mark not closed? "
                "--max-line-bytes N takes longer rows"
            )
            raise csv.Error  # ends the row
        if not is_utf8(line):
            self.problem = NOT_UTF8
        return line


def no_field(name: str, names: Iterable[str]) -> str:
    """Return the message that a field is missing, with those that exist."""
    return f"there is no field {name!r} here; {field_list(names)}"


def field_list(names: Iterable[str]) -> str:
    """Return a message that lists the first of the existing fields."""
    shown = list(map(repr, islice(names, _MOST_SHOWN + 1)))
    there = ", ".join(shown[:_MOST_SHOWN]) + ", ..." * (len(shown) > _MOST_SHOWN)
    return f"there are {there or 'none at all'}"


def _table(
    lines: Iterator[str | None], source: str, delimiter: str, limit: int, needed: Iterable[str]
) -> Iterator[Row | Bad]:
    numbered = _Numbered(lines, limit)
    rows = csv.reader(numbered, delimiter=delimiter, strict=True)
    names: list[str] | None = None
    while (row := _next_row(rows, numbered, limit)) is not None:
        if isinstance(row, Bad) and names is None:
            raise InputError(source, row.line, row.problem)
        if isinstance(row, Bad):
            yield row
        elif names is None:
            names = [name.strip() for name in row[1]]
            if any("<" in name and "://" in name for name in names):
                raise InputError(source, row[0], "its first line names no columns, but has URIs: give --format annif")
            if twice := first_repeated(names):
                raise InputError(source, row[0], f"two columns are called {twice[:40]!r}")
            header, first = row[1], row[0]
            absent = [name for name in needed if name not in names]
            empty: dict[str, object] = {name: "" for name in names if name}
        else:
            absent = []  # each row reports it
            yield _named(*row, names, empty, header)
    if names is None:
        raise InputError(source, None, "it is empty; its first line should name the columns")
    if absent:
        raise InputError(source, first, no_field(absent[0], filter(None, names)))


def _next_row(rows: Iterator[list[str]], numbered: _Numbered, limit: int) -> tuple[int, list[str]] | Bad | None:
    """Return the next row that is not empty, with the line in which it starts; None at the end."""
    while True:
        first = numbered.begin_row()
        before = csv.field_size_limit(limit)  # a setting of the whole process
        try:
            values = next(rows)
        except StopIteration:
            return None
        except csv.Error as error:
            return Bad(first, numbered.problem or _not_a_table(error))
        finally:
            csv.field_size_limit(before)
        if numbered.problem:
            return Bad(first, numbered.problem)
        if values:
            return first, values


def _not_a_table(error: csv.Error) -> str:
    if "end of data" in str(error):
        return "a quotation mark that opens here, or after this line, is not closed"
    return f"this is not a row of a table ({error}); a quotation mark within quotation marks is written twice"


def _named(line: int, values: list[str], names: list[str], empty: dict[str, object], header: list[str]) -> Row | Bad:
    if any(value.strip() for value in values[len(names) :]):
        return Bad(line, f"there are {len(values)} values, but {len(names)} columns; quote what has a separator")
    fields: dict[str, object] = {name: value for name, value in zip(names, values, strict=False) if name}
    # Spreadsheets leave out empty values at the end. So short rows under a long header take little memory.
    return Row(line, fields if len(values) >= len(names) else ChainMap(fields, empty), values, header)
