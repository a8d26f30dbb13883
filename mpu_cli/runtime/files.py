"""The files and directories that a command reads, writes and locks.

Each is written completely or not at all, and no temporary files remain.

A lock is held by one process at a time. The system releases it when that process ends, for whatever reason.

Files at URLs (``https://``, ``s3://``, ``gs://``, ``hdfs://`` and more) are read by fsspec (extra ``url``). Credentials
come from the environment, as the package for each protocol defines. Messages leave out the parts of a URL that may
contain credentials.

JSON may come from an untrusted source.
"""

import errno
import fcntl
import hashlib
import io
import json
import math
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from mpu_cli.errors import STANDARD_STREAM, BusyError, InputError, MpuError, without_secrets
from mpu_cli.runtime import signals

# Files keyed by the name of their argument or option, which may have several; None: not given
Named = Mapping[str, str | Path | Sequence[str | Path] | None]

STDIN, STDOUT, STDERR = range(3)
_TEMPORARY = ".mpu-"
LOCK = ".lock"
_BUFFER_BYTES = 1 << 19


def each_named(files: Named) -> list[tuple[str, str]]:
    """Return each file after its name: that of its option, with the file itself if the option has several."""
    found: list[tuple[str, str]] = []
    for name, paths in files.items():
        each = [paths] if isinstance(paths, str | Path) else paths or ()
        found += [(f"{name} {path}" if len(each) > 1 else name, str(path)) for path in each]
    return found


def identity_of(path: str, stream: int) -> tuple[Any, ...] | None:
    """Return an identity of a file, even if it does not exist yet.

    None for terminals and other devices, and for sockets: they can be used twice.
    Raises MpuError (the path leads through a directory that does not exist, and back by ``..``).
    """
    try:
        status = os.fstat(stream) if path == STANDARD_STREAM else Path(path).stat()
    except OSError:
        real = Path(os.path.realpath(path))
        # The system does not find what stands behind a missing directory and ``..``.
        is_there, folder, named = (os.access(place, os.F_OK) for place in (real, real.parent, Path(path).parent))
        if is_there or folder > named:
            raise MpuError(f"{path}: leads through a directory that does not exist") from None
        return (real,)
    kept = stat.S_ISREG, stat.S_ISDIR, stat.S_ISFIFO, stat.S_ISBLK
    return (status.st_dev, status.st_ino) if any(is_kind(status.st_mode) for is_kind in kept) else None


class ReadFile(io.FileIO):
    """A file for reading, or standard input, without a buffer. Its errors name it."""

    count: ClassVar[Callable[[int], None]] = staticmethod(lambda _: None)  # called with the number of bytes read

    def readinto(self, buffer: Any, /) -> int | None:
        """Read like `io.FileIO`, but raise InputError on failure."""
        try:
            n_bytes = super().readinto(buffer)
        except OSError as error:
            name = str(self.name or STANDARD_STREAM)
            raise InputError(name, f"cannot be read: {error.strerror}") from error
        ReadFile.count(n_bytes or 0)
        return n_bytes


class Joined(io.BufferedReader):
    """Pieces of bytes as a stream.

    `encoding`: the encoding of the original text.
    """

    def __init__(self, pieces: Iterator[bytes], encoding: str = "utf-8") -> None:
        super().__init__(_Pieces(pieces), _BUFFER_BYTES)
        self.encoding = encoding


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = filter(None, pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._rest = self._rest or memoryview(next(self._pieces, b""))
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


@contextmanager
def reads_counted(count: Callable[[int], None]) -> Iterator[None]:
    """Call a function with the number of bytes, possibly compressed, on each read from a `ReadFile`."""
    before, ReadFile.count = ReadFile.count, staticmethod(count)
    try:
        yield
    finally:
        ReadFile.count = before


# Size and modification time of a file.
State = tuple[int, int]


def state_of(path: str | Path) -> State | None:
    """Return the size and modification time of a regular file, to detect changes; None if there is no such file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def open_regular(path: Path) -> io.FileIO:
    """Open a regular file for reading, without a buffer. Never blocks, as opening a pipe would.

    Raises ValueError (it is a link, a pipe, a device or a directory).
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError("it is not a regular file")
    return io.FileIO(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))  # it may have been replaced since


def checksum(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a regular file; errors as for `open_regular`."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def directory_to_disk(path: Path) -> None:
    """Flush a directory's entries to the disk, if its file system supports this."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems do not support this
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create(path: Path, mode: int | None) -> int:
    """Create a file and return its descriptor; with a mode, other users cannot open it until `os.fchmod` sets it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)


