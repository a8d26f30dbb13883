"""Formats that are told by how data begin: compressed data, which are read, and those of others, with how to go on.

No signature of binary data is a text that somebody may write, such as a label called LZIP. docs/guide/formats.md has
the commands that convert the others; the tests run them.
"""

import re
from collections.abc import Iterable
from shlex import quote

_COMPRESSED = re.compile(rb"(\x1f\x8b)|(BZh[1-9]1AY&SY)|(\xfd7zXZ)|(\x28\xb5\x2f\xfd)")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")  # suffixes of what is read and written, in the order of these groups
SIGNATURE_BYTES = 10  # that tell compressed data

OLD_LINE_ENDS = "lines end in CR alone, as on old Macs; make it LF: tr '\\r' '\\n'"
_DUMP = "sklearn.datasets.dump_svmlight_file(X, y, 'news.svm', multilabel=True) in Python makes LIBSVM data of arrays"
_PREDICTIONS = "predictions are label lists, such as 3,7, or scores, such as 3:0.91 7:0.5"
_PAGE = "docs/guide/formats.md has a command that converts"
_UTF16 = re.compile(rb"(\xff\xfe|[\t-~]\0)|\xfe\xff|\0[\t-~]")  # the first: little-endian
# Of Label Studio, a record of a task
LABEL_STUDIO = "{id, text: .data.text, tags: [.annotations[].result[].value.choices[]?]}"
# With the filter of jq that makes records of them
_ARRAYS = (
    (rb'\s*\[.*"annotations"', "an export of Label Studio", f".[] | {LABEL_STUDIO}"),
    (rb"\s*\[", "a JSON array", ".[]"),
    (rb"\s*\{\s*(?:\n|\Z)", "an object on several lines", "."),
)
# The first pattern that matches tells the format.
_OF_NO_COMMAND = (
    (_COMPRESSED.pattern, "compressed data within compressed data; decompress it first"),
    (rb"\x04\x22\x4d\x18", "lz4 data; decompress it first: lz4 -dc"),
    (rb"7z\xbc\xaf", "a 7z archive; extract the files from it first: 7z x"),
    (rb"LZIP\x01", "lzip data; decompress it first: lzip -dc"),
    (rb"\x1f\x9d", "data of compress; decompress it first: gzip -dc"),
    (rb"\x5d\x00\x00", "lzma data; decompress it first: xz -dc"),
    (
        rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels|docProps|xl/|mimetype)|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a spreadsheet; save it as CSV",
    ),
    (rb"PK\x03\x04.{26}[^/]{1,100}\.npy", f"data of NumPy; {_DUMP}"),
    (rb"PK\x03\x04", "a zip archive; extract the files from it first: unzip"),
    (rb".{257}ustar[\0 ]", "a tar archive; extract the files from it first: tar -xf"),
    (rb"PAR1\x15", "Parquet data; pandas.read_parquet(FILE).to_csv('news.csv') in Python makes a table of it"),
    (rb"\x93NUMPY|\x89HDF\r\n|ARROW1\0|MATLAB [57]\.[0-9] MAT-file", f"data of a program; {_DUMP}"),
    (
        rb"\x80[\x02-\x05]",
        f"a Python pickle; pandas.read_pickle(FILE).to_csv('news.csv') makes a table of one of pandas; {_DUMP}",
    ),
    (_UTF16.pattern, "UTF-16 text; save it as UTF-8: iconv -f UTF-16 -t UTF-8"),
    (
        rb"\s*(?:<\?xml[^>]*>\s*)?<(?i:!doctype\s+html|html|head|body)\b|404: Not Found\s*\Z",
        "a web page (HTML); download the file that it links to",
    ),
    (rb"version https://git-lfs\.github\.com/", "a pointer of Git LFS; fetch the file itself: git lfs pull"),
    (rb"\s*@(?i:relation)\s", f"ARFF data; {_PAGE} it"),
)
_PAIR = rb"(?:\A|[ \t])[0-9]+:[-+.0-9]"
_FEATURES = rb"[ \t]+[0-9]+:[-+.0-9]"
_LIST = rb"[0-9]+(?:[ \t]*[,;|][ \t]*[0-9]+)*"
_NO_VECTORS = (
    (
        rb"(?:\[" + _LIST + rb'\]|"' + _LIST + rb'"|(?=[0-9, \t]+[;|])' + _LIST + rb")(?=" + _FEATURES + rb")",
        "a list of labels in another form; sed -E 's/[]\"[]//g; s/ *[;|] */,/g' makes LIBSVM data of it",
    ),
    (
        rb"(?!__label__)(?=[^\s:,|]*[A-Za-z])[^\s:,|]++[ \t]+[0-9]+(?:,[0-9]+)*" + _FEATURES,
        "an id before the labels; leave it out: sed -E 's/^[^[:space:]]+[[:space:]]+//'",
    ),
    (
        rb"(?!__label__)[A-Za-z_]+(?:[ \t]+[A-Za-z_]+)*\s*\Z",
        f"a line of words; if it is a heading, remove it: sed 1d; if labels are words, {_PAGE} them",
    ),
    (rb"\s*<\?xml", "XML; the data of Mulan are in the .arff file beside it"),
    (rb"__label__", f"fastText data; {_PAGE} it for mpu vectorize"),
    (rb"%%MatrixMarket", f"a matrix; read it in Python by scipy.io.mmread; {_DUMP}"),
    (rb"%|\s*@(?i:attribute|data)\b", f"ARFF data; {_PAGE} it"),
    *(
        (pattern, f"{what}; make JSON lines of it for mpu vectorize: jq -c {quote(records)}")
        for pattern, what, records in _ARRAYS
    ),
    (rb"\s*\{", "JSON; mpu vectorize makes LIBSVM data of texts in JSON lines"),
    (
        rb"[\t !\"$-{}~]*\|",
        "Vowpal Wabbit data; if features are numbers, sed -E 's/ *[|][^ ]* */ /' makes LIBSVM data of it",
    ),
    (
        rb'(?=[^#]*[A-Za-z".;\t])(?![^#]*' + _PAIR + rb")[^#\s]*[,;\t]",
        f"a table; mpu vectorize makes LIBSVM data of texts in a table; {_PAGE} numbers",
    ),
)


