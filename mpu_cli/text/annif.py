"""Document corpora of Annif: its files read as records, its directories as JSON lines.

TSV lines of a text and URIs are a format of rows of their own (`records.FORMATS`); its CSV and JSON lines are tables
and objects with fields of other names.
"""

import io
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError
from mpu_cli.svmlight.streams import ReadableLines, open_input
from mpu_cli.text.records import ANNIF, SUBJECTS, Fields, chosen_format, format_of

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


def open_records(source: str | Path) -> AbstractContextManager[ReadableLines]:
    """Open a file as `open_input`; a directory of Annif as JSON lines, one for each document, in the order of names.

    Raises InputError (it cannot be read, or a directory has no documents).
    """
    if Path(source).is_dir():
        return io.BufferedReader(_Lines(_documents(Path(source))), 1 << 16)
    return open_input(source)


def _documents(folder: Path) -> Iterator[bytes]:
    texts, objects = sorted(folder.glob("*.txt")), sorted(folder.glob("*.json"))
    if not texts and not objects:
        raise InputError(str(folder), None, "is a directory without documents: there is no .txt and no .json file")
    for path in texts:
        document: dict[str, Any] = {"document_id": path.stem, "text": _read(path), SUBJECTS: _subjects(path)}
        yield json.dumps(document).encode() + b"\n"
    for path in objects:
        try:
            document = json.loads(_read(path))
        except ValueError as error:
            raise InputError(str(path), None, f"is no JSON: {error}") from None
        if not isinstance(document, dict):
            raise InputError(str(path), None, "is not a JSON object with a text")
        yield json.dumps({"document_id": path.stem, SUBJECTS: None, **document}).encode() + b"\n"


def _subjects(path: Path) -> list[dict[str, str]] | None:
    """Return the subjects of a text, in a file beside it: lines of a URI and a label (.tsv), or of a label (.key)."""
    for suffix in (".tsv", ".key"):
        if (beside := path.with_suffix(suffix)).is_file():
            lines = (line.split("\t") for line in _read(beside).splitlines())
            return [_subject(cells) for cells in lines if any(map(str.strip, cells))]
    return None


def _subject(cells: list[str]) -> dict[str, str]:
    texts = [cell.strip() for cell in cells if cell.strip()]
    uri = next((text[1:-1] for text in texts if text.startswith("<") and text.endswith(">")), None)
    return {"label": texts[0]} if uri is None else {"uri": uri}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
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
