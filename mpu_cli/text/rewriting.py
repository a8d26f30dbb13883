"""Records written back as they came, with other tags."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mpu_cli.names.name_files import is_uri
from mpu_cli.text.records import ANNIF, Fields, Row, clean, is_corpus, subject

# Of a JSON text, only the places of values count: numbers may have thousands of digits.
_PLACES = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_BLANKS = " \t\r\n"


@dataclass(frozen=True)
class Retagged:
    """What changes in the tags of a record."""

    added: tuple[str, ...] = ()  # tags that it does not have
    removed: frozenset[str] = frozenset()  # tags that it has


class Rewriter:
    """Writes rows of one file, each with its own changes. All other fields, and their order, stay as they are.

    An object that does not change is written as it was read, and of another one only the values that change are. A row
    of a table keeps its values; their quotation marks may be others.

    `form`: {"jsonl", "csv", "tsv", "annif"}.
    `added`: the field, or column, that lists the tags that are added; empty: none. Annif's own files have no such
    field, but for CSV.
    """

    def __init__(self, form: str, fields: Fields, added: str) -> None:
        self._form = form
        self._fields = fields
        self._is_corpus = is_corpus(form, fields)
        self._added = "" if self._is_corpus and form != "csv" else added
        self._names: list[str] | None = None

    def text(self, row: Row, change: Retagged) -> str:
        """Return the text of a row, with the lines before it that belong to the file.

        Raises ValueError (a tag has the separator of tags that are written as one text, or a field that is to be added
        is there).
        """
        if self._added and self._added in row.fields:
            raise ValueError(f"there is a field {self._added!r} already; name another one by --added")
        if isinstance(row.written, str):
            return self._object(row.written, row, change) + "\n"
        if self._form == ANNIF:
            return f"{row.written[0]}\t{self._tags(row, change)}\n"
        return self._table_row(row.written, row, change)

    def _object(self, line: str, row: Row, change: Retagged) -> str:
        line = line.strip()
        if not (change.added or change.removed):
            return line
        values: dict[str, object] = {self._fields.tags: self._tags(row, change)}
        if self._added and change.added:
            values[self._added] = list(change.added)
        for name, value in values.items():
            line = _with_value(line, name, json.dumps(value, ensure_ascii=line.isascii()))
        return line

    def _table_row(self, written: Sequence[str], row: Row, change: Retagged) -> str:
        rows = []
        if self._names is None:
            self._names = [name.strip() for name in row.header]
            new = [name for name in (self._fields.tags, self._added) if name and name not in self._names]
            self._names += new
            rows.append([*row.header, *new])
        values = [*written[: len(self._names)], *[""] * (len(self._names) - len(written))]
        if change.added or change.removed:
            values[self._names.index(self._fields.tags)] = str(self._tags(row, change))
        if self._added:
            values[self._names.index(self._added)] = self._joined(change.added)
        rows.append(values)
        out = io.StringIO()
        csv.writer(out, delimiter="," if self._form == "csv" else "\t", lineterminator="\n").writerows(rows)
        return out.getvalue()

    def _tags(self, row: Row, change: Retagged) -> list[object] | str:
        """Return the tags of a row in the form that it has them: a list, or one text."""
        tags = row.fields.get(self._fields.tags)
        if isinstance(tags, list):
            kept = [tag for tag in tags if clean(str(subject(tag))) not in change.removed]
            are_objects = any(isinstance(tag, dict) for tag in tags) if tags else self._is_corpus
            return [*kept, *(_objects(change) if are_objects else change.added)]
        if tags is None and isinstance(row.written, str):
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


def _objects(change: Retagged) -> list[object]:
    """Return the tags that are added as a corpus of Annif has them in JSON."""
    return [{"uri" if is_uri(tag) else "label": tag} for tag in change.added]


def _with_value(line: str, name: str, value: str) -> str:
    """Return the text of a JSON object with another value of a field, the last one of this name, or with the field."""
    places = list(_values(line))
    same = [(start, end) for field, start, end in places if field == name]
    if same:
        start, end = same[-1]
        return f"{line[:start]}{value}{line[end:]}"
    end = line.rindex("}")
    inside = line[:end].rstrip()
    return f"{inside}{', ' if places else ''}{json.dumps(name, ensure_ascii=line.isascii())}: {value}{line[end:]}"


def _values(line: str) -> Iterator[tuple[str, int, int]]:
    """Yield each field of the text of a JSON object, with start and end of its value."""
    place = _next(line, line.index("{") + 1)
    while line[place] != "}":
        name, place = _PLACES.raw_decode(line, place)
        start = _next(line, _next(line, place) + len(":"))
        _, end = _PLACES.raw_decode(line, start)
        yield name, start, end
        place = _next(line, end)
        if line[place] == ",":
            place = _next(line, place + 1)


def _next(line: str, place: int) -> int:
    """Return the place of the next character that is no blank."""
    while line[place] in _BLANKS:
        place += 1
    return place
