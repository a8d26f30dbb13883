"""The grammar of a LIBSVM multi-label file, one line at a time. This is the definition of the format.

A file consists of lines that end in LF or CRLF. The last line need not end in either.

- ``#`` starts a comment, up to the end of the line. A line whose first byte is ``#`` is a comment line. Every other
  line is an instance, even an empty one (no labels, no features). So line i of an output belongs to instance i of the
  input.
- An instance is ``label[,label...] index:value ...``, separated by spaces or tabs. It has no labels if the line starts
  with a space, a tab or ``index:value``, or is empty.
- A label consists of digits, and is between 0 and 2^31 - 2. It may have a plus sign before it, a point and zeros after
  it, and blanks around commas (``+1``, ``1.0``, ``1, 2``): `plain_labels` removes them.
- An index consists of digits, and is between 0 and 2^31 - 2. Any order is allowed.
- A value is a decimal number (``1``, ``-0.5``, ``.5``, ``2.5e-3``), finite as float32.
- With implicit values, an index without a colon has the value 1.
- A label that is repeated in its line counts once, and so does an index with the same value. An index with another
  value is an error, and so are labels such as ``0,1,1``, which are a vector rather than a list.
- If labels are not wanted, anything else in their place (``-1``, ``?``, ``sport,arts``) is removed, if an index
  follows or it is ``-1`` or ``?``.
- A first line of three integers ``n d q`` is the header of an Extreme Classification Repository file: instances,
  features, labels. So is one of two, ``n q``, or ``n d`` of features alone. Comment lines may precede it. The file then
  has n instances, features from 0 to d - 1, and labels from 0 to q - 1.
- A byte order mark may begin the file. A byte that is not printable ASCII is an error except in a comment.
- A line without its LF has at most 64 MiB, comments included.

Other formats are detected from the first bytes: supported compressed data, and unsupported formats, with advice. No
signature of binary data is a text that somebody may write, such as a label called LZIP. docs/guide/formats.md has the
commands that convert unsupported formats; the tests run them.
"""

import re
from dataclasses import dataclass
from struct import pack, unpack
from typing import NamedTuple

MAX_ID = 2**31 - 2
# A longer line (without its LF) is an error, so that a file without newlines does not fill the memory.
MAX_LINE_BYTES = 1 << 26
FLOAT32_OVERFLOW = 2.0**128 - 2.0**103  # from here on, rounding to float32 gives infinity

_HEADER = re.compile(rb"([0-9]{1,18})[ \t]+(?:([0-9]{1,18})[ \t]+)?([0-9]{1,18})[ \t]*\r?\n?")
_NOT_TEXT = re.compile(rb"[^\t -~]")
NUMBER = rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_VALUE = re.compile(NUMBER)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUOTED_BYTES = 40
# No group is possessive: before Python 3.11.5, the re module may then miss a match (gh-106052).
_LABEL = rb"\+?[0-9]++(?:\.0*+)?"
_LABELS = re.compile(rb"^" + _LABEL + rb"(?:[ \t]*+,[ \t]*+" + _LABEL + rb")*(?=[ \t\r\n#]|\Z)", re.MULTILINE)
# Where `_LABELS` may be written differently; many times faster to search for
_OTHER_LABELS = re.compile(rb"\n[0-9,]*+(?:[+.]|[ \t]++,|(?<=,)[ \t])")
_NOT_DIGITS = re.compile(rb"[+ \t]+|\.0*")
_WEIGHTED = rb"[^\s,#]++(?:,[0-9]++:[^\s,#]++)+"
_TEXT = rb"(?:[^\s:,#]++(?:[ \t]*+,[ \t]*+[^\s:,#]++)*|" + _WEIGHTED + rb")"
_NO_LABELS = re.compile(rb"(?m)^(?:(?:\?|-1)(?=[ \t\r]*+(?:#|$))|" + _TEXT + rb"(?=[ \t]++[0-9]++(?:[:\s#]|\Z)))")

_COMPRESSED = re.compile(rb"(\x1f\x8b)|(BZh[1-9]1AY&SY)|(\xfd7zXZ)|(\x28\xb5\x2f\xfd)")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")  # suffixes that are read and written, in the order of these groups
SIGNATURE_BYTES = 10  # enough to identify compressed data

