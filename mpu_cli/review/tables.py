"""Review files as text: tables as spreadsheets and people write them, tab-separated or as CSV, and their values.

The first line names the columns. Tolerated: a byte order mark, CRLF or CR alone, empty lines, lines of comment that
start with ``#``, capital letters and spaces around the names of columns and around values, empty fields at the end of a
line that are missing or too many, and columns that are not requested.

Values are numbers of instances, labels, verdicts and sources. Only this module knows how a label is written; a wrong
value is a ValueError with the reason.
"""

import csv
import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, shown
from mpu_cli.names import LabelNames
from mpu_cli.names.label_names import is_number, label_of, quoted
from mpu_cli.names.lines import cell, delimiter_of, first_repeated, text_lines, whole
from mpu_cli.runtime.options import MOST_INSTANCES
from mpu_cli.svmlight.streams import Source

NOTHING_ELSE = -1  # the label of a decision on all other labels
STAR = "*"
YES, NO = "yes", "no"
UNDECIDED = -1
SAMPLE, SUGGESTION, QUESTION, ADDED = "sample", "suggestion", "question", "added"

_VERDICTS = {YES: 1, NO: 0, "": UNDECIDED}
_SOURCES = {SAMPLE: True, SUGGESTION: False, QUESTION: False, ADDED: False, "": False}


def instance_number(text: str) -> int:
    """Return the number of an instance from 0; texts have it from 1, up to `MOST_INSTANCES`."""
    number = whole(text, MOST_INSTANCES)
    if not number:
        raise ValueError(f"instance {quoted(text)} is not an instance number; they count from 1")
    return number - 1


def label_number(text: str, names: LabelNames | None = None) -> int:
    """Return the label of a number, or of a name if there are names; `NOTHING_ELSE` for ``*``."""
    if text == STAR:
        return NOTHING_ELSE
    if names is None and not is_number(text):
        raise ValueError(
            f"label {quoted(text)} is not a label; labels are numbers as in the data, or * for all others; names need "
            "--labels"
        )
    return label_of(text, names)


def label_text(label: int, names: LabelNames | None = None) -> str:
    """Return the text of a label: the reverse of `label_number`."""
    if label == NOTHING_ELSE:
        return STAR
    return str(label) if names is None else cell(names.written(label))


def verdict_number(text: str) -> int:
    """Return 1 for yes, 0 for no, and `UNDECIDED`."""
    if text.lower() not in _VERDICTS:
        raise ValueError(f"verdict {quoted(text)} is not one of yes, no and empty (not decided)")
    return _VERDICTS[text.lower()]


def chance(text: str, source: str) -> float:
    """Return the probability with which a question was drawn, above 0 up to 1; NaN where the source is another."""
    if source.lower() != QUESTION:
        return math.nan
    if not 0 < (number := _number(text)) <= 1:
        raise ValueError(
            f"drawn {quoted(text)} is not the probability with which this question was drawn, a number above 0 up to "
            "1, as mpu suggest --questions writes it; where it is lost, let the source be suggestion"
        )
    return number


def probability(text: str) -> float:
    """Return a probability, also one with a decimal comma, as spreadsheets write it; NaN for an empty text."""
    if text and not 0 <= _number(text) <= 1:
        raise ValueError(f"probability {quoted(text)} is not a number from 0 to 1")
    return _number(text)


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ".", 1))
    except ValueError:
        return math.nan


def is_sample_word(text: str) -> bool:
    """Whether a source says that the instance was drawn at random."""
    if text.lower() not in _SOURCES:
        words = ", ".join(filter(None, _SOURCES))
        raise ValueError(f"source {quoted(text)} is not one of {words} and empty (not known)")
    return _SOURCES[text.lower()]


@dataclass(frozen=True)
class Table:
    """Chosen columns of a table."""

    source: str  # its file, as the user named it
    columns: dict[str, list[str]]  # the requested columns that exist, without blanks around values
    lines: list[int]  # line of the file of each row, from 1
    checksum: str | None  # of the data that it numbers, as a comment tells
    size: int | None  # with how many suggestions it was written, as a comment tells

    def column(self, name: str) -> list[str]:
        """Return the values of a column, which are empty where there is none."""
        return self.columns.get(name) or [""] * len(self.lines)


