"""Text files that people write and send back: UTF-8 lines with limits and errors, and table cells.

A byte order mark, CRLF and CR alone are allowed. Lines have a limit, so that a file without line ends does not fill the
memory. Errors contain file and line.

A spreadsheet interprets a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, and quotation marks at the
start as quoting. So such a text is prefixed with an apostrophe, or quoted (`cell`). Reading undoes both (`meanings`).
"""

import codecs
import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError, one_line
from mpu_cli.runtime.files import Joined
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES, problem_of, utf16_of
from mpu_cli.svmlight.streams import Readable, open_input

NOT_UTF8 = (
    "this is not UTF-8 text; save the file as UTF-8: iconv -f CP1252 -t UTF-8 if a western European Windows wrote it, "
    "else with the name of its encoding; or, if it is UTF-8 and this line is damaged, correct it, or drop the wrong "
    "bytes, such as by iconv -c -f UTF-8 -t UTF-8"
)
_HAS_NUL = (
    "this has NUL bytes; if it is binary or UTF-32, save it as UTF-8 text; or, if it is UTF-8 and this line is "
    "damaged, correct it, or drop the NUL bytes, such as by tr -d '\\000'"
)
_BOM = "\ufeff"
_LEAST_EXPANDED = 1 << 23  # bytes
_MOST_EXPANSION = 250  # more than in any text that people write


@contextmanager
def open_side(source: str | Path) -> Iterator[Readable]:
    """Open a file that is read whole, like `open_input`; InputError if little data would expand to fill the memory."""
    with open_input(source) as opened:
        stream = as_utf8(opened, str(source))
        if Path(source).is_file():
            stream = Joined(_limited(stream, source))
        yield stream


def _limited(stream: Readable, source: str | Path) -> Iterator[bytes]:
    left = max(_LEAST_EXPANDED, _MOST_EXPANSION * Path(source).stat().st_size)
    for data in iter(partial(stream.read, 1 << 16), b""):
        left -= len(data)
        if left < 0:
            problem = f"expands to more than {_MOST_EXPANSION} times its size; if that is right, give it uncompressed"
            raise InputError(source, problem)
        yield data


def as_utf8(stream: Any, source: str) -> Readable:
    """Return a stream of the same text in UTF-8, decoded from UTF-16 if its first bytes indicate that.

    `encoding` of the returned stream is the original encoding; absent if it is the same stream.
    The stream raises InputError if the text is not valid UTF-16.
    """
    encoding = utf16_of(stream.peek(2)[:2])
    return stream if encoding is None else Joined(_recoded(stream, source, encoding), encoding)


def _recoded(stream: Readable, source: str, encoding: str) -> Iterator[bytes]:
    line = 1
    try:
        for text in codecs.iterdecode(iter(partial(stream.read, 1 << 16), b""), encoding):
            line += text.count("\n")
            yield text.encode()
    except UnicodeDecodeError as error:
        problem = f"at or after this line, this is not {encoding} text: {error.reason}"
        raise InputError(source, problem, line) from None


def text_lines(source: str | Path, is_ours: bool = False) -> Generator[str, None, None]:
    """Yield the lines of a text file, plain or compressed by suffix, or ``-`` for standard input, without line ends.

    InputError if it cannot be read, or has a line longer than `MAX_LINE_BYTES`, or a line that is not UTF-8.
    """
    with open_side(source) as stream:
        for number, (line, problem) in enumerate(decoded_lines(stream, str(source), is_ours), 1):
            if problem:
                raise InputError(source, problem, number)
            yield from line.rstrip("\r\n").split("\r")  # lines of old Macs end in CR alone


@contextmanager
def at_line(source: str | Path, number: int) -> Iterator[None]:
    """Turn a ValueError in the ``with`` block into an InputError at a line of a file."""
    try:
        yield
    except ValueError as error:
        raise InputError(source, str(error), number) from None


