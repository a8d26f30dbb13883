"""Records of texts, with their fields checked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_cli.errors import InputError
from mpu_cli.names.lines import is_utf8
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.text.languages import TextIn
from mpu_cli.text.rows import FORMATS, Bad, Row, field_list, format_of, no_field, read_rows

if TYPE_CHECKING:
    from mpu_cli.svmlight.streams import ReadableLines

TEXT, TAGS, ID = "text", "tags", "id"  # default fields; the last two are optional
SEPARATOR = ";"
_LINE_ENDS = str.maketrans(dict.fromkeys("\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029", " "))


@dataclass(frozen=True)
class Fields:
    """The fields of a record that are read.

    Attributes
    ----------
    text : tuple of str
        Their values, joined by a blank, are the text. None: the only field of the first record.
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

    Raises
    ------
    InputError
        There is no `form`, and the suffix means no format.
    """
    chosen = form or format_of(source)
    if chosen is None:
        raise InputError(
            str(source), None, f"its name does not tell which of {', '.join(FORMATS)} it is; say so by --format"
        )
    return chosen


def read_records(
    stream: "ReadableLines", source: str, form: str, fields: Fields, max_line_bytes: int = MAX_LINE_BYTES
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
    stream: "ReadableLines", source: str, form: str, fields: Fields, max_line_bytes: int = MAX_LINE_BYTES
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
        self._tags = fields.tags if fields.needs_tags or fields.tags in first.fields else None
        self._id = fields.id if fields.needs_id or fields.id in first.fields else None

    def record(self, row: Row) -> Record:
        text = " ".join(filter(None, (_text(name, _value(row, name)) for name in self._fields.text)))
        if self._fields.language:
            text = TextIn.of(text, _text(self._fields.language, _value(row, self._fields.language)))
        written = [] if self._tags is None else self._written_tags(row, self._tags)
        tags = [clean(tag) for tag in written]
        key = None if self._id is None else _whole_or_text(self._id, _value(row, self._id))
        for option, name, used in (("tags", self._fields.tags, self._tags), ("id", self._fields.id, self._id)):
            if used is None and name in row.fields:
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
        for field, value in checks:
            if value is not None and not is_utf8(value):
                raise _FieldError(f"the field {field!r} has half of a surrogate pair (\\ud800 to \\udfff)")
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
    if name not in row.fields:
        outer, _, inner = name.partition(".")  # as in metadata.title
        if isinstance(within := row.fields.get(outer), dict) and inner:
            return within.get(inner)
        raise _FieldError(no_field(name, row.fields))
    return row.fields[name]


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
    """Return a tag or an id as data files have it: without blanks around, in one line and one cell."""
    return text.strip().translate(_LINE_ENDS)
