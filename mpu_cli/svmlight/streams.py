"""Sources and targets of data: files, compressed or several as one, URLs, standard streams; blocks of lines."""

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from importlib import import_module
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile, gettempdir
from typing import Any, BinaryIO, NamedTuple, Protocol

from mpu_cli.errors import STANDARD_STREAM, InputError, MpuError, counted, shown
from mpu_cli.runtime.files import STDERR, Joined, ReadFile, open_url, replacing
from mpu_cli.runtime.run import Bytes
from mpu_cli.svmlight.grammar import (
    COMPRESSED,
    MAX_LINE_BYTES,
    SIGNATURE_BYTES,
    Extent,
    compression_of,
    header_of,
    problem_of,
)


class Files(tuple[str, ...]):
    """Files that are read as one: the instances of the first, then those of the second, and so on."""

    __slots__ = ()

    def __str__(self) -> str:
        first, *others = self
        return f"{shown(first)} and {counted(len(others), 'more file')}"


Source = str | Path | Files


def as_one(paths: Sequence[str]) -> str | Files:
    """Return a single file unchanged, and several as `Files`. Features and their labels in two files count as one."""
    if len(paths) > 1:
        features = [str(pair.features) if (pair := pair_of(path)) else path for path in paths]
        paths = list({os.path.realpath(path): path for path in features}.values())
    return paths[0] if len(paths) == 1 else Files(paths)


def files_of(source: Source) -> list[str]:
    """Return the files of a source, in the order in which they are read."""
    return list(source) if isinstance(source, Files) else [str(source)]


Measure = tuple[int, str]  # bytes, SHA-256
Measures = dict[str, Measure | None]  # by file name; None before the file has been read


class Measured:
    """A stream that sums up the size and checksum of the bytes read from it or written to it.

    `watch`: called with these bytes.
    """

    def __init__(self, stream: Any, watch: Callable[[bytes], object] = lambda _: None) -> None:
        self._stream, self._watch = stream, watch
        self._bytes, self._digest = 0, hashlib.sha256()
        self.encoding = getattr(stream, "encoding", "utf-8")

    def read(self, n_bytes: int = -1, /) -> bytes:
        """Read as the stream does."""
        return self._counted(self._stream.read(n_bytes))

    def readline(self, n_bytes: int = -1, /) -> bytes:
        """Read as the stream does."""
        return self._counted(self._stream.readline(n_bytes))

    def write(self, data: bytes, /) -> int:
        """Write as the stream does."""
        return self._stream.write(self._counted(data))

    def _counted(self, data: bytes) -> bytes:
        self._bytes += len(data)
        self._digest.update(data)
        self._watch(data)
        return data

    def measure(self) -> Measure:
        """Return the size and checksum of the bytes so far."""
        return self._bytes, self._digest.hexdigest()


BLOCK_BYTES = 1 << 19
_CHECKED_BLOCKS = 1 << 9  # that are decompressed to look for damage

STANDARD_OUTPUT = (STANDARD_STREAM, "/dev/stdout")
_DESCRIPTOR = re.compile(r"/dev/(?:stderr|fd/([0-9]{1,9}))")  # of an open file, as a shell creates for >(...)
_OTHERS = (".zstd", ".zip", ".lz4", ".lzma", ".lz", ".lzo", ".z", ".br", ".7z", ".rar", ".tgz", ".tbz2", ".txz")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Readable(Protocol):
    """A source of bytes and of lines."""

    def read(self, n: int = -1, /) -> bytes: ...  # noqa: D102
    def readline(self, n: int = -1, /) -> bytes: ...  # noqa: D102


class Writable(Protocol):
    """A destination of bytes."""

    def write(self, data: bytes, /) -> int: ...  # noqa: D102


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(source: object) -> bool:
    """Whether the name of a source is a URL."""
    return _URL.match(str(source)) is not None


def file_name(source: str | Path) -> Path:
    """Return a path with the name of a local file, or of a file at a URL.

    >>> str(file_name("https://example.org/data/news.svm.gz?key=1"))
    'news.svm.gz'
    """
    if not is_url(source):
        return Path(source)
    url = str(source)
    if url.lower().startswith(("http://", "https://")):
        url = re.split(r"[?#]", url, maxsplit=1)[0]
    return Path(PurePosixPath(url).name)


def plain_name(source: str | Path) -> Path:
    """Return a file name without directory and compression suffix: ``data/a.svm.gz`` gives ``a.svm``.

    Suffixes of unsupported compression formats are removed too.
    """
    name = Path(file_name(source).name)
    return name.with_suffix("") if compression_named(name) else name


