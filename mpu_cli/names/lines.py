"""Text files that people write and send back: lines of UTF-8 with their limits and errors, and cells of tables.

A byte order mark and CRLF are allowed. Lines have a limit, so that a file without line ends does not fill the memory.
Errors have file and line.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, and quotation marks at the start
for quoting. So such a text gets an apostrophe before it, or is quoted (`cell`). Reading undoes both (`meanings`).
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError, one_line
from mpu_cli.runtime.files import Joined
from mpu_cli.svmlight.formats import problem_of, utf16_of
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.svmlight.streams import Readable, Watched, is_plain, open_input

NOT_UTF8 = "this is not UTF-8 text; save the file as UTF-8, such as by iconv -f LATIN1 -t UTF-8"
_BOM = "\ufeff"
_LEAST_EXPANDED = 1 << 23  # bytes
_MOST_EXPANSION = 250  # no text of people does


@contextmanager
def open_side(source: str | Path) -> Iterator[Readable]:
    """Open a file that is read whole, as `open_input`; InputError where little data expand to fill the memory."""
    with open_input(source) as opened:
        stream = as_utf8(opened, str(source))
        if not is_plain(opened) and Path(source).is_file():
            left = max(_LEAST_EXPANDED, _MOST_EXPANSION * Path(source).stat().st_size)

            def limit(data: bytes) -> None:
                nonlocal left
                left -= len(data)
                if left < 0:
                    problem = (
                        f"expands to more than {_MOST_EXPANSION} times its size; if that is right, give it uncompressed"
                    )
                    raise InputError(source, None, problem)

            yield Watched(stream, limit)
        else:
            yield stream


def as_utf8(stream: Any, source: str) -> Readable:
    """Return a stream of the same text in UTF-8, also of UTF-16, as its first bytes say.

    `encoding` of the stream that is returned is the one that was read; it has none where it is the same stream.
    The stream raises InputError where the text is not in UTF-16.
    """
    stream = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    encoding = utf16_of(stream.peek(2)[:2])
    return stream if encoding is None else Joined(_recoded(stream, source, encoding), encoding)


def _recoded(stream: Readable, source: str, encoding: str) -> Iterator[bytes]:
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    data = b"."
    while data:
        data = stream.read(1 << 16)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise InputError(
                source, line, f"at or after this line, this is not {encoding} text: {error.reason}"
            ) from None
        line += text.count("\n")
        yield text.encode()


def text_lines(source: str | Path, is_ours: bool = False) -> Generator[str, None, None]:
    """Yield the lines of a text file, plain or compressed by suffix, or ``-`` for standard input, without their ends.

    InputError where it cannot be read, or has a line longer than `MAX_LINE_BYTES`, or one that is not UTF-8.
    """
    with open_side(source) as stream:
        for number, line in enumerate(decoded_lines(stream, str(source), is_ours), 1):
            if line is None:
                raise InputError(source, number, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            if not is_utf8(line):
                raise InputError(source, number, NOT_UTF8)
            yield line.rstrip("\r\n")


def read_each(source: str | Path, read: Callable[[str], None]) -> None:
    """Call a function with each line of a file, as `text_lines`; its ValueError becomes an InputError of the line."""
    for number, line in enumerate(text_lines(source), 1):
        try:
            read(line)
        except ValueError as error:
            raise InputError(source, number, str(error)) from None


def decoded_lines(stream: Readable, source: str, is_ours: bool = False) -> Iterator[str | None]:
    """Yield the lines of a stream with their ends, None for one that is too long.

    Bytes that are not UTF-8 become surrogates (`is_utf8`).

    Raises InputError (it is not ours, and of a format that no command reads, by its first line that is not empty).
    """
    is_top = not is_ours
    for number in count(1):
        raw = stream.readline(MAX_LINE_BYTES + len(b"\r\n"))
        if not raw:
            return
        if is_top and not raw.isspace():
            if problem := problem_of(raw):
                raise InputError(source, number, problem)
            is_top = False
        if len(raw) > MAX_LINE_BYTES and len(raw.rstrip(b"\r\n")) > MAX_LINE_BYTES:
            yield None
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(MAX_LINE_BYTES)
        else:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8", "surrogateescape")


def is_utf8(text: str) -> bool:
    """Whether a text can be written: it has no surrogates, which stand for bytes that are not UTF-8."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def whole(text: str, most: int) -> int | None:
    """Return digits, with any leading zeros, as a number from 0 to `most`; None for any other text."""
    digits = text.lstrip("0") or "0"
    if not text or not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(most)):
        return None
    return number if (number := int(digits)) <= most else None


def as_a_file(text: str) -> str:
    """Return a text as a file has it: a byte order mark comes before a first U+FEFF, which would be read as one."""
    return f"{_BOM}{text}" if text.startswith(_BOM) else text


_FORMULA = re.compile(r"'*[=+\-@\uff0b\uff0d\uff1d\uff20]")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def cell(text: str) -> str:
    """Return the cell of a text: no formula, one line, no tab.

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
    """Return the texts that a cell may stand for, first the one that `cell` writes so.

    Spreadsheets also put quotation marks around a text that has a comma or quotation marks in it, and people write
    texts as they are.

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
    """Return the first name that is repeated, empty ones aside; None if there is none.

    >>> first_repeated(["", "a", "b", "", "b", "a"])
    'a'
    """
    return next((name for name, count in Counter(names).items() if name and count > 1), None)


def delimiter_of(header: str, own: str, needed: Iterable[str]) -> str:
    r"""Return what separates the columns of a table, by the line that names them.

    Of a comma, a semicolon, a tab and a vertical bar it is the one that gives most of the needed names, or else its
    own one, or else the one that gives most names.

    >>> delimiter_of("id;text;tags, all", ",", ["text"]), delimiter_of("id\ttext", ",", [])
    (';', '\t')
    """

    def fit(delimiter: str) -> tuple[int, bool, int]:
        names = {
            name.strip() for name in next(csv.reader([header[: 1 << 16].replace("\r", "")], delimiter=delimiter), [])
        }
        return len(names.intersection(needed)), delimiter == own and len(names) > 1, len(names)

    return max((own, *",;\t|"), key=fit)
