"""Read text records from JSON lines, tables and Annif corpora, row by row, and check their fields.

Bad rows and bad records are yielded too, so that the caller can continue after them. Annif's TSV lines (a text and
URIs) are a row format of their own; its CSV files and JSON lines are tables and objects with other field names; its
directories are read as JSON lines.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from shlex import quote

from mpu_cli.errors import CONTROL, InputError, abridged, counted
from mpu_cli.names.lines import as_utf8, decoded_lines, delimiter_of, first_repeated, is_utf8, text_lines
from mpu_cli.runtime.files import Joined, json_value
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES, OLD_LINE_ENDS
from mpu_cli.svmlight.streams import Readable, open_input, plain_name
from mpu_cli.text.fields import holder, listed, value_of

ANNIF, SUBJECTS = "annif", "subjects"
FORMATS = ("jsonl", "csv", "tsv", ANNIF)
_FORMAT_OF = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv"}
DELIMITERS = {"csv": ",", "tsv": "\t"}  # unless the column names indicate others
MOST_SHOWN = 30  # fields
_PEEKED = 100  # records
_QUOTING = 'where one belongs to a value, write it twice, and others around the value: """A word"" and more"'
_BLANK = re.compile(r'\ufeff?(?:sep=.)?[ \t\r\n,;|"]*')  # Excel declares the column separator this way


@dataclass(frozen=True)
class Table:
    """The header of a table."""

    lines: slice  # in a list of the lines of the file
    delimiter: str
    names: list[str]


@dataclass(frozen=True)
class Row:
    """A row and its fields, which are strings in a table."""

    line: int  # line number of its start, from 1
    fields: Mapping[str, object] = field(default_factory=dict)  # values by field name
    problem: str = ""  # why it cannot be used, and what to do
    cells: list[str] = field(default_factory=list, compare=False, repr=False)  # of a table
    table: Table | None = field(default=None, compare=False, repr=False)
    lines: int = field(default=1, compare=False)  # its number of lines

    def with_lines(self, problem: str) -> str:
        """Return a problem in this row with its lines, if there are several."""
        last = self.line + self.lines - 1
        span = f"; it takes up lines {self.line} to {last}, from an opening quotation mark to the next"
        return problem + span * (self.lines > 1)


def suffix_of(source: str | Path) -> str:
    """Return the suffix of a file, compressed or not, in lower case."""
    return plain_name(source).suffix.lower()


def format_of(source: str | Path) -> str | None:
    """Return the format that a file's suffix indicates, compressed or not; None if it indicates none."""
    return _FORMAT_OF.get(suffix_of(source))


def read_rows(stream: Readable, source: str, form: str, needed: Iterable[str] = ()) -> Iterator[Row]:
    """Read rows one by one.

    Empty lines and table rows with only empty cells are skipped. A byte order mark and CRLF are allowed. The first row
    of a table names its fields. Table fields may be quoted; then they may contain separators, line ends and doubled
    quotation marks.

    `form`: {"jsonl", "csv", "tsv", "annif"}: JSON objects, one on each line; a table; or, without a header row, lines
    with a text, a tab and URIs separated by blanks: the fields ``text`` and ``subjects``.
    `needed`: fields that a table must have. If one is missing, the header row is bad, and the only one.
    Yields: a row with a problem if it is not UTF-8, too long, not an object, or does not fit the first row of a table.
    Raises InputError (the whole file is unreadable: it is a JSON array, or a table without a header row, or with an
    unterminated row that takes up several lines, the rest of the file).
    """
    lines = decoded_lines(stream, source)
    if form in DELIMITERS:
        yield from _table(lines, source, form, needed)
        return
    is_first = True
    for number, (line, problem) in enumerate(lines, 1):
        if problem:
            yield Row(number, problem=problem)
        elif line.strip():
            if form == ANNIF:
                text, _, uris = line.rstrip("\r\n").partition("\t")
                yield Row(number, {"text": text, SUBJECTS: uris}, OLD_LINE_ENDS * ("\r" in uris))
                continue
            if is_first and (line.lstrip().startswith("[") or line.strip() == "{"):
                records = "'.[]'" if line.lstrip().startswith("[") else "."
                problem = "this is JSON, but not one record on each line; convert it: "
                raise InputError(source, f"{problem}jq -c {records} {quote(source)} > lines.jsonl", number)
            is_first = False
            try:
                if not isinstance(fields := json_value(line), dict):
                    fields, problem = {}, "this is not a JSON object with fields; each line should be one"
            except ValueError as error:
                is_old = "\r" in line.strip()
                fields, problem = {}, OLD_LINE_ENDS if is_old else f"{error}; each line should be one object"
            yield Row(number, fields, problem)