def stem(source: str | Path) -> str:
    """Return the name of a data file without directory and suffixes: ``data/news.svm.gz`` gives ``news``."""
    return plain_name(source).stem


def compression_named(source: str | Path) -> str | None:
    """Return the suffix of a name if it indicates compressed data or archives, including unsupported ones."""
    suffix = file_name(source).suffix
    return suffix if suffix.lower() in COMPRESSED + _OTHERS else None


def bytes_of(source: Source) -> Bytes | None:
    """Return how many bytes will be read from files, as progress counts them; None if a size is unknown beforehand."""
    files = [Path(file) for file in files_of(source)]
    return Bytes(sum(file.stat().st_size for file in files)) if all(map(Path.is_file, files)) else None


def open_input(source: str | Path) -> AbstractContextManager[Readable]:
    """Open a file for reading, decompressed if its suffix is in `COMPRESSED`, or its first bytes indicate it.

    `source`: a file, a URL, or ``-`` for standard input.
    Raises InputError (when it is opened: no such file, a directory, no permission; while it is read in the ``with``
    block: the compressed data are damaged, truncated, or not compressed; or a connection fails; or features and labels
    in two files do not match).
    """
    pair = pair_of(source)
    return _opened(source) if pair is None else Joined(_joined(pair))


# The two data files of the Extreme Classification Repository: features in ``trn_X_Xf.txt``, with the header ``n d``
# and lines ``index:value ...``; labels beside them in ``trn_X_Y.txt``, with the header ``n q`` and lines
# ``label:1 ...``. ``X.txt`` and ``Y.txt`` are such files, too. Either name refers to both files, which are read as one.
_NAME = re.compile(r"(|.*[^A-Za-z])(Xf?|Y)(\..*)")
_HEADER_BYTES = 100
_LABELS = re.compile(rb"(?:[0-9]+:1(?:\.0*)?(?:[ \t]+|(?=\r?\Z)))*\r?")
_VALUE = re.compile(rb":[^\s]*")
_FEATURES = re.compile(rb"[0-9]+:|\r?\Z")


class _Pair(NamedTuple):
    """Two files about the same instances."""

    features: Path
    labels: Path


def pair_of(source: str | Path) -> _Pair | None:
    """Return the two files that a name refers to; None if it refers to one file.

    Both exist, and begin with a header of two numbers.
    """
    name = None if is_url(source) else _NAME.fullmatch(Path(source).name)
    if name is None:
        return None
    start, kind, end = name.groups()
    for features in ("Xf", "X") if kind == "Y" else (kind,):
        pair = _Pair(*(Path(source).with_name(f"{start}{this}{end}") for this in (features, "Y")))
        if all(path.is_file() and _header(path) for path in pair):
            return pair
    return None


def _header(path: Path) -> Extent | None:
    with _opened(path) as stream:
        header = header_of(stream.readline(_HEADER_BYTES))
    return header if header is not None and header.features is None else None


def _joined(pair: _Pair) -> Iterator[bytes]:
    """Yield the lines of both files as one file: the header ``n d q``, then ``label,label index:value ...``."""
    (n, _, d), (m, _, q) = (_header(path) or (0, 0, 0) for path in pair)
    if n != m:
        problem = f"the header declares {m} instances, but {n} in {pair.features}; are both files of the same data?"
        raise InputError(pair.labels, problem, 1)
    yield b"%d %d %d\n" % (n, d, q)
    with ExitStack() as stack:
        lines = zip_longest(*(stack.enter_context(closing(_lines_below_header(path))) for path in pair))
        for number, (features, labels) in enumerate(lines, 2):
            if features is None or labels is None:
                ended, other = pair if features is None else reversed(pair)
                raise InputError(ended, f"the file ends before this line, which {other} has; is it cut short?", number)
            if not _LABELS.fullmatch(labels):
                raise InputError(pair.labels, "expected labels, such as 3:1 7:1", number)
            if not _FEATURES.match(features):
                problem = f"expected features, such as 1:0.5 4:2, since labels are in {pair.labels}"
                raise InputError(pair.features, problem, number)
            yield b"%b %b\n" % (b",".join(_VALUE.sub(b"", labels).split()), features)


def _lines_below_header(path: Path) -> Generator[bytes, None, None]:
    with _opened(path) as stream:  # an error names the file that contains it
        stream.readline()
        for line in iter(stream.readline, b""):
            yield line.removesuffix(b"\n").strip(b" \t")


