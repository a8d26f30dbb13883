"""Records of texts from JSON lines, tables and corpora of Annif, row by row, with their fields checked.

A bad row, or a bad record, is an item too, so that the caller may go on after it. Of Annif, TSV lines of a text and
URIs are a format of rows of their own; its CSV and JSON lines are tables and objects with fields of other names, and
its directories are read as JSON lines.
"""

import csv
import io
import json
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError
from mpu_cli.names.lines import NOT_UTF8, decoded_lines, first_repeated, is_utf8
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.svmlight.streams import ReadableLines, compression_named, open_input
from mpu_cli.text.fields import holder
from mpu_cli.text.languages import TextIn

ANNIF, SUBJECTS = "annif", "subjects"
FORMATS = ("jsonl", "csv", "tsv", ANNIF)
_FORMAT_OF = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
_MOST_SHOWN = 10


@dataclass(frozen=True)
class Row:
    """A row with its fields, which are strings in a table."""

    line: int  # line of the file in which it starts, from 1
    fields: Mapping[str, object]  # values by the names of the fields


@dataclass(frozen=True)
class Bad:
    """A row that cannot be used."""

    line: int  # line of the file in which it starts, from 1
    problem: str  # what is wrong, and what to do


def format_of(source: str | Path) -> str | None:
    """Return the format of a file by its suffix, compressed or not; None if the suffix means none."""
    path = Path(source)
    return _FORMAT_OF.get(path.with_suffix("").suffix if compression_named(path) else path.suffix)


def read_rows(
    stream: ReadableLines, source: str, form: str, max_line_bytes: int, needed: Iterable[str] = ()
) -> Iterator[Row | Bad]:
    """Read rows one by one.

    Empty lines are skipped. A byte order mark and CRLF are allowed. The first row of a table names its fields. Fields
    of a table may be quoted; then they may have separators, line ends, and quotation marks written twice.

    `source`: its name for errors.
    `form`: {"jsonl", "csv", "tsv", "annif"}: JSON objects, one on each line; a table separated by commas or tabs; or,
    without a row of names, lines of a text, a tab, and URIs with blanks between them: the fields ``text`` and
    ``subjects``.
    `max_line_bytes`: largest size of a line, and of a row of a table, which may have several lines.
    `needed`: fields that a table must have. If it has rows, each of them reports a missing one.
    Yields: `Bad` if the row is not UTF-8, too long, not an object, or does not fit the first row of a table.
    Raises InputError (the file as a whole cannot be read: it is UTF-16, or a table without a row of names, or one with
    this row alone in which a needed name is missing).
    """
    lines = decoded_lines(stream, source, max_line_bytes)
    if form in ("jsonl", ANNIF):
        yield from _one_by_one(lines, max_line_bytes, _object if form == "jsonl" else _text_and_uris)
    else:
        yield from _table(lines, source, "," if form == "csv" else "\t", max_line_bytes, needed)


def _one_by_one(lines: Iterator[str | None], limit: int, row: Callable[[int, str], Row | Bad]) -> Iterator[Row | Bad]:
    for number, line in enumerate(lines, 1):
        if line is None:
            yield Bad(number, _too_long(limit))
        elif not is_utf8(line):
            yield Bad(number, NOT_UTF8)
        elif line.strip():
            yield row(number, line)


def _too_long(limit: int) -> str:
    return f"the line is longer than {limit:,} bytes; --max-line-bytes N takes longer lines"


def _text_and_uris(number: int, line: str) -> Row:
    text, _, uris = line.rstrip("\r\n").partition("\t")
    return Row(number, {"text": text, SUBJECTS: uris})


def _object(number: int, line: str) -> Row | Bad:
    try:
        fields = json_value(line)
    except ValueError as error:
        return Bad(number, f"{error}; each line should be one object")
    if not isinstance(fields, dict):
        return Bad(number, "this is not a JSON object with fields; each line should be one")
    return Row(number, fields)


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
            first = row[0]
            absent = [name for name in needed if name not in names]
            empty: dict[str, object] = {name: "" for name in names if name}
        else:
            absent = []  # each row reports it
            yield _named(*row, names, empty)
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