def no_field(name: str, names: Iterable[str], is_table: bool = False) -> str:
    """Return the message that a field is missing, with a list of the existing fields."""
    return f"there is no field {name!r} here; {field_list(names, is_table)}"


def field_list(names: Iterable[str], is_table: bool = False) -> str:
    """Return a message that lists the first existing fields; for a table, it tells where their names come from."""
    shown = list(map(repr, islice(names, MOST_SHOWN + 1)))
    header = " (the first line must name the fields)" * is_table
    return f"there are {abridged(shown[:MOST_SHOWN], len(shown)) or 'none at all'}{header}"


def _table(lines: Iterator[tuple[str, str]], source: str, form: str, needed: Iterable[str]) -> Iterator[Row]:
    problem = ""  # what is wrong with a line of the row

    def checked(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
        nonlocal problem
        for line, wrong in lines:
            problem = problem or wrong
            yield line

    before: list[tuple[str, str]] = []  # up to the header line
    for line, wrong in lines:
        is_empty = not wrong and _BLANK.fullmatch(line)
        before.append(("\n" if is_empty else line, wrong))
        if not is_empty:
            break
    delimiter = delimiter_of(before[-1][0] if before else "", DELIMITERS[form], needed)
    rows = csv.reader(checked(chain(before, lines)), delimiter=delimiter, strict=True)
    table: Table | None = None
    values: list[str] | None = []
    while values is not None:
        first, problem, values = rows.line_num + 1, "", []
        largest = csv.field_size_limit(MAX_LINE_BYTES)  # a process-wide setting
        try:
            values = next(rows, None)
        except csv.Error as error:
            if "field limit" in str(error):
                too_long = f"a value is longer than {MAX_LINE_BYTES:,} characters; is a quotation mark not closed?"
                raise InputError(source, too_long, first) from None
            unclosed = "an opening quotation mark on this line or below is never closed"
            if "end of data" in str(error) and rows.line_num > first:
                rest = f"so lines {first} to {rows.line_num}, the rest of the file, are one row, which is never skipped"
                raise InputError(source, f"{unclosed}, {rest}; close or remove it; {_QUOTING}", first) from None
            reason = unclosed if "end of data" in str(error) else f"this is not a row of a table ({error})"
            problem = problem or (OLD_LINE_ENDS if "new-line" in str(error) else f"{reason}; {_QUOTING}")
        finally:
            csv.field_size_limit(largest)
        if problem and table is None:
            raise InputError(source, problem, first)
        n_lines = rows.line_num - first + 1
        if problem:
            yield Row(first, problem=problem, lines=n_lines)
        elif not values or not any(map(str.strip, values)):
            continue
        elif table is not None:
            names = table.names
            if values == names:
                problem = "this line names the columns again, as if two tables were joined; remove it"
            elif any(map(str.strip, values[len(names) :])):
                of_columns = counted(len(names), "column")
                problem = f"there are {len(values)} values, but {of_columns}; quote what has a separator"
            # Spreadsheets leave out empty values at the end.
            pairs = zip_longest(names, values[: len(names)], fillvalue="")
            yield Row(first, {name: value for name, value in pairs if name}, problem, values, table, n_lines)
        else:
            names = [name.strip() for name in values]
            table = Table(slice(first - 1, rows.line_num), delimiter, names)
            if twice := first_repeated(names):
                raise InputError(source, f"two columns are called {twice[:40]!r}", first)
            if absent := [name for name in needed if name not in names]:
                yield Row(first, problem=no_field(absent[0], filter(None, names), is_table=True))
                return
    if table is None:
        raise InputError(source, "it is empty; its first line should name the columns")


TEXT, TAGS, ID = "text", "tags", "id"  # default fields; the last two are optional
SEPARATOR = ";"


@dataclass(frozen=True)
class Fields:
    """The fields that are read from a record."""

    # The text is their values, joined by newlines. Empty: the only field of the first record.
    text: tuple[str, ...] = (TEXT,)
    # The tags are their values, if present. Empty: not read.
    tags: tuple[str, ...] = (TAGS,)
    # If the first record lacks the field, no record may have it. Empty: not read.
    id: str = ID
    separator: str = SEPARATOR  # between tags that are written as one text rather than a list
    group: str = ""  # the field with the name of the record's group. Empty: not read
    # Which of these fields the user has named: a table must have them, and each record the id and the group
    named: frozenset[str] = frozenset()
    # Whether each field in `tags` is itself a tag, and its value, such as 1, indicates whether the record has it.
    are_tags: bool = False

    @property
    def by_option(self) -> dict[str, tuple[str, ...]]:
        """The names of the fields by the option that names them."""
        return {"text": self.text, "tags": self.tags, "id": (self.id,), "group": (self.group,)}

    def needed(self) -> list[str]:
        """Return the fields that a table must have."""
        return [name for kind, names in self.by_option.items() if kind in {"text", *self.named} for name in names]


DEFAULT_FIELDS = Fields()


@dataclass(frozen=True)
class Record:
    """A text with its tags."""

    line: int  # line number of its start, from 1
    text: str
    tags: tuple[str, ...]  # unique, stripped of blanks, not empty
    id: str | None  # None if records have no ids
    mended: bool  # whether a tab or line end within a tag, the id or the group was replaced by a blank
    group: str | None = None  # empty: the unnamed group. None if groups are not read
    row: Row = field(default=Row(0), compare=False, repr=False)  # the row that it was made from

    def size(self) -> int:
        """Return the number of characters in the text, the tags and the id."""
        return len(self.text) + sum(map(len, self.tags)) + len(self.id or "")


# What other programs write for an empty cell or list.
EMPTY = re.compile(r"[-.?]*|\\N|set\(\)|[\[(<#]?(?:nan|nat|none|null|n/?a)[\])>]?", re.IGNORECASE)
_FLAGS = dict.fromkeys(("0", "0.0", "false", "no", ""), False) | dict.fromkeys(("1", "1.0", "true", "yes", "x"), True)


def flag(value: object) -> bool | None:
    """Return whether a field's value indicates that the record has this tag; None if it indicates neither."""
    text = "" if value is None else str(value).strip().lower()
    has_it = _FLAGS.get(text)
    return False if has_it is None and EMPTY.fullmatch(text) else has_it


class RecordReader:
    """Reads records one by one: `records` yields those of a stream.

    A text is a string, or null if empty. Tags are a list of strings or whole numbers, or one string: a list
    (`fields.listed`), or else split at the separator; null means no tags. An id is a string or a whole number.

    `fields`: the fields that are read, completed from the first records.
    `skip_bad`: whether bad records are left out; otherwise the first one raises InputError.
    """

    def __init__(self, source: str, form: str, fields: Fields, skip_bad: bool = False) -> None:
        self.source, self.form, self.fields, self.skip_bad = source, form, fields, skip_bad
        self._has_id = False

    def refuse(self, row: Row, problem: str) -> None:
        """Raise InputError for a bad record, unless bad ones are left out."""
        if not self.skip_bad:
            raise InputError(self.source, problem, row.line)

    def records(self, stream: Readable) -> Iterator[Record]:
        """Read a stream from the start.

        Raises InputError (as `read_rows`; or no text field is named, and there are several fields).
        """
        is_first = True
        for row in read_rows(stream, self.source, self.form, self.fields.needed()):
            if row.problem:
                self.refuse(row, row.with_lines(row.problem))
                continue
            if is_first:
                self._choose_others(row)
                is_first = False
            try:
                yield self._record(row)
            except ValueError as error:
                of = f" (document {row.fields.get('document_id')!r})" * Path(self.source).is_dir()
                self.refuse(row, row.with_lines(f"{error}{of}"))

    def find_tags(self, stream: Readable) -> None:
        """Find the fields that are tags: all named ones or, if no field lists tags, two or more others."""
        fields = self.fields
        rows = islice(read_rows(stream, self.source, self.form, fields.needed()), _PEEKED)
        first = [row.fields for row in rows if not row.problem]
        if "tags" in fields.named:  # some of them may have no value in the first records
            values = [value_of(one, name) for one in first for name in fields.tags]
            self.fields = replace(fields, are_tags=_are_flags(values))
        elif first and not any(holder(one, name) for one in first for name in fields.tags):
            others = (name for name in first[0] if name not in {*fields.text, fields.id, fields.group})
            found = tuple(name for name in others if _are_flags([value_of(one, name) for one in first]))
            if len(found) > 1:
                self.fields = replace(fields, tags=found, are_tags=True)

    def _choose_others(self, first: Row) -> None:
        fields = self.fields
        if not fields.text:
            if len(first.fields) != 1:
                there = field_list(first.fields, is_table=first.table is not None)
                problem = f"which field has the text? Name it by --text-field; {there}"
                raise InputError(self.source, problem, first.line)
            self.fields = replace(fields, text=tuple(first.fields))
        if "group" not in fields.named and holder(first.fields, fields.group) is None:
            self.fields = replace(self.fields, group="")
        self._has_id = bool(fields.id) and ("id" in fields.named or holder(first.fields, fields.id) is not None)

    def _record(self, row: Row) -> Record:
        fields = self.fields
        if row.table is not None and len(row.cells) < len(row.table.names):
            self._refuse_cut_off(row.cells, row.table.names)
        text = "\n".join(filter(None, (_text(name, _value(row, name)) for name in fields.text)))
        if not self._has_id and fields.id and holder(row.fields, fields.id):
            raise ValueError(f"there is a field {fields.id!r}, but the first record has none; --id names it")
        # As written; the id and the group are None if they are not read.
        tags = [tag for name in fields.tags for tag in self._tags(name, value_of(row.fields, name))]
        key = _whole_or_text(fields.id, _value(row, fields.id)) if self._has_id else None
        group = None
        if fields.group:
            value = _value(row, fields.group) if "group" in fields.named else value_of(row.fields, fields.group)
            group = "" if value is None else _whole_or_text(fields.group, value)
        texts = [one for one in (*tags, key, group) if one is not None]
        if not (is_utf8(text) and all(map(is_utf8, texts))):
            pairs = ((key or "",), fields.id), (tags, ", ".join(fields.tags)), ((text,), ", ".join(fields.text))
            which = next((name for values, name in pairs if not all(map(is_utf8, values))), fields.group)
            raise ValueError(f"the field {which!r} contains half of a surrogate pair (\\ud800 to \\udfff)")
        plain = {one: clean(one) for one in texts}
        mended = any(after != before.strip() for before, after in plain.items())
        clean_tags = tuple(dict.fromkeys(filter(None, (plain[tag] for tag in tags))))
        key, group = (None if one is None else plain[one] for one in (key, group))
        if key == "":
            raise ValueError(f"the field {fields.id!r} is empty; each record needs an id of its own")
        return Record(row.line, text, clean_tags, key, mended, group, row)

    def _refuse_cut_off(self, cells: list[str], names: list[str]) -> None:
        """Raise ValueError if a row of a table ends before a column that is read."""
        fields = self.fields
        read = {*fields.text, *fields.tags, fields.id if self._has_id else "", fields.group} - {""}
        if absent := read.intersection(names[len(cells) :]):
            there = f"there {'is' if len(cells) == 1 else 'are'} {counted(len(cells), 'value')}"
            problem = f"{there}, but {len(names)} columns, and none in {min(absent)!r}"
            raise ValueError(f"{problem}; an empty value needs a separator before it")

    def _tags(self, name: str, value: object) -> list[str]:
        if self.fields.are_tags:
            if (has_it := flag(value)) is None:
                raise ValueError(f"the field {name!r} is {str(value)[:40]!r}, not 0 or 1; name the tags by --tags")
            return [name] * has_it
        try:
            values = listed(value) if isinstance(value, str) else value
        except ValueError as error:
            raise ValueError(f"the field {name!r} {error}; write its tags as a list of texts") from None
        if values is None:
            return [] if value is None else str(value).split(self.fields.separator)
        if not isinstance(values, list):
            raise ValueError(
                f"the field {name!r} is {json.dumps(values)[:40]}; it should be a list of tags, or a text with "
                f"{self.fields.separator!r} between tags"
            )
        return [_whole_or_text(name, subject(one), "a list that has ") for one in values]


def _are_flags(values: list[object]) -> bool:
    return None not in map(flag, values) and not all(EMPTY.fullmatch(str(value).strip()) for value in values)


def subject(value: object) -> object:
    """Return the identity of a listed tag: an Annif object's URI, or else its label; all others unchanged."""
    return value.get("uri", value.get("label", value)) if isinstance(value, dict) else value


def _value(row: Row, name: str) -> object:
    if (place := holder(row.fields, name)) is None:
        raise ValueError(no_field(name, row.fields))
    return place[0].get(place[1])


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"the field {name!r} is {json.dumps(value)[:40]}; it should be a text")
    return value