def mode_of(path: Path) -> int | None:
    """Return the permissions of a file or directory; None if it does not exist."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return None


def remove(path: Path) -> None:
    """Remove a file, a link, or a directory with all of its contents, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a binary file that replaces any file of that name at the end of the ``with`` block, if that succeeds.

    The bytes go to a file in a temporary directory beside it, which is removed at the end, or by the next writer of the
    same file if this process is killed. A replaced file's permissions are kept.
    """
    mode = mode_of(path)
    with _temporary(path) as work:
        with os.fdopen(create(work / "new", mode), "wb") as file:
            yield file
        if mode is not None:
            (work / "new").chmod(mode)
        with signals.unbroken:
            (work / "new").replace(path)


@contextmanager
def replacing_directory(path: Path) -> Iterator[Path]:
    """Write a directory that replaces any of that name, whose content may be lost, as `replacing` replaces a file.

    Yield an empty directory for the files.
    """
    with _temporary(path) as work:
        new = work / "new"
        new.mkdir()
        if (mode := mode_of(path)) is not None:
            new.chmod(mode)
        yield new
        with signals.unbroken:
            while True:
                with suppress(FileNotFoundError):
                    path.rename(work / f"old-{secrets.token_hex(8)}")
                try:
                    new.rename(path)
                    return
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another process has written it
                        raise


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """Create a locked directory beside a path. It is removed at the end.

    First remove the leftovers of killed processes.
    """
    prefix = f"{_TEMPORARY}{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}-"
    _remove_leftovers(path.parent, prefix)
    while True:
        work = path.with_name(f"{prefix}{secrets.token_hex(8)}")
        with signals.finally_call(partial(remove, work)):
            work.mkdir(0o700)
            try:
                descriptor = os.open(work, os.O_RDONLY)
            except FileNotFoundError:  # another process has mistaken it for a leftover and removed it
                continue
            try:
                with suppress(OSError):  # no locks in this file system; no process removes what it cannot lock
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                if is_lock(work, descriptor):
                    yield work
                    return
            finally:
                os.close(descriptor)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove unlocked directories, left over by this user's killed processes. Do not follow links."""
    for path in folder.glob(f"{prefix}*"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if another process holds it
                    remove(path)
            finally:
                os.close(descriptor)


@contextmanager
def unchanged_time(path: Path) -> Iterator[None]:
    """Keep the modification time of a directory whose entries change."""
    before = path.stat().st_mtime_ns
    try:
        yield
    finally:
        with suppress(OSError):  # the directory may belong to another user
            os.utime(path, ns=(before, before))


@contextmanager
def locked_directory(path: Path, advice: str) -> Iterator[Callable[[], bool]]:
    """Lock a directory for the ``with`` block, by a file in it, `LOCK`, that names the holder.

    A missing directory is created, and removed at the end if it is empty.

    Yield a function that returns whether the path still leads to this directory.
    Raises BusyError, which ends with `advice`, if another process has locked it; OSError if it cannot be created.
    """
    made = [place for place in (path, *path.parents) if not place.exists()]
    lock, descriptor = path / LOCK, None

    def let_go() -> None:
        if descriptor is not None:
            with suppress(OSError):  # it is not empty
                if is_lock(lock, descriptor):
                    with unchanged_time(path):
                        lock.unlink()
                for place in made:
                    place.rmdir()
            os.close(descriptor)

    with signals.finally_call(let_go):
        while descriptor is None:
            with signals.unbroken:
                try:
                    path.mkdir(parents=True, exist_ok=True)
                except FileExistsError as error:
                    place = Path(error.filename)  # perhaps a parent
                    if place.is_symlink() and not place.exists():
                        error.strerror = f"{place} is a broken link"
                    if place.is_file() or place.is_symlink():
                        raise
                with suppress(FileNotFoundError), unchanged_time(path):  # another process has just removed it
                    descriptor = _lock(lock, advice)
        yield partial(is_lock, lock, descriptor)


def _lock(lock: Path, advice: str) -> int | None:
    """Return the descriptor of a locked file that names this process; None if it was removed in the meantime."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the latter from some network file systems
        text = os.read(descriptor, 200).decode(errors="replace")
        os.close(descriptor)
        holder = text if text and text.isprintable() else "another process"
        raise BusyError(f"{lock.parent}: is in use by {holder}; {advice}") from None
    except OSError:
        pass  # other network file systems do not support locks
    if not is_lock(lock, descriptor):
        os.close(descriptor)
        return None
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    with suppress(OSError):  # full disk: other processes then only see that the directory is in use
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()} since {since}".encode())
    return descriptor


def is_lock(path: Path, descriptor: int) -> bool:
    """Whether a path still leads to the locked file, which may have been moved or removed since."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


_URL_BUFFER_BYTES = 1 << 20
_SECONDS = 60.0  # that a server may stay silent


@contextmanager
def open_url(url: str) -> Iterator[Joined]:
    """Open the file at a URL for reading, without decompression.

    Yields a stream, whose errors are InputErrors too.
    Raises InputError (fsspec or the package for the protocol is not installed, the file does not exist or cannot be
    read; while reading in the ``with`` block: the connection fails).
    """
    protocol = url.partition("://")[0].lower()
    with _named(url):
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InputError(
                url, "URLs need the package fsspec: run pip install '.[url]' in a copy of mpu's source"
            ) from None
        # Its errors name the package to install, or the protocol that it does not know.
        system, path = url_to_fs(url, **(_http_options(protocol) if protocol in ("http", "https") else {}))
        file = system.open(path)
    with closing(file), Joined(_pieces_at(file, url)) as stream:
        yield stream


def _pieces_at(file: Any, url: str) -> Iterator[bytes]:
    with _named(url):
        yield from iter(partial(file.read, _URL_BUFFER_BYTES), b"")


def _http_options(protocol: str) -> dict[str, Any]:
    """Return HTTP options, unless fsspec is configured otherwise (https://filesystem-spec.readthedocs.io)."""
    from aiohttp import ClientTimeout
    from fsspec.config import conf

    client = {
        "timeout": ClientTimeout(total=None, sock_connect=_SECONDS, sock_read=_SECONDS),  # large files take long
        "trust_env": True,  # proxies, and passwords in ~/.netrc
        "headers": {"Accept-Encoding": "identity"},  # compressed files arrive unchanged,
        "auto_decompress": False,  # even if a server declares the file's own compression as a transfer encoding
    }
    # Without a block size, files are read from start to end: servers need not support byte ranges.
    return {"block_size": 0, "client_kwargs": client | conf.get(protocol, {}).get("client_kwargs", {})}


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Turn any exception, from any of many packages, into an error that names the URL."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(url, f"cannot be read: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        cause = error.__cause__
        # fsspec reports any HTTP error, and a missing answer, as a file that does not exist.
        return "there is no such file" if cause is None or getattr(cause, "status", None) == 404 else _reason(cause)
    status = getattr(error, "status", None)  # an HTTP error, whose text would repeat the URL
    said = str(error) if status is None else f"{status or ''} {getattr(error, 'message', '')}"
    text = " ".join(without_secrets(said).split())
    return f"{text or 'no answer'} ({type(error).__name__})"


_MOST_LEVELS = 100
_TOO_DEEP = f"this is not JSON that can be read: it is nested more than {_MOST_LEVELS} levels deep"


def expect(condition: bool, otherwise: str) -> None:
    """Raise ValueError with this message if a condition does not hold."""
    if not condition:
        raise ValueError(otherwise)


def json_value(text: str | bytes, strict: bool = False) -> Any:
    """Return the value of a JSON text.

    Raises ValueError, with a message that can be shown to users, if the text is not JSON; if `strict`, and a key is
    duplicate or a number is not finite; or if lists and objects are nested more than 100 deep, which is never intended
    and breaks recursive functions: the JSON reader and writer, and `repr`.
    """
    try:
        value = json.loads(text, **_STRICT if strict else {})
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:  # also of a number with thousands of digits, which Python refuses
        if strict and not isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise
        raise ValueError("this is not JSON") from None
    level: list[dict[str, Any] | list[Any]] = [[value]]
    for _ in range(_MOST_LEVELS + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise ValueError(_TOO_DEEP)


def _unique(pairs: list[tuple[Any, ...]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("duplicate key")
    return values


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("a number is not finite, or too large")
    return number


_MANY_DIGITS = 300  # of a whole number; Python refuses thousands, in words of its own
_STRICT: dict[str, Any] = {
    "object_pairs_hook": _unique,
    "parse_float": _finite,
    "parse_int": lambda text: int(text) if len(text) < _MANY_DIGITS else _finite(text),
    "parse_constant": _finite,
}


def json_object(text: bytes) -> dict[str, Any]:
    """Return the values of a JSON object, read by `json_value` in strict mode; ValueError if it is not an object."""
    values = json_value(text, strict=True)
    expect(isinstance(values, dict), "it is not a JSON object")
    return values
