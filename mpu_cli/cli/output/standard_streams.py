"""Standard output and standard error. A report that cannot be written is an error; a lost log line is not.

So a training does not fail because the disk with its log is full, and a lost report does not look like success.
Characters that the encoding of a stream lacks are escaped.
"""

import io
import os
import sys
from typing import TextIO

from mpu_cli.errors import MpuError

_STDIN, _STDOUT, _STDERR = range(3)


class _StandardOutput(io.RawIOBase):
    """Descriptor 1, whose errors say that it is standard output."""

    _descriptor = _STDOUT

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data) -> int:
        try:
            return os.write(self._descriptor, data)
        except OSError as error:
            return self._failed(error, len(data))

    def _failed(self, error: OSError, n_bytes: int) -> int:
        if isinstance(error, BrokenPipeError):  # the reader has gone, which is its own decision
            raise error
        raise MpuError(f"standard output: cannot be written: {error.strerror}") from error


class _StandardError(_StandardOutput):
    """Descriptor 2. Text that cannot be written is dropped."""

    _descriptor = _STDERR

    def _failed(self, error: OSError, n_bytes: int) -> int:
        return n_bytes


def prepare() -> None:
    """Replace `sys.stdout` and `sys.stderr`. Call this before any file is opened."""
    _occupy()
    sys.stdout = _text(_StandardOutput(), sys.stdout)
    sys.stderr = _text(_StandardError(), sys.stderr)


def finish() -> None:
    """Flush standard output. If that fails, keep Python from trying again: the error has been printed."""
    try:
        sys.stdout.flush()
    except (OSError, MpuError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)


def _occupy() -> None:
    """Open the null device for each closed stream. Otherwise the next file that is opened would get its descriptor."""
    for descriptor, mode in ((_STDIN, os.O_RDONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest that is free; read-only, so that a report is still an error
            os.set_inheritable(descriptor, True)


def _text(raw: io.RawIOBase, replaced: TextIO | None) -> io.TextIOWrapper:
    encoding = "utf-8" if replaced is None else replaced.encoding
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=raw.isatty())