OLD_LINE_ENDS = "lines end in CR alone, as on old Macs; make it LF: tr '\\r' '\\n'"
PREDICTIONS = "predictions are label lists, such as 3,7, or scores, such as 3:0.91 7:0.5"
PAGE = "docs/guide/formats.md has commands that convert other formats"
_UTF16 = re.compile(rb"(\xff\xfe|[\t-~]\0)|\xfe\xff|\0[\t-~]")  # the first: little-endian
# The first pattern that matches determines the format.
_OF_NO_COMMAND = (
    (
        rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels|docProps|xl/|mimetype)|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a spreadsheet; save it as CSV",
    ),
    (
        rb"PK\x03\x04.{26}[^/]{1,100}\.npy|PAR1\x15|\x93NUMPY|\x89HDF\r\n|ARROW1\0|MATLAB [57]\.[0-9] |\x80[\x02-\x05]",
        "binary data; save a table as CSV, and arrays by sklearn.datasets.dump_svmlight_file(X, y, 'news.svm', "
        "multilabel=True) in Python",
    ),
    (
        _COMPRESSED.pattern
        + rb"|\x04\x22\x4d\x18|7z\xbc\xaf|LZIP\x01|\x1f\x9d|\x5d\x00\x00|PK\x03\x04|.{257}ustar[\0 ]",
        "an archive, or compressed twice or in a way that is not read; extract the file from it first",
    ),
    (_UTF16.pattern, "UTF-16 text; save it as UTF-8: iconv -f UTF-16 -t UTF-8"),
    (
        rb"\s*(?:<\?xml[^>]*>\s*)?<(?i:!doctype\s+html|html|head|body)\b|404: Not Found\s*\Z|version https://git-lfs\.",
        "a web page, or a Git LFS pointer; download the file itself",
    ),
)
_PAIR = rb"(?:\A|[ \t])[0-9]+:(?:[-+.0-9]|(?i:nan|inf))"
_NO_VECTORS = (
    (
        rb"(?!__label__)[A-Za-z_]+(?:[ \t]+[A-Za-z_]+)*\s*\Z",
        f"a line of words; if it is a heading, remove it: sed 1d; if labels are words, {PAGE}",
    ),
    (rb"__label__", f"fastText data; {PAGE}"),
    (
        rb"(?:[-+0-9.,: \t]*[ \t])?(?:'[^\s|]*)?\|",
        "Vowpal Wabbit data; if features are numbers, remove the bars and the names at them: sed 's/[^ ]*|[^ ]*//g'",
    ),
    (rb"%|\s*@(?i:relation|attribute|data)\b", f"ARFF data, or a matrix; {PAGE}"),
    (rb"\s*(?:\{|\[\s*(?:[\[{\"]|\Z))", "JSON; mpu vectorize makes LIBSVM data of texts in JSON lines"),
    (
        rb'(?=[^#]*[A-Za-z".;\t])(?![^#]*' + _PAIR + rb")[^#\s]*[,;\t]",
        f"a table; mpu vectorize makes LIBSVM data of texts in a table; of numbers, {PAGE}",
    ),
)


@dataclass(frozen=True)
class Reading:
    """Options for reading files."""

    implicit_values: bool = False  # whether an index without a colon has the value 1
    scores: bool = False  # Whether ``index:value`` is the score of a label. This changes only errors.
    labels: bool = True  # Whether labels are wanted: otherwise, anything else in their place is not an error


DEFAULT_READING = Reading()


class Extent(NamedTuple):
    """The number of instances, and of features and labels, numbered from 0: in a file, or as its header announces."""

    instances: int
    features: int | None  # None in the header of a score file
    labels: int


def header_of(line: bytes) -> Extent | None:
    """Return the numbers that a header line announces, or None if the line is not a header."""
    match = _HEADER.fullmatch(line)
    if match is None:
        return None
    return Extent(int(match[1]), None if match[2] is None else int(match[2]), int(match[3]))


# The labels and indices of a line in their order, and the value of each index.
Instance = tuple[list[int], list[int], list[float]]


def plain_labels(text: bytes, reading: Reading = DEFAULT_READING) -> bytes:
    """Return lines with labels of digits alone, or without the text in place of labels that are not wanted.

    >>> plain_labels(b"1, 2.0 3:0.5\\n+4 1:1")
    b'1,2 3:0.5\\n4 1:1'
    """
    if not reading.labels:
        return _NO_LABELS.sub(b"", text)
    if not _OTHER_LABELS.search(b"\n" + text):
        return text
    return _LABELS.sub(lambda match: _NOT_DIGITS.sub(b"", match[0]), text)


def parse_line(line: bytes, reading: Reading = DEFAULT_READING) -> Instance:
    """Parse the line of an instance, with or without its newline; it is neither a comment line nor a header.

    ValueError if the line breaks the grammar; it describes the problem and the remedy. The caller adds file and line.
    """
    text = line.removesuffix(b"\n").removesuffix(b"\r").partition(b"#")[0]
    try:
        if not reading.implicit_values and header_of(text) is not None:
            raise ValueError(
                f"{_quote(text.split()[1])} has no colon; if this line is the header of another file, give several "
                f"FILEs, or remove all headers; otherwise, {_COLON_MISSING[reading.scores]}"
            )
        return _parse(plain_labels(text, reading), reading)
    except ValueError as error:
        of_others = problem_of(line, _NO_VECTORS)
        if reading.scores and of_others:
            of_others = f"{of_others.partition('; ')[0]}; {PREDICTIONS}"
        problem = problem_of(line) or of_others or str(error)
        raise ValueError(problem.replace(PAGE, PREDICTIONS) if reading.scores else problem) from None