def _named(line: int, values: list[str], names: list[str], empty: dict[str, object]) -> Row | Bad:
    if any(value.strip() for value in values[len(names) :]):
        return Bad(line, f"there are {len(values)} values, but {len(names)} columns; quote what has a separator")
    fields: dict[str, object] = {name: value for name, value in zip(names, values, strict=False) if name}
    # Spreadsheets leave out empty values at the end. So short rows under a long header take little memory.
    return Row(line, fields if len(values) >= len(names) else ChainMap(fields, empty))


TEXT, TAGS, ID = "text", "tags", "id"  # default fields; the last two are optional
SEPARATOR = ";"
# Control characters, among them those that end lines or cells, and separators of lines and paragraphs.
_CONTROL = str.maketrans(dict.fromkeys(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)), " "))


@dataclass(frozen=True)
class Fields:
    """The fields of a record that are read.

    Attributes
    ----------
    text : tuple of str
        Their values, one line after another, are the text. None: the only field of the first record.
    tags, id : str
        If the first record lacks the field, no record may have it. Empty: not read.
    separator : str
        Separates tags that are written as one text.
    needs_tags, needs_id : bool
        Whether each record must have the field.
    language, group : str
        The fields that name the language of the text, and the group of the record. Empty: not read.
    """

    text: tuple[str, ...] = (TEXT,)
    tags: str = TAGS
    id: str = ID
    separator: str = SEPARATOR
    needs_tags: bool = False
    needs_id: bool = False
    language: str = ""
    group: str = ""


DEFAULT_FIELDS = Fields()


@dataclass(frozen=True)
class Record:
    """A text with its tags.

    Attributes
    ----------
    line : int
        Line of the file in which it starts, from 1.
    text : str
    tags : tuple of str
        Each once, without blanks around, none of them empty.
    id : str or None
        None if records have no ids.
    mended : bool
        Whether a tab or line end within a tag, the id or the group became a blank.
    group : str or None
        Empty: the group without a name. None if that is not read.
    """

    line: int
    text: str
    tags: tuple[str, ...]
    id: str | None
    mended: bool
    group: str | None = None

    def size(self) -> int:
        """Return the number of its characters."""
        return len(self.text) + sum(map(len, self.tags)) + len(self.id or "")


def chosen_format(source: str | Path, form: str | None) -> str:
    """Return the format of a file: `form`, or else that of its suffix.

    Raises InputError (there is no `form`, and the suffix means no format).
    """
    chosen = form or format_of(source)
    if chosen is None:
        raise InputError(
            str(source), None, f"its name does not tell which of {', '.join(FORMATS)} it is; say so by --format"
        )
    return chosen


def read_records(
    stream: ReadableLines, source: str, form: str, fields: Fields, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Record | Bad]:
    """Read records one by one.

    A text is a string, or null for none. Tags are a list of strings or whole numbers, or one string that is split at
    the separator; null is no tags. An id is a string or a whole number.

    Parameters
    ----------
    stream : binary file
    source : str
        Its name for errors.
    form : {"jsonl", "csv", "tsv"}
    fields : Fields
    max_line_bytes : int

    Yields
    ------
    Record or Bad
        `Bad` if the row is bad, or a field is missing or of another type.

    Raises
    ------
    InputError
        As `read_rows`; or `fields` has no text field, and there are several.
    """
    for _, record in read_rows_and_records(stream, source, form, fields, max_line_bytes):
        yield record