@contextmanager
def _opened(source: str | Path) -> Iterator[Readable]:
    with ExitStack() as stack:
        try:
            if is_url(source):
                raw: BufferedReader = stack.enter_context(open_url(str(source)))
            elif str(source) != STANDARD_STREAM:
                raw = stack.enter_context(BufferedReader(ReadFile(source)))
                path = Path(source)
                if path.is_char_device() and not raw.isatty() and not path.samefile(os.devnull):
                    raise InputError(source, "cannot be read: it is a device that may have no end")
            elif sys.stdin is None:
                raise InputError(STANDARD_STREAM, "cannot be read: it is closed")
            else:
                stdin: Any = sys.stdin.buffer
                raw = stdin if isinstance(stdin, BufferedReader) else BufferedReader(stdin)
        except OSError as error:
            is_folder = isinstance(error, IsADirectoryError)
            problem = f"cannot be read: {error.strerror}" + "; give the files in it" * is_folder
            if is_folder and (Path(source) / "manifest.json").is_file():
                problem = "is a model, not a file of data; give the data here, and a model where MODEL stands"
            raise InputError(source, problem) from error
        try:
            stream = _decompressed(raw, source)
            try:
                yield stream
            except InputError as error:
                if stream is not raw and Path(source).is_file() and error.__cause__ is None:
                    with suppress(EOFError):  # before an early end, lines are right
                        for _ in range(_CHECKED_BLOCKS):  # damage, if it is found, is the error
                            stream.read(BLOCK_BYTES)
                raise
        except _DAMAGE as error:
            raise InputError(source, _fault(source, error)) from error


def refuse_unreadable(files: Iterable[str]) -> None:
    """Raise now the InputError that opening one of several files would raise later, perhaps after hours.

    Pipes and URLs are not opened: a pipe may only have one reader, and a URL may be slow.
    """
    for file in files:
        path = Path(file)
        if file != STANDARD_STREAM and not is_url(file) and (path.is_file() or path.is_dir() or not path.exists()):
            with open_input(file):
                pass


def _decompressed(raw: BufferedReader, source: str | Path) -> Readable:
    suffix = file_name(source).suffix
    match suffix if suffix in COMPRESSED else compression_of(raw.peek(SIGNATURE_BYTES)):
        case ".gz":
            if not raw.peek(1):  # an empty file, which gzip, unlike the others, would accept as empty data
                raise EOFError
            return gzip.GzipFile(fileobj=raw, mode="rb")
        case ".bz2":
            return Joined(_contents(raw, bz2.BZ2Decompressor))
        case ".xz":
            return Joined(_contents(raw, lzma.LZMADecompressor, padding=b"\0"))
        case ".zst":
            return Joined(_contents(raw, _zstd(source).ZstdDecompressor))
    return raw


def _zstd(file: str | Path) -> Any:
    for module in ("compression.zstd", "backports.zstd"):  # the former from Python 3.14 on
        with suppress(ImportError):
            return import_module(module)
    problem = "zstd data need backports.zstd; install it with: pip install backports.zstd"
    raise InputError(file, f"{problem}; or decompress with: zstd -dc")


def _contents(raw: BufferedReader, decompressor: Callable[[], Any], padding: bytes = b"") -> Iterator[bytes]:
    """Yield the contents of one or more compressed streams, one after another.

    The standard library stops without an error at anything after the first stream that is not another stream: it would
    lose the content of a damaged second stream.
    `padding`: a byte that may occur between and after streams.
    """
    stream = decompressor()
    while True:
        if stream.eof:
            compressed = stream.unused_data.lstrip(padding)
            while not compressed and (more := raw.read(BLOCK_BYTES)):
                compressed = more.lstrip(padding)
            if not compressed:
                return
            stream = decompressor()
        else:
            compressed = raw.read(BLOCK_BYTES) if stream.needs_input else b""
            if stream.needs_input and not compressed:
                raise EOFError
        try:
            data = stream.decompress(compressed, BLOCK_BYTES)
        except MemoryError:
            raise
        except Exception as error:  # each library has its own
            raise zlib.error(str(error)) from error
        yield data


_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)