# Commands that add a number to each feature, or label, of a file, whatever the form of its labels.
RENUMBERED = {
    "features": r"perl -pe 's/\d+(?=:)/$&%+d/ge'",
    "labels": r"""perl -pe 's/^[\d+.]+(\s*,\s*[\d+.]+)*(?![^\s#])/join ",", map {$_%+d} split ",", $&/e'""",
}
VECTORS_AS_LISTS = "perl -pe 's/^[01]+(?!\\S)/join q(,), grep {substr $&, $_ - 1, 1} 1 .. length $&/e'"
_COLON_MISSING = {  # advice if it was not meant as a list of labels
    False: "if it is a feature whose value 1 is omitted, add --implicit-values",
    True: "give each label a score, such as 3:0.91",
}


def _parse(text: bytes, reading: Reading) -> Instance:
    if match := _NOT_TEXT.search(text):
        if match[0] == b"\r":
            raise ValueError(OLD_LINE_ENDS)
        raise ValueError(f"byte 0x{match[0][0]:02x} at column {match.start() + 1} is not text; is this a LIBSVM file?")
    tokens = text.split()
    labels = []
    if tokens and text.startswith(tokens[0]) and b":" not in tokens[0]:
        labels = _parse_labels(tokens.pop(0))
    features: dict[int, float] = {}
    for token in tokens:
        index, value = _parse_feature(token, reading)
        if (first := features.setdefault(index, value)) != value and _float32(first) != _float32(value):
            raise ValueError(f"index {index} has two values in this line; keep one")
    return labels, list(features), list(features.values())


def _parse_labels(token: bytes) -> list[int]:
    labels = []
    for part in token.split(b","):
        if not part:
            raise ValueError(f"label missing before or after a comma in {_quote(token)}; remove the comma")
        if part.startswith(b"-"):
            raise ValueError(f"label {_quote(part)} is negative; instances of no class have no label: sed 's/^-1//'")
        labels.append(_parse_id(part, "label"))
    if len(set(labels)) < len(labels) and max(labels) <= 1:
        raise ValueError(f"{_quote(token)} is a label twice, or a vector of 0 and 1; {PAGE}")
    return list(dict.fromkeys(labels))


def _parse_feature(token: bytes, reading: Reading) -> tuple[int, float]:
    index_text, colon, value_text = token.partition(b":")
    if not colon and not reading.implicit_values:
        raise ValueError(
            f"{_quote(token)} has no colon; labels begin the line, with commas between them; "
            f"{_COLON_MISSING[reading.scores]}"
        )
    if index_text == b"qid":
        raise ValueError(f"{_quote(token)} is the number of a query, not a feature; remove it: sed 's/ qid:[0-9]*//'")
    index = _parse_id(index_text, "index")
    if not colon:
        return index, 1.0
    if not _VALUE.fullmatch(value_text):
        raise ValueError(
            f"value {_quote(value_text)} of index {index} is not a finite number, such as 0.5; write one, or leave the "
            "index out"
        )
    value = float(value_text)
    if abs(value) >= FLOAT32_OVERFLOW:
        raise ValueError(
            f"value {_quote(value_text)} of index {index} is too large; scale the values (float32 ends at 3.4e38)"
        )
    return index, value


def _parse_id(text: bytes, name: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{name} {_quote(text)} is not a whole number from 0 up; {PAGE}")
    digits = text.lstrip(b"0") or b"0"
    if len(digits) > len(str(MAX_ID)) or int(digits) > MAX_ID:
        raise ValueError(f"{name} {_quote(text)} is beyond {MAX_ID}, the largest possible")
    return int(digits)


def _float32(value: float) -> float:
    return unpack("f", pack("f", value))[0]


def _quote(token: bytes) -> str:
    shown = repr(token[:_QUOTED_BYTES].decode("ascii", "backslashreplace"))
    return shown if len(token) <= _QUOTED_BYTES else f"{shown}..."


def compression_of(beginning: bytes) -> str | None:
    """Return the suffix of supported compressed data, from their first bytes; None for other data.

    >>> compression_of(b"\\x1f\\x8b\\x08"), compression_of(b"3,7 1:0.5")
    ('.gz', None)
    """
    match = _COMPRESSED.match(beginning)
    return None if match is None or match.lastindex is None else COMPRESSED[match.lastindex - 1]


def problem_of(beginning: bytes, formats: tuple[tuple[bytes, str], ...] = _OF_NO_COMMAND) -> str | None:
    """Return a description of data that no command reads, from their first bytes, with advice; None for other data.

    `formats`: patterns of first bytes, and the descriptions.

    >>> problem_of(b"LZIP\\x01...")
    'this is an archive, or compressed twice or in a way that is not read; extract the file from it first'
    >>> problem_of(b"3,7 1:0.5")
    """
    return next((f"this is {what}" for pattern, what in formats if re.match(pattern, beginning, re.DOTALL)), None)


def utf16_of(beginning: bytes) -> str | None:
    """Return the encoding of UTF-16 text, from its first bytes; None for other text.

    >>> utf16_of(b"\\xff\\xfea\\0"), utf16_of(b"a,b")
    ('utf-16-le', None)
    """
    match = _UTF16.match(beginning)
    return None if match is None else "utf-16-le" if match[1] else "utf-16-be"