def read_rows_and_records(
    stream: ReadableLines, source: str, form: str, fields: Fields, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[Row | Bad, Record | Bad]]:
    """Read records as `read_records`, each with the row that it was made of."""
    reader: _Reader | None = None
    needed = (
        *fields.text,
        *[fields.tags] * fields.needs_tags,
        *[fields.id] * fields.needs_id,
        *filter(None, (fields.language, fields.group)),
    )
    for row in read_rows(stream, source, form, max_line_bytes, needed):
        if isinstance(row, Bad):
            yield row, row
            continue
        if reader is None:
            if not fields.text and len(row.fields) != 1:
                problem = f"which field has the text? Name it by --text-field; {field_list(row.fields)}"
                raise InputError(source, row.line, problem)
            reader = _Reader(fields, row)
        try:
            yield row, reader.record(row)
        except _FieldError as error:
            yield row, Bad(row.line, str(error))


class _FieldError(Exception):
    """A field that is missing or of another type."""


class _Reader:
    """Reads records with the fields of the first one."""

    def __init__(self, fields: Fields, first: Row) -> None:
        self._fields = fields if fields.text else replace(fields, text=tuple(first.fields))
        self._tags = self._used(fields.tags, fields.needs_tags, first)
        self._id = self._used(fields.id, fields.needs_id, first)

    @staticmethod
    def _used(name: str, is_needed: bool, first: Row) -> str | None:
        return name if name and (is_needed or holder(first.fields, name)) else None

    def record(self, row: Row) -> Record:
        text = "\n".join(filter(None, (_text(name, _value(row, name)) for name in self._fields.text)))
        if self._fields.language:
            text = TextIn.of(text, _text(self._fields.language, _value(row, self._fields.language)))
        written = [] if self._tags is None else self._written_tags(row, self._tags)
        tags = [clean(tag) for tag in written]
        key = None if self._id is None else _whole_or_text(self._id, _value(row, self._id))
        for option, name, used in (("tags", self._fields.tags, self._tags), ("id", self._fields.id, self._id)):
            if used is None and name and holder(row.fields, name):
                raise _FieldError(f"there is a field {name!r}, but the first record has none; --{option} names it")
        shown_id = None if key is None else clean(key)
        if shown_id == "":
            raise _FieldError(f"the field {self._id!r} is empty; each record needs an id of its own")
        named = self._group(row)
        group = None if named is None else clean(named)
        checks = (
            (self._id, shown_id),
            (self._tags, "".join(tags)),
            (", ".join(self._fields.text), text),
            (self._fields.group, group),
        )
        for which, value in checks:
            if value is not None and not is_utf8(value):
                raise _FieldError(f"the field {which!r} has half of a surrogate pair (\\ud800 to \\udfff)")
        mended = any(tag != value.strip() for tag, value in zip(tags, written, strict=True))
        mended |= key is not None and shown_id != key.strip()
        mended |= named is not None and group != named.strip()
        return Record(row.line, text, tuple(dict.fromkeys(filter(None, tags))), shown_id, mended, group)

    def _group(self, row: Row) -> str | None:
        if not (name := self._fields.group):
            return None
        value = _value(row, name)
        return "" if value is None else _whole_or_text(name, value)

    def _written_tags(self, row: Row, name: str) -> list[str]:
        match _value(row, name):
            case None:
                return []
            case str(text):
                return text.split(self._fields.separator)
            case list(values):
                return [_whole_or_text(name, subject(value), "a list that has ") for value in values]
            case other:
                raise _FieldError(
                    f"the field {name!r} is {_kind(other)}; it should be a list of tags, or a text with "
                    f"{self._fields.separator!r} between tags"
                )


def subject(value: object) -> object:
    """Return what identifies a tag in a list: of an object of Annif its URI, or else its label; all others as it is."""
    return value.get("uri", value.get("label")) if isinstance(value, dict) else value


def _value(row: Row, name: str) -> object:
    if (place := holder(row.fields, name)) is None:
        raise _FieldError(no_field(name, row.fields))
    return place[0].get(place[1])


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _FieldError(f"the field {name!r} is {_kind(value)}; it should be a text")
    return value