def _fault(source: str | Path, error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the compressed data end too early; is the file cut short?"
    suffix = file_name(source).suffix
    other = f", or not {suffix} data despite their name" * (suffix in COMPRESSED)
    return f"the data are damaged{other} ({error})"


@contextmanager
def open_output(target: str | Path, beside: ExitStack | None = None) -> Iterator[Writable]:
    """Open a file for writing. It appears under its name when the ``with`` block has succeeded, or not at all.

    The bytes go to a temporary file in the same directory, which replaces the target at the end, and is removed if
    anything fails. If the target is a symbolic link, the file that it points to is replaced. A replaced file keeps its
    permissions. A target that is not a regular file (a pipe, ``/dev/null``) or that is already open (``/dev/stderr``,
    ``/dev/fd/9``) is written directly; ``-`` is standard output. With a suffix in `COMPRESSED`, it is compressed:
    always to the same bytes for the same content. MpuError if the file cannot be created there, or the device is full.

    `beside`: other outputs, which are closed once this one is completely on the disk, and appear before it: so both
    exist, or neither.
    """
    if (suffix := compression_named(target)) not in (None, *COMPRESSED):
        raise MpuError(
            f"{target}: the format {suffix} cannot be written; use the suffix {', '.join(COMPRESSED)}, or none of these"
        )
    raw: BinaryIO | None = None
    try:
        with _destination(target) as raw:
            with _compressed(raw, target) as out:
                yield out
            raw.flush()
            if beside is not None:
                beside.close()
    except OSError as error:
        if raw is None or error.errno in NO_ROOM:
            raise MpuError(f"{shown(target, 'output')}: cannot be written: {error.strerror}") from error
        raise


def refuse_unwritable(*targets: str | Path | None) -> None:
    """Raise now the MpuError that `open_output` of one of several files would raise later, perhaps after hours.

    Nothing is written. Standard output, pipes and devices are not opened.
    """
    for target in targets:
        if target is None or str(target) in STANDARD_OUTPUT:
            continue
        path = Path(target)
        if path.is_file() or path.is_dir() or not path.exists():
            with suppress(_AbortedError), open_output(target):
                raise _AbortedError


class _AbortedError(Exception):
    """Raised to leave `open_output` without writing anything."""


def _destination(target: str | Path) -> AbstractContextManager[BinaryIO]:
    if str(target) in STANDARD_OUTPUT:
        return nullcontext(sys.stdout.buffer)
    if open_already := _DESCRIPTOR.fullmatch(str(target)):
        return os.fdopen(os.dup(int(open_already[1] or STDERR)), "wb")
    path = Path(os.path.realpath(target))
    if path.exists():
        if not path.is_file():
            return Path(target).open("wb")
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return replacing(path)


def _compressed(raw: BinaryIO, target: str | Path) -> AbstractContextManager[Writable]:
    match Path(target).suffix:
        case ".gz":
            return gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
        case ".bz2":
            return bz2.BZ2File(raw, "wb")
        case ".xz":
            return lzma.LZMAFile(raw, "wb")
        case ".zst":
            zstd = _zstd(target)
            return zstd.ZstdFile(raw, "wb", options={zstd.CompressionParameter.checksum_flag: True})
    return nullcontext(raw)


def blocks(stream: Readable, source: str, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Cut a stream into blocks of whole lines, of at most `block_bytes` plus the longest line.

    Yield the number of the block's first line, from 1, and the lines, never empty; only the last block may end without
    a newline. InputError, which names `source`, if a line is longer than `MAX_LINE_BYTES` without its newline.
    """
    first_line = 1
    while True:
        try:
            block = stream.read(min(block_bytes, MAX_LINE_BYTES))  # so only its last line can be too long
            if block[-1:] not in (b"", b"\n"):
                block += stream.readline(MAX_LINE_BYTES + 1)
        except _DAMAGE as error:
            raise InputError(source, f"at or after this line, {_fault(source, error)}", first_line) from error
        if not block:
            return
        last = block.rfind(b"\n", 0, -1) + 1
        if len(block.removesuffix(b"\n")) - last > MAX_LINE_BYTES:
            if last:  # an error in these lines is the first
                yield first_line, block[:last]
            line = first_line + block.count(b"\n", 0, last)
            problem = f"the line is longer than {MAX_LINE_BYTES:,} bytes, the maximum for a line"
            raise InputError(source, (line == 1 and problem_of(block)) or problem, line)
        yield first_line, block
        first_line += block.count(b"\n")


@contextmanager
def read_twice(
    source: str | Path, opened: Callable[[str | Path], AbstractContextManager[Readable]] = open_input
) -> Iterator[Callable[[], AbstractContextManager[Readable]]]:
    """Yield a function that opens a file as often as it is called; errors as for `opened`.

    Sources that cannot be read twice (standard input, a pipe) are first copied to a temporary file.
    """
    if str(source) != STANDARD_STREAM and Path(source).is_file():
        yield lambda: opened(source)
        return
    with TemporaryFile() as spool:
        try:
            with opened(source) as stream:
                spool.writelines(iter(lambda: stream.read(BLOCK_BYTES), b""))
            spool.flush()
        except OSError as error:
            spool.raw.close()  # or else the file would try again to write this when it is closed
            raise MpuError(f"{gettempdir()}: cannot be written: {error.strerror}; choose another TMPDIR") from error

        def rewound() -> AbstractContextManager[Readable]:
            spool.seek(0)
            return nullcontext(spool)

        yield rewound
