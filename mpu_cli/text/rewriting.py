"""Write records with other tags. All else in the file stays as it is, byte for byte."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mpu_cli.errors import InputError
from mpu_cli.names.name_files import is_uri
from mpu_cli.svmlight.streams import ReadableLines
from mpu_cli.text.fields import holder, value_of, with_value
from mpu_cli.text.records import (
    Bad,
    Fields,
    Record,
    Row,
    clean,
    is_corpus,
    read_rows_and_records,
    subject,
)

_LINE_END = "\r\n"
Origin = Literal["decided", "suggested", "implied"]


@dataclass(frozen=True)
class Retagged:
    """What changes in the tags of a record."""

    added: Mapping[str, Origin] = field(default_factory=dict)  # tags that it does not have, and why it gets them
    removed: frozenset[str] = frozenset()  # tags that it has


class Rewriter:
    """Reads the records of one file, and writes them with changes. All else in the file stays as it is, byte for byte.

    Of an object only the values that change are written anew, of a row of a table the cells.

    `form`: {"jsonl", "csv", "tsv", "annif"}.
    `added`: the field, or column, that lists the tags that are added; empty: none. Annif's own files have no such
    field, but for CSV.
    """

    def __init__(
        self, stream: ReadableLines, source: str, form: str, fields: Fields, added: str, max_line_bytes: int
    ) -> None:
        self._stream = _Kept(stream)
        self._rows = read_rows_and_records(self._stream, source, form, fields, max_line_bytes)
        self._source = source
        self._form = form
        self._fields = fields
        self._is_corpus = is_corpus(form, fields)
        self._added = "" if self._is_corpus and form != "csv" else added
        self._delimiter = "," if form == "csv" else "\t"
        self._columns: list[str] = []  # of a table, with the new ones
        self._row = Row(0, {})
        self._next_line = 1

    def records(self) -> Iterator[Record]:
        """Yield the records. InputError where one is bad."""
        for row, record in self._rows:
            if isinstance(record, Bad):
                raise InputError(self._source, record.line, record.problem)
            assert not isinstance(row, Bad)  # there would be no record of it
            self._row = row
            yield record

    def written(self, change: Retagged) -> bytes:
        """Return the record that was read last, after the lines between the one before and it.

        Raises ValueError (a tag has the separator of tags that are written as one text, or a field that is to be added
        is there).
        """
        place = holder(self._row.fields, self._added) if self._added else None
        if place is not None and place[1] in place[0]:
            raise ValueError(f"there is a field {self._added!r} already; name another one by --added")
        lines = self._stream.take()
        n_before = self._row.line - self._next_line
        self._next_line += len(lines)
        before, text = (b"".join(part).decode() for part in (lines[:n_before], lines[n_before:]))
        row = text.rstrip(_LINE_END)
        end = text[len(row) :]
        if self._form in ("csv", "tsv"):
            before = before if self._columns else self._with_columns(before)
            row = self._table_row(row, change)
        elif change.added or change.removed:
            row = self._object(row, change) if self._form == "jsonl" else self._line(row, change)
        return f"{before}{row}{end}".encode()

    def rest(self) -> bytes:
        """Return what is after the last record."""
        return b"".join(self._stream.take())

    def _object(self, line: str, change: Retagged) -> str:
        values: dict[str, object] = {self._fields.tags: self._tags(change)}
        if self._added and change.added:
            values[self._added] = list(change.added)
        for name, value in values.items():
            line = with_value(line, name, json.dumps(value, ensure_ascii=line.isascii()))
        return line

    def _line(self, line: str, change: Retagged) -> str:
        text, _, _ = line.partition("\t")
        return f"{text}\t{self._tags(change)}"

    def _with_columns(self, lines: str) -> str:
        """Return the lines with the names of columns, with those that are new."""
        row = lines.rstrip(_LINE_END)
        names = _cells(row.removeprefix("\ufeff").lstrip(_LINE_END), self._delimiter)
        self._columns = [_unquoted(name).strip() for name in names]
        new = [name for name in (self._fields.tags, self._added) if name and name not in self._columns]
        self._columns += new
        added = [_cell(name, self._delimiter) for name in new]
        return self._delimiter.join([row, *added]) + lines[len(row) :]

    def _table_row(self, row: str, change: Retagged) -> str:
        cells = _cells(row, self._delimiter)
        values = {self._fields.tags: str(self._tags(change))} if change.added or change.removed else {}
        if self._added:
            values[self._added] = self._joined(change.added)
        for name, value in values.items():
            place = self._columns.index(name)
            cells += [""] * (place + 1 - len(cells))
            if value or cells[place].strip():
                cells[place] = _cell(value, self._delimiter, is_quoted=cells[place].startswith('"'))
        return self._delimiter.join(cells)

    def _tags(self, change: Retagged) -> list[object] | str:
        """Return the tags of the record in the form that it has them: a list, or one text."""
        tags = value_of(self._row.fields, self._fields.tags)
        if isinstance(tags, list):
            kept = [tag for tag in tags if clean(str(subject(tag))) not in change.removed]
            are_objects = any(isinstance(tag, dict) for tag in tags) if tags else self._is_corpus
            return [*kept, *(_objects(change) if are_objects else change.added)]
        if tags is None and self._form == "jsonl":
            return _objects(change) if self._is_corpus else list(change.added)
        parts = str(tags or "").split(self._fields.separator)
        texts = [part.strip() for part in parts if clean(part) not in change.removed and part.strip()]
        blank = " " if all(part.startswith(" ") for part in parts[1:]) and len(parts) > 1 else ""
        new = [f"<{tag}>" for tag in change.added] if self._is_corpus else change.added
        return self._joined([*texts, *new], blank)

    def _joined(self, tags: Iterable[str], blank: str = "") -> str:
        tags = list(tags)
        for tag in tags:
            if self._fields.separator in tag:
                raise ValueError(
                    f"the tag {tag!r} has {self._fields.separator!r} in it, which separates tags here: it would be "
                    "read as two"
                )
        return f"{self._fields.separator}{blank}".join(tags)


class _Kept:
    """A stream whose lines are kept until they are taken."""

    def __init__(self, stream: ReadableLines) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        self.read = stream.read

    def readline(self, n_bytes: int = -1, /) -> bytes:
        if line := self._stream.readline(n_bytes):
            self._lines.append(line)
        return line

    def take(self) -> list[bytes]:
        lines, self._lines = self._lines, []
        return lines


def _cells(row: str, delimiter: str) -> list[str]:
    """Return the cells of a row of a table as they are written."""
    return re.findall(rf'(?:^|{delimiter})("[^"]*(?:""[^"]*)*"|[^{delimiter}]*)', row)


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _cell(text: str, delimiter: str, is_quoted: bool = False) -> str:
    if is_quoted or any(special in text for special in (delimiter, '"', "\r", "\n")):
        return '"' + text.replace('"', '""') + '"'
    return text


def _objects(change: Retagged) -> list[object]:
    """Return the tags that are added as a corpus of Annif has them in JSON."""
    return [{"uri" if is_uri(tag) else "label": tag} for tag in change.added]