def _whole_or_text(name: str, value: object, within: str = "") -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise _FieldError(f"the field {name!r} is {within}{_kind(value)}; texts and whole numbers are possible")


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "a text"


def clean(text: str) -> str:
    """Return a tag or an id as data files have it: without blanks around and control characters."""
    return text.translate(_CONTROL).strip()


_TABLE = Fields(tags="subject_uris", id="document_id", separator=" ")
_OTHERS = Fields(tags=SUBJECTS, id="document_id", separator=" ")


def form_and_fields(source: str | Path, form: str | None, default: Fields) -> tuple[str, Fields]:
    """Return the format of the rows of a file, one of `records.FORMATS`, and the fields that it has by default.

    Without `form`, its name tells it, or InputError as from `chosen_format`. A directory is a corpus of Annif.
    `default` has the fields of other files.
    """
    if Path(source).is_dir():
        return "jsonl", _OTHERS
    if form != ANNIF:
        return chosen_format(source, form), default
    form = format_of(source)
    return (form, _TABLE if form == "csv" else _OTHERS) if form in ("csv", "jsonl") else (ANNIF, _OTHERS)


def is_corpus(form: str, fields: Fields) -> bool:
    """Whether a file of this format with these fields is a corpus, whose tags are URIs."""
    of_corpus = _TABLE if form == "csv" else _OTHERS
    return (fields.tags, fields.separator) == (of_corpus.tags, of_corpus.separator)


def open_records(source: str | Path, most: int = MAX_LINE_BYTES) -> AbstractContextManager[ReadableLines]:
    """Open a file as `open_input`; a directory of Annif as JSON lines, one for each document, in the order of names.

    Raises InputError (it cannot be read, or a directory has no documents, or one of more than `most` bytes).
    """
    if Path(source).is_dir():
        return io.BufferedReader(_Lines(_documents(Path(source), most)), 1 << 16)
    return open_input(source)


def _documents(folder: Path, most: int) -> Iterator[bytes]:
    texts, objects = sorted(folder.glob("*.txt")), sorted(folder.glob("*.json"))
    if not texts and not objects:
        raise InputError(str(folder), None, "is a directory without documents: there is no .txt and no .json file")
    for path in texts:
        text, subjects = _read(path, most), _subjects(path, most)
        yield json.dumps({"document_id": path.stem, "text": text, SUBJECTS: subjects}).encode() + b"\n"
    for path in objects:
        try:
            document = json_value(_read(path, most))
        except ValueError as error:
            raise InputError(str(path), None, str(error)) from None
        if not isinstance(document, dict):
            raise InputError(str(path), None, "is not a JSON object with a text")
        yield json.dumps({"document_id": path.stem, SUBJECTS: None, **document}).encode() + b"\n"


def _subjects(path: Path, most: int) -> list[dict[str, str]] | None:
    """Return the subjects of a text, in a file beside it: lines of a URI and a label (.tsv), or of a label (.key)."""
    for suffix in (".tsv", ".key"):
        if (beside := path.with_suffix(suffix)).is_file():
            lines = (line.split("\t") for line in _read(beside, most).splitlines())
            return [_subject(cells) for cells in lines if any(map(str.strip, cells))]
    return None


def _subject(cells: list[str]) -> dict[str, str]:
    texts = [cell.strip() for cell in cells if cell.strip()]
    uri = next((text[1:-1] for text in texts if text.startswith("<") and text.endswith(">")), None)
    return {"label": texts[0]} if uri is None else {"uri": uri}


def _read(path: Path, most: int) -> str:
    if not path.is_file():
        raise InputError(str(path), None, "is not a regular file")
    with open_input(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(str(path), None, f"is longer than {most:,} bytes; --max-line-bytes N takes longer documents")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(str(path), None, "this is not UTF-8 text; save the file as UTF-8") from None


class _Lines(io.RawIOBase):
    """Lines as a stream of bytes."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._rest = self._rest or memoryview(next(self._lines, b""))
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n
