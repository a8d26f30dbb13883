"""Sources of data: a file, standard input, or several files that are read as one; size and checksum of their bytes."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpu_cli.errors import counted, shown


class Files(tuple[str, ...]):
    """Files that are read as one: the instances of the first, then those of the second, and so on."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return their name in messages."""
        first, *others = self
        return f"{shown(first)} and {counted(len(others), 'more file')}"


Source = str | Path | Files


def as_one(paths: Sequence[str]) -> str | Files:
    """Return one file as it is, and several as `Files`."""
    return paths[0] if len(paths) == 1 else Files(paths)


def files_of(source: Source) -> list[str]:
    """Return the files of a source, in the order in which they are read."""
    return list(source) if isinstance(source, Files) else [str(source)]


Content = tuple[int, str]  # bytes, SHA-256
Contents = dict[str, Content | None]  # of files by their names; None before they have been read


class Counted:
    """A stream that sums up the size and checksum of the bytes read from it or written to it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._bytes = 0
        self._digest = hashlib.sha256()

    def read(self, n_bytes: int = -1, /) -> bytes:
        """Read as the stream does."""
        return self._counted(self._stream.read(n_bytes))

    def readline(self, n_bytes: int = -1, /) -> bytes:
        """Read as the stream does."""
        return self._counted(self._stream.readline(n_bytes))

    def write(self, data: bytes, /) -> int:
        """Write as the stream does."""
        return self._stream.write(self._counted(data))

    def content(self) -> Content:
        """Return size and checksum of the bytes so far."""
        return self._bytes, self._digest.hexdigest()

    def _counted(self, data: bytes) -> bytes:
        self._bytes += len(data)
        self._digest.update(data)
        return data
