"""The content of files: size and checksum of their uncompressed bytes."""

import hashlib
from typing import Any

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
