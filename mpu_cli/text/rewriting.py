"""Write records with other tags. All else in the file stays as it is, byte for byte."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from mpu_cli.errors import InputError
from mpu_cli.names.label_names import is_uri
from mpu_cli.names.lines import delimiter_of
from mpu_cli.svmlight.streams import ReadableLines, Watched
from mpu_cli.text.fields import holder, listed, relisted, value_of, with_value
from mpu_cli.text.records import (
    DELIMITERS,
    Bad,
    Fields,
    Record,
    RecordReader,
    Row,
    clean,
    is_blank,
    is_corpus,
    subject,
)

_LINE_END = "\r\n"
_WITH = {"0": "1", "0.0": "1.0", "false": "true", "no": "yes"}  # values of a field that is a tag
Reason = Literal["decided", "suggested", "implied"]


@dataclass(frozen=True)
class Retagged:
    """What changes in the tags of a record."""

    added: Mapping[str, Reason] = field(default_factory=dict)  # tags that it does not have, and why it gets them
    removed: frozenset[str] = frozenset()  # tags that it has


class Rewriter:
    """Reads the records of one file, and writes them with changes. All else in the file stays as it is, byte for byte.

    Of an object only the values that change are written anew, of a row of a table the cells.

    `form`: {"jsonl", "csv", "tsv", "annif"}.
    `added`: the field, or column, that lists the tags that are added; empty: none. Annif's own files have no such
    field, but for CSV.
    """

    def __init__(self, stream: ReadableLines, source: str, form: str, fields: Fields, added: str) -> None:
        self._encoding = getattr(stream, "encoding", "utf-8")
        self._lines: list[bytes] = []  # that have been read and not written
        self._rows = RecordReader(Watched(stream, self._lines.append), source, form, fields)
        self._source = source
        self._form = form
        self._fields = fields
        self._is_corpus = is_corpus(form, fields)
        self._added = "" if self._is_corpus and form != "csv" else added
        self._delimiter = ""
        self._columns: list[str] = []  # of a table, with the new ones
        self._row = Row(0, {})
        self._mark = "1"  # how the last field that is a tag was true
        self._next_line = 1

    def records(self) -> Iterator[Record]:
        """Yield the records. InputError where one is bad."""
        for row, record in self._rows:
            if isinstance(record, Bad):
                raise InputError(self._source, record.line, record.problem)
            assert not isinstance(row, Bad)  # there would be no record of it
            self._row = row
            if self._fields.are_tags and record.tags:
                self._mark = str(value_of(row.fields, record.tags[0]))
            yield record

    def written(self, change: Retagged) -> bytes:
        """Return the record that was read last, after the lines between the one before and it.

        Raises ValueError (a tag has the separator of tags that are written as one text, or a field that is to be added
        is there).
        """
        place = holder(self._row.fields, self._added) if self._added else None
        if place is not None and place[1] in place[0]:
            raise ValueError(f"there is a field {self._added!r} already; name another one by --added")
        lines = self._taken()
        n_before = self._row.line - self._next_line
        self._next_line += len(lines)
        before, text = "".join(lines[:n_before]), "".join(lines[n_before:])
        row = text.rstrip(_LINE_END)
        end = text[len(row) :]
        if self._form in DELIMITERS:
            before = before if self._columns else self._with_columns(lines[:n_before])
            row = self._table_row(row, change)
        elif change.added or change.removed:
            row = self._object(row, change) if self._form == "jsonl" else self._line(row, change)
        try:
            return f"{before}{row}{end}".encode(self._encoding)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise ValueError(f"{character!r} cannot be written in {self._encoding}, as this file is") from None

    def rest(self) -> bytes:
        """Return what is after the last record."""
        return "".join(self._taken()).encode(self._encoding)

    def _taken(self) -> list[str]:
        lines = [line.decode() for line in self._lines if line]
        self._lines.clear()
        return lines

    def _object(self, line: str, change: Retagged) -> str:
        values = self._changed(change)
        if self._added and change.added:
            values[self._added] = list(change.added)
        for name, value in values.items():
            line = with_value(line, name, json.dumps(value, ensure_ascii=line.isascii()))
        return line

    def _line(self, line: str, change: Retagged) -> str:
        text, _, _ = line.partition("\t")
        return "\t".join([text, *map(str, self._changed(change).values())])

    def _with_columns(self, lines: list[str]) -> str:
        """Return the lines up to the first record, with the names of columns that are new."""
        start = next(place for place, line in enumerate(lines) if not is_blank(line))
        header = [lines[start].removeprefix("\ufeff"), *lines[start + 1 :]]
        self._delimiter = delimiter_of(header[0], DELIMITERS[self._form], self._fields.needed())
        rows = csv.reader(header, delimiter=self._delimiter)
        self._columns = [name.strip() for name in next(rows)]
        new = [name for name in (*self._fields.tags, self._added) if name and name not in self._columns]
        self._columns += new
        end = start + rows.line_num
        row = "".join(lines[start:end])
        text = row.rstrip(_LINE_END)
        names = self._delimiter.join([text, *(_cell(name, self._delimiter) for name in new)])
        return "".join([*lines[:start], names, row[len(text) :], *lines[end:]])

    def _table_row(self, row: str, change: Retagged) -> str:
        cells = _cells(row, self._delimiter)
        values = self._changed(change) if change.added or change.removed else {}
        if self._added:
            values[self._added] = self._joined(change.added)
        for name, value in values.items():
            place = self._columns.index(name)
            cells += [""] * (place + 1 - len(cells))
            if value or cells[place].strip():
                cells[place] = _cell(str(value), self._delimiter, is_quoted=cells[place].startswith('"'))
        return self._delimiter.join(cells)

    def _changed(self, change: Retagged) -> dict[str, object]:
        """Return the fields of tags that change, and their new values, in the form that they have."""
        fields = self._row.fields
        if self._fields.are_tags:
            if others := change.added.keys() - {*self._fields.tags}:
                raise ValueError(f"there is no field {min(others)!r}: each of {len(self._fields.tags)} fields is a tag")
            return {
                name: _flagged(value_of(fields, name), name in change.added, self._mark)
                for name in (*change.added, *change.removed)
            }
        values: dict[str, object] = {}
        for place, name in enumerate(self._fields.tags):
            value = value_of(fields, name)
            after = self._tags(value, replace(change, added={}) if place else change)
            if after != value:
                values[name] = after
        return values

    def _tags(self, tags: object, change: Retagged) -> object:
        """Return the tags of a field in the form that it has them: a list, or one text."""

        def is_removed(tag: object) -> bool:
            return clean(str(subject(tag))) in change.removed

        if tags is None and self._form == "jsonl" and not change.added:
            return None
        tags = "" if tags is None and self._form != "jsonl" else tags
        if tags is None or isinstance(tags, list):
            kept = [tag for tag in tags or () if not is_removed(tag)]
            are_objects = any(isinstance(tag, dict) for tag in tags) if tags else self._is_corpus
            return [*kept, *(_objects(change) if are_objects else change.added)]
        if listed(str(tags)) is not None:
            return relisted(str(tags), is_removed, change.added)
        parts = str(tags).split(self._fields.separator)
        texts = [part.strip() for part in parts if not is_removed(part) and part.strip()]
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


def _cells(row: str, delimiter: str) -> list[str]:
    """Return the cells of a row of a table as they are written."""
    between = re.escape(delimiter)
    return re.findall(rf'(?:^|{between})("[^"]*(?:""[^"]*)*"|[^{between}]*)', row)


def _cell(text: str, delimiter: str, is_quoted: bool = False) -> str:
    if is_quoted or any(special in text for special in (delimiter, '"', "\r", "\n")):
        return '"' + text.replace('"', '""') + '"'
    return text


def _flagged(value: object, has_it: bool, mark: str) -> object:
    """Return the value of a field that is a tag, in the form of the one that it has; an empty one becomes a mark."""
    if not isinstance(value, str):
        return float(has_it) if isinstance(value, float) else int(has_it) if type(value) is int else has_it
    plain = value.strip()
    of = _WITH | {"": mark} if has_it else {true: false for false, true in _WITH.items()}
    after = of.get(plain.lower(), "")
    return after.upper() if plain.isupper() else after.capitalize() if plain.istitle() else after


def _objects(change: Retagged) -> list[object]:
    """Return the tags that are added as a corpus of Annif has them in JSON."""
    return [{"uri" if is_uri(tag) else "label": tag} for tag in change.added]
