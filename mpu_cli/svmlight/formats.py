"""Formats detected from the first bytes: supported compressed data, and unsupported formats, with advice.

No signature of binary data is a text that somebody may write, such as a label called LZIP. docs/guide/formats.md has
the commands that convert unsupported formats; the tests run them.
"""

import re

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
        "data of a program; save a table as CSV, and arrays by sklearn.datasets.dump_svmlight_file(X, y, 'news.svm', "
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
        "a web page, or a pointer of Git LFS; download the file that it stands for",
    ),
)
_PAIR = rb"(?:\A|[ \t])[0-9]+:[-+.0-9]"
_NO_VECTORS = (
    (
        rb"(?!__label__)[A-Za-z_]+(?:[ \t]+[A-Za-z_]+)*\s*\Z",
        f"a line of words; if it is a heading, remove it: sed 1d; if labels are words, {PAGE}",
    ),
    (rb"__label__", f"fastText data; {PAGE}"),
    (rb"%|\s*@(?i:relation|attribute|data)\b", f"ARFF data, or a matrix; {PAGE}"),
    (rb"\s*(?:\{|\[\s*(?:[\[{\"]|\Z))", "JSON; mpu vectorize makes LIBSVM data of texts in JSON lines"),
    (
        rb'(?=[^#]*[A-Za-z".;\t])(?![^#]*' + _PAIR + rb")[^#\s]*[,;\t]",
        f"a table; mpu vectorize makes LIBSVM data of texts in a table; of numbers, {PAGE}",
    ),
)


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


def problem_of_line(line: bytes, of_scores: bool = False) -> str | None:
    """Return the same for a line that should be an instance but is not: also for formats that other commands read.

    `of_scores`: whether it should be a prediction.

    >>> problem_of_line(b"id,text,tags")  # doctest: +ELLIPSIS
    'this is a table; mpu vectorize makes LIBSVM data of texts in a table; ...'
    >>> problem_of_line(b"sport,news 1:0.5")
    """
    if (problem := problem_of(line)) is not None:
        return problem
    problem = problem_of(line, _NO_VECTORS)
    return f"{problem.partition('; ')[0]}; {PREDICTIONS}" if problem and of_scores else problem


def utf16_of(beginning: bytes) -> str | None:
    """Return the encoding of UTF-16 text, from its first bytes; None for other text.

    >>> utf16_of(b"\\xff\\xfea\\0"), utf16_of(b"a,b")
    ('utf-16-le', None)
    """
    match = _UTF16.match(beginning)
    return None if match is None else "utf-16-le" if match[1] else "utf-16-be"
