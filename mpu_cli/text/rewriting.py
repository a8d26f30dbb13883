"""Rewrite records with other tags: changed records are rewritten, all others stay unchanged, byte for byte."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from typing import Any, Literal

from mpu_cli.errors import InputError
from mpu_cli.names.label_names import is_uri
from mpu_cli.names.lines import composed
from mpu_cli.svmlight.streams import Measured, Readable
from mpu_cli.text.fields import has_escapes, listed, relisted, value_of, with_value
from mpu_cli.text.records import Record, RecordReader, Row, Table, clean, flag, is_corpus, subject

_LINE_END = "\r\n"
_AS_THEY_ARE = "surrogateescape"  # bytes that are not UTF-8, in bad records
_WITH = {"0": "1", "0.0": "1.0", "false": "true", "no": "yes"}  # values of a field that is a tag
Reason = Literal["decided", "suggested", "implied"]


@dataclass(frozen=True)
class Retagged:
    """The changes to a record's tags."""

    added: Mapping[str, Reason] = field(default_factory=dict)  # tags that it lacks, and why each is added
    removed: frozenset[str] = frozenset()  # tags that the record has


class Rewriter:
    """Rewrites the records of a file with other tags; bad records that are left out of reading stay as they are.

    A changed record is a table row with the values of all other fields, or a JSON object with all else unchanged.
    """

    def __init__(self, reader: RecordReader) -> None:
        self._reader, self._form, self._fields = reader, reader.form, reader.fields
        self._is_corpus = is_corpus(reader.form, reader.fields)
        self._columns: list[str] = []  # of a table, including new ones for tags
        self._dialect: dict[str, Any] = {}  # of a table
        self._mark = "1"  # the value of the last true field that is a tag
        self._are_numbers = False  # whether the tags of the last list were numbers
        self._list = ""  # the last list in one text
        self._escaped = self._list_escaped = False  # whether the last JSON objects, and lists, escaped letters

    def written(self, stream: Readable, change_of: Callable[[Record], Retagged]) -> Iterator[bytes]:
        """Yield the records with their changes, and everything before, between and after them.

        Raises InputError (a record is bad, or its change raises a ValueError or cannot be written).
        """
        taken: list[bytes] = []  # lines that have been read but not written
        watched = Measured(stream, taken.append)
        encoding, next_line = watched.encoding, 1
        for record in self._reader.records(watched):
            lines = [line.decode(errors=_AS_THEY_ARE) for line in BytesIO(b"".join(taken))]
            taken.clear()
            before, own = lines[: record.line - next_line], lines[record.line - next_line :]
            next_line += len(lines)
            if record.row.table is not None and not self._columns:
                before = self._with_columns(before, record.row.table)
            if self._fields.are_tags and record.tags:
                values = (value_of(record.row.fields, name) for name in self._fields.tags)
                self._mark = str(next(filter(flag, values)))
            elif isinstance(tags := value_of(record.row.fields, self._fields.tags[0]), list) and record.tags and tags:
                self._are_numbers = type(tags[0]) is int
            elif isinstance(tags, str) and listed(tags) is not None and (record.tags or not self._list):
                self._list, self._list_escaped = tags, has_escapes(tags, self._list_escaped)
            if self._form == "jsonl":
                self._escaped = has_escapes("".join(own).removeprefix("\ufeff"), self._escaped)
            try:
                text = self._record("".join(own), record.row, change_of(record))
                yield "".join(before).encode(encoding, _AS_THEY_ARE) + text.encode(encoding)
            except UnicodeEncodeError as error:
                problem = f"{error.object[error.start]!r} cannot be written in {encoding}, as this file is"
                raise InputError(self._reader.source, problem, record.line) from None
            except ValueError as error:
                raise InputError(self._reader.source, str(error), record.line) from None
        yield b"".join(taken).decode(errors=_AS_THEY_ARE).encode(encoding, _AS_THEY_ARE)

    def _record(self, text: str, of: Row, change: Retagged) -> str:
        values = self._changed(of.fields, change) if change.added or change.removed else {}
        row = text.rstrip(_LINE_END)
        end = text[len(row) :]
        short = len(self._columns) - len(of.cells)
        if not values:
            has_new = of.table is not None and len(self._columns) > len(of.table.names)
            return row + self._dialect["delimiter"] * short + end if has_new else text
        if self._columns:
            cells = of.cells + [""] * short
            for name, value in values.items():
                cells[self._columns.index(name)] = str(value)
            return self._csv(cells) + end
        if self._form != "jsonl":
            return "\t".join([row.partition("\t")[0], *map(str, values.values())]) + end
        separators = None if ": " in row else (",", ":")
        encoder = json.JSONEncoder(ensure_ascii=self._escaped, separators=separators, allow_nan=False)
        for name, value in values.items():
            row = with_value(row, name, value, encoder)
        return row + end

    def _with_columns(self, lines: list[str], table: Table) -> list[str]:
        """Return the lines up to the first record, with the names of new columns added."""
        row = "".join(lines[table.lines])
        text = row.rstrip(_LINE_END)
        quoting = csv.QUOTE_ALL if text.removeprefix("\ufeff").startswith('"') else csv.QUOTE_MINIMAL
        self._dialect = {"delimiter": table.delimiter, "quoting": quoting}
        new = [name for name in self._fields.tags if name not in table.names]
        self._columns = table.names + new
        added = "".join(f"{table.delimiter}{self._csv([name])}" for name in new)
        lines[table.lines] = [text, added, row[len(text) :]]
        return lines

    def _csv(self, cells: list[str]) -> str:
        out = StringIO()
        csv.writer(out, lineterminator=_LINE_END, **self._dialect).writerow(cells)
        return out.getvalue().removesuffix(_LINE_END)

    def _changed(self, fields: Mapping[str, object], change: Retagged) -> dict[str, object]:
        """Return the tag fields that change, and their new values, in their original form."""
        if self._fields.are_tags:
            wanted = {composed(tag): tag in change.added for tag in (*change.added, *change.removed)}
            tags = {name: composed(clean(name)) for name in self._fields.tags}
            if others := wanted.keys() - tags.values():
                raise ValueError(f"there is no field {min(others)!r}: each of {len(tags)} fields is a tag")
            changed = ((name, wanted[tag]) for name, tag in tags.items() if tag in wanted)
            return {name: _flagged(value_of(fields, name), has_it, self._mark) for name, has_it in changed}
        values: dict[str, object] = {}
        for place, name in enumerate(self._fields.tags):
            value = value_of(fields, name)
            after = self._tags(value, () if place else change.added, change.removed)
            if after != value:
                values[name] = after
        return values

    def _tags(self, tags: object, added: Iterable[str], removed: frozenset[str]) -> object:
        """Return the tags of a field in its original form: a list, or one text."""

        def is_removed(tag: object) -> bool:
            return clean(str(subject(tag))) in removed

        if tags is None and self._form == "jsonl":
            if not added:
                return None
            tags = []
        if isinstance(tags, list):
            kept = [tag for tag in tags if not is_removed(tag)]
            are_objects = any(isinstance(tag, dict) for tag in tags) if tags else self._is_corpus
            if are_objects:
                return [*kept, *({"uri" if is_uri(tag) else "label": tag} for tag in added)]
            return [*kept, *(map(_number, added) if self._are_numbers else added)]
        if self._columns and self._list and added and not tags:
            return relisted(self._list, lambda tag: True, added, self._list_escaped)
        text = "" if tags is None else str(tags)
        if listed(text) is not None:
            return relisted(text, is_removed, added, self._list_escaped)
        separator = self._fields.separator
        parts = text.split(separator)
        kept = [part.strip() for part in parts if not is_removed(part) and part.strip()]
        new = [*kept, *([f"<{tag}>" for tag in added] if self._is_corpus else added)]
        blank = " " if all(part.startswith(" ") for part in parts[1:]) and len(parts) > 1 else ""
        return _joined(new, separator, blank)


def _joined(tags: list[str], separator: str, blank: str) -> str:
    """Return the text with these tags; ValueError if it would be read as other ones."""
    text = f"{separator}{blank}".join(tags)
    try:
        read = listed(text)
    except ValueError:
        read = []
    if read is None:
        read = [part.strip() for part in text.split(separator)]
    if wrong := [tag for tag in tags if tag not in read]:
        raise ValueError(
            f"the tag {wrong[0]!r} cannot be written here: {text[:40]!r} would be read as other tags; lists, such as "
            '["a", "b"], can have it'
        )
    return text


def _number(tag: str) -> object:
    return int(tag) if tag.isdecimal() and str(int(tag)) == tag else tag


def _flagged(value: object, has_it: bool, mark: str) -> object:
    """Return the new value of a field that is a tag, in the form of its old value; `mark` replaces an empty one."""
    if not isinstance(value, str):
        return float(has_it) if isinstance(value, float) else int(has_it) if type(value) is int else has_it
    plain = value.strip()
    of = _WITH if has_it else {true: false for false, true in _WITH.items()}
    after = of.get(plain.lower(), mark * has_it)
    return after.upper() if plain.isupper() else after.capitalize() if plain.istitle() else after