def compression_of(beginning: bytes) -> str | None:
    """Return the suffix of compressed data that are read, by how they begin; None if these are none.

    Examples
    --------
    >>> compression_of(b"\\x1f\\x8b\\x08"), compression_of(b"3,7 1:0.5")
    ('.gz', None)
    """
    match = _COMPRESSED.match(beginning)
    return None if match is None or match.lastindex is None else COMPRESSED[match.lastindex - 1]


def problem_of(beginning: bytes) -> str | None:
    """Return what data that begin so are, and what to do, if no command reads them; None otherwise.

    Examples
    --------
    >>> problem_of(b"LZIP\\x01...")
    'this is lzip data; decompress it first: lzip -dc'
    >>> problem_of(b"3,7 1:0.5")
    """
    return _told(beginning, _OF_NO_COMMAND)


def problem_of_line(line: bytes, of_scores: bool = False) -> str | None:
    """Return the same for a line that should be an instance, and is not: also formats that other commands read.

    `of_scores`: whether it should be a prediction.

    Examples
    --------
    >>> problem_of_line(b"id,text,tags")  # doctest: +ELLIPSIS
    'this is a table; mpu vectorize makes LIBSVM data of texts in a table; ...'
    >>> problem_of_line(b"sport,news 1:0.5")
    """
    if (problem := problem_of(line)) is not None:
        return problem
    problem = _told(line, _NO_VECTORS)
    return f"{problem.partition('; ')[0]}; {_PREDICTIONS}" if problem and of_scores else problem


def problem_of_array(beginning: bytes, source: str) -> str | None:
    """Return what JSON is that is no lines of it, and the command that makes these of its file; None for other text.

    Examples
    --------
    >>> problem_of_array(b'[{"text": "..."}, ', "news.json")
    "this is a JSON array; make JSON lines of it: jq -c '.[]' news.json > lines.jsonl"
    """
    commands = (
        (pattern, f"{what}; make JSON lines of it: jq -c {quote(records)} {quote(source)} > lines.jsonl")
        for pattern, what, records in _ARRAYS
    )
    return _told(beginning, commands)


def utf16_of(beginning: bytes) -> str | None:
    """Return the encoding of text in UTF-16, by how it begins; None if it is none.

    Examples
    --------
    >>> utf16_of(b"\\xff\\xfea\\0"), utf16_of(b"a,b")
    ('utf-16-le', None)
    """
    match = _UTF16.match(beginning)
    return None if match is None else "utf-16-le" if match[1] else "utf-16-be"


def _told(beginning: bytes, formats: Iterable[tuple[bytes, str]]) -> str | None:
    return next((f"this is {what}" for pattern, what in formats if re.match(pattern, beginning, re.DOTALL)), None)