def read_table(
    source: str | Path, required: Sequence[str], optional: Sequence[str] = (), in_place: Mapping[str, str] | None = None
) -> Table:
    """Read chosen columns of a file, plain or compressed by suffix; ``-`` is standard input.

    `required`, `optional`: names of columns, at least two in all, in lower case.
    `in_place`: for the name of a required column, that of an optional one with which it may be missing.
    Raises InputError (the file cannot be read, is not UTF-8 text, or has no line that names the columns; one of
    `required` is missing, a name is there twice, a line has more values than there are names, or the comments have a
    checksum that is damaged, or two).
    """
    comments: list[tuple[int, str]] = []
    with closing(text_lines(source)) as text:
        lines = _lines(chain(next(text, "").split("\r"), text), comments)  # with CR alone, there is one line
        number, first = next(lines, (None, ""))
        if number is None:
            names_of = f"its first line should name the columns: {', '.join(required)}"
            raise InputError(str(source), None, f"it is empty; {names_of}")
        delimiter = delimiter_of(first.lower(), "\t", required)
        is_plain = delimiter == "\t" and not first.startswith('"')

        def cells(line: str, number: int) -> list[str]:
            try:
                return line.split(delimiter) if is_plain else next(csv.reader([line], delimiter=delimiter))
            except csv.Error as error:
                raise InputError(str(source), number, f"this is not a row of a table ({error})") from None

        header = [name.strip().lower() for name in cells(first, number)]
        while header and not header[-1]:
            header.pop()
        absent = {name for name, other in (in_place or {}).items() if name not in header and other in header}
        if missing := [name for name in required if name not in {*header, *absent}]:
            problem = "this line should name the columns, separated by tabs, but there is no"
            needed = ", ".join(name for name in required if name not in absent)
            raise InputError(str(source), number, f"{problem} {missing[0]}; needed are {needed}")
        if twice := first_repeated(header):
            raise InputError(str(source), number, f"two columns are called {twice[:40]}")
        columns: dict[str, list[str]] = {name: [] for name in header if name in (*required, *optional)}
        places = [(header.index(name), column) for name, column in columns.items()]
        same: dict[str, str] = {}  # so that a repeated value is in memory once
        numbers = []
        for number, line in lines:
            fields = cells(line, number)
            if any(map(str.strip, fields[len(header) :])):
                there = ", ".join(header)[:200]
                raise InputError(str(source), number, f"there are {len(fields)} values, but the columns are {there}")
            for place, column in places:
                value = fields[place] if place < len(fields) else ""
                column.append(same.setdefault(value, value.strip()))
            numbers.append(number)
    return Table(str(source), columns, numbers, *_noted(str(source), comments))


def _noted(source: str, comments: Iterable[tuple[int, str]]) -> tuple[str | None, int | None]:
    """Return the checksum of the data and the number of suggestions that the comments of a file tell."""
    checksum, size = None, None
    for number, text in comments:
        word, *values = text.lower().split()
        value = values[0] if len(values) == 1 else ""
        if word == "suggestions" and value.isascii() and value.isdigit():
            size = (size or 0) + int(value)
        elif word == "checksum":
            if not CHECKSUM.fullmatch(value):
                raise InputError(source, number, "the checksum is damaged; it has 64 digits, of 0-9 and a-f")
            if checksum not in (None, value):
                raise InputError(source, number, "there are two different checksums; are these two files in one?")
            checksum = value
    return checksum, size


def _lines(text: Iterable[str], comments: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines with values, and their numbers; add comments that tell of the data to a list."""
    for number, line in enumerate(text, 1):
        if line.startswith(("#", '"#')):  # spreadsheets put quotation marks around text that has a comma
            comment = line[:_LONGEST_COMMENT].strip(' \t,;"')[1:].strip()
            if comment.lower().startswith(("checksum", "suggestions")):
                comments.append((number, comment))
        elif line.strip(' \t,;"'):
            yield number, line


_LONGEST_COMMENT = 200  # characters of one that tells of the data
_ENTRIES = 1 << 20
CHECKSUM = re.compile("[0-9a-f]{64}")


def checksum(features: csr_array) -> str:
    """Return the SHA-256, hexadecimal, of features: the number of entries of each instance, their indices and values.

    Examples
    --------
    >>> one, other = (csr_array(np.array(rows, np.float32)) for rows in ([[1, 2], [3, 4]], [[3, 4], [1, 2]]))
    >>> checksum(one) == checksum(one.copy()), checksum(one) == checksum(other)
    (True, False)
    """
    digest = hashlib.sha256()
    for numbers, kind in ((np.diff(features.indptr), "<i8"), (features.indices, "<i8"), (features.data, "<f4")):
        for start in range(0, len(numbers), _ENTRIES):
            digest.update(numbers[start : start + _ENTRIES].astype(kind).tobytes())
    return digest.hexdigest()


def refuse_other_data(file: str, theirs: str | None, own: str, source: Source) -> None:
    """Refuse a file with the checksum of other data; one without checksum is accepted.

    `theirs`: the checksum in the file.
    `own`: the checksum of the data.
    `source`: the file of the data, as the user named it.
    """
    if theirs not in (None, own):
        raise InputError(
            file,
            None,
            f"it was made for other data than {shown(source)}, or for the same before instances or features changed "
            "(its checksum differs), so its numbers may mean other instances; give its own data, or remove the line "
            "'# checksum ...' if you know that the numbers are right",
        )


def no_instance(instance: int, source: Source, n: int) -> str:
    """Return the message that there are only n instances."""
    return f"there is no instance {instance + 1}: {shown(source)} has {n}; was this file made for another one?"