def _whole_or_text(name: str, value: object, within: str = "") -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"the field {name!r} is {within}{json.dumps(value)[:40]}; texts and whole numbers are possible")


def clean(text: str) -> str:
    """Return a tag or an id as written to data files: with blanks for control characters, and stripped."""
    return CONTROL.sub(" ", text).strip()


_TABLE = Fields(tags=("subject_uris",), id="document_id", separator=" ")
_OTHERS = Fields(tags=(SUBJECTS,), id="document_id", separator=" ")
_SUBJECTS = ".tsv", ".key"  # of the files beside the texts of a directory


def form_and_fields(source: str | Path, form: str | None) -> tuple[str, Fields]:
    """Return the row format of a file, one of `FORMATS`, and its default fields.

    Without `form`, the file name determines the format. A directory is an Annif corpus.
    Raises InputError (`form` is missing, and the name indicates no format).
    """
    if Path(source).is_dir():
        return "jsonl", _OTHERS
    named = format_of(source)
    if form == ANNIF:
        return (named, _TABLE if named == "csv" else _OTHERS) if named in ("csv", "jsonl") else (ANNIF, _OTHERS)
    if form or named:
        return form or named or "", DEFAULT_FIELDS
    raise InputError(source, f"its name does not show which of {', '.join(FORMATS)} it is; give --format")