def decoded_lines(stream: Readable, source: str, is_ours: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the lines of a stream with their ends, and what is wrong with each, or an empty text.

    A line that is too long is replaced by an empty one. Bytes that are not UTF-8 become surrogates (`is_utf8`).

    Raises InputError (it is not ours, and its first non-empty line has a format that no command reads).
    """
    is_top = not is_ours
    for number in count(1):
        raw = stream.readline(MAX_LINE_BYTES + len(b"\r\n"))
        if not raw:
            return
        if is_top and not raw.isspace():
            if problem := problem_of(raw):
                raise InputError(source, problem, number)
            is_top = False
        has_nul = b"\0" in raw
        if len(raw) > MAX_LINE_BYTES and len(raw.rstrip(b"\r\n")) > MAX_LINE_BYTES:
            too_long = f"the line is longer than {MAX_LINE_BYTES:,} bytes, the maximum for a line"
            yield "\n", _HAS_NUL if has_nul else too_long
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(MAX_LINE_BYTES)
        else:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8", "surrogateescape")
            yield line, _HAS_NUL if has_nul else "" if is_utf8(line) else NOT_UTF8


def is_utf8(text: str) -> bool:
    """Return whether a text can be written: it has no surrogates, which represent bytes that are not UTF-8."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def composed(text: str) -> str:
    """Return a text with accents as part of their letters (Unicode's NFC); without this, some equal texts differ."""
    return unicodedata.normalize("NFC", text)


def whole(text: str, most: int) -> int | None:
    """Return digits, with any leading zeros, as a number from 0 to `most`; None for any other text."""
    digits = text.lstrip("0") or "0"
    if not text or not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(most)):
        return None
    return number if (number := int(digits)) <= most else None


def as_a_file(text: str) -> str:
    """Return a text as file content: with a byte order mark before a leading U+FEFF, which would be read as one."""
    return f"{_BOM}{text}" if text.startswith(_BOM) else text


_FORMULA = re.compile(r"'*[=+\-@\uff0b\uff0d\uff1d\uff20]")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def cell(text: str) -> str:
    """Return the table cell for a text: no formula, one line, no tab.

    >>> cell("=1+1"), cell("'=1+1"), cell("plain")
    ("'=1+1", "''=1+1", 'plain')
    >>> print(cell('"Capital" (book)').replace('"', "''"))
    ''''''Capital'''' (book)''
    """
    text = one_line(text)
    if _FORMULA.match(text):
        return f"'{text}"
    return '"' + text.replace('"', '""') + '"' if text.startswith('"') else text


def meanings(text: str) -> list[str]:
    """Return the texts that a cell may represent; the first is the one for which `cell` returns it.

    Spreadsheets also put quotation marks around a text that contains a comma or quotation marks, and people write texts
    unchanged.

    >>> meanings("'=1+1")
    ['=1+1', "'=1+1"]
    >>> meanings('"Bread, butter"')
    ['Bread, butter', '"Bread, butter"']
    """
    texts = []
    quoted = _QUOTED.fullmatch(text)
    for form in ([quoted[1].replace('""', '"')] if quoted else []) + [text]:
        if form.startswith("'") and _FORMULA.match(form):
            texts.append(form[1:])
        texts.append(form)
    return texts


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first repeated name, ignoring empty ones; None if there is none.

    >>> first_repeated(["", "a", "b", "", "b", "a"])
    'a'
    """
    return next((name for name, count in Counter(names).items() if name and count > 1), None)


def delimiter_of(header: str, own: str, needed: Iterable[str]) -> str:
    r"""Return the column delimiter of a table, from its header line.

    Among comma, semicolon, tab and vertical bar, it is the one that splits off the most needed names, or else its own
    one, or else the one that yields the most names.

    >>> delimiter_of("id;text;tags, all", ",", ["text"]), delimiter_of("id\ttext", ",", [])
    (';', '\t')
    """

    def fit(delimiter: str) -> tuple[int, bool, int]:
        cells = next(csv.reader([header[: 1 << 16].replace("\r", "")], delimiter=delimiter), [])
        names = set(map(str.strip, cells))
        return len(names.intersection(needed)), delimiter == own and len(names) > 1, len(names)

    return max((own, *",;\t|"), key=fit)