def is_corpus(form: str, fields: Fields) -> bool:
    """Return whether a file of this format with these fields is a corpus, whose tags are URIs."""
    of_corpus = _TABLE if form == "csv" else _OTHERS
    return (fields.tags, fields.separator) == (of_corpus.tags, of_corpus.separator)


@contextmanager
def open_records(source: str | Path) -> Iterator[Readable]:
    """Open a file like `open_input`, in UTF-8; an Annif directory as JSON lines, one per document, sorted by name.

    Raises InputError (it cannot be read, or a directory has no documents, or one larger than `MAX_LINE_BYTES`).
    """
    if Path(source).is_dir():
        yield Joined(_documents(Path(source)))
        return
    with open_input(source) as stream:
        yield as_utf8(stream, str(source))


def is_of_corpus(path: Path) -> bool:
    """Return whether a file with this path is read with its directory: a document, or the subjects of one."""
    return path.suffix in (".txt", ".json") or (path.suffix in _SUBJECTS and path.with_suffix(".txt").exists())


def _documents(folder: Path) -> Iterator[bytes]:
    texts, objects = sorted(folder.glob("*.txt")), sorted(folder.glob("*.json"))
    if not texts and not objects:
        raise InputError(folder, "is a directory without documents: it contains no .txt or .json file")
    for path in texts:
        text, subjects = _read(path), _subjects(path)
        yield json.dumps({"document_id": path.stem, "text": text, SUBJECTS: subjects}).encode() + b"\n"
    for path in objects:
        try:
            document = json_value(_read(path))
        except ValueError as error:
            raise InputError(path, str(error)) from None
        if not isinstance(document, dict):
            raise InputError(path, "is not a JSON object with a text")
        yield json.dumps({"document_id": path.stem, SUBJECTS: None, **document}).encode() + b"\n"


def _subjects(path: Path) -> list[dict[str, str]] | None:
    """Return a text's subjects from the file beside it: lines with a URI and a label (.tsv), or a label (.key)."""
    for suffix in _SUBJECTS:
        if (beside := path.with_suffix(suffix)).is_file():
            lines = ([*filter(None, map(str.strip, line.split("\t")))] for line in _read(beside).splitlines())
            uris = ((texts, [text[1:-1] for text in texts if text[0] == "<" and text[-1] == ">"]) for texts in lines)
            return [{"uri": found[0]} if found else {"label": texts[0]} for texts, found in uris if texts]
    return None


def _read(path: Path) -> str:
    if not path.is_file():
        raise InputError(path, "is not a regular file")
    lines, left = [], MAX_LINE_BYTES
    for line in text_lines(path, is_ours=True):
        lines.append(line)
        left -= len(line) + len("\n")
        if left < 0:
            raise InputError(path, f"is longer than {MAX_LINE_BYTES:,} characters, the maximum for a document")
    return "\n".join(lines)
