"""Errors, and what messages have in common.

Every error that a user can mend is an `MpuError`. The command line prints it as ``error: ...`` and exits with its
status. Any other exception that reaches the user is a bug.
"""

import os
import re
from unicodedata import category

STANDARD_STREAM = "-"
# Unicode categories: control characters, line and paragraph separators.
_CONTROLS = ("Cc", "Zl", "Zp")
# Protocol; user and password; address and path; the query, or what is shown in its place.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+://)(?:[^/\s'\"]*@)?([^\s?'\"]*)(\?(?:\.\.\.(?=[:,;)\s])|[^\s'\"]*))?")


class MpuError(Exception):
    """A failed run. The message says what is wrong and what to do about it.

    Attributes
    ----------
    exit_status : int
        Exit status of the command line.
    """

    exit_status = 1


class MpuWarning(UserWarning):
    """A reason not to trust a result. Callers from Python get it by `warnings.warn`."""


def shown(path: object, stream: str = "input") -> str:
    """Return the name of a file for messages: ``-`` becomes ``standard input`` or ``standard output``.

    A URL is shown without what may be secret in it.
    """
    return f"standard {stream}" if str(path) == STANDARD_STREAM else without_secrets(str(path))


def without_secrets(text: str) -> str:
    """Return a text whose URLs have neither user, password nor query.

    Examples
    --------
    >>> without_secrets("https://me:secret@example.org/news.svm?key=secret")
    'https://example.org/news.svm?...'
    >>> without_secrets("'http://example.org/subjects#17' is no label")
    "'http://example.org/subjects#17' is no label"
    """
    return _URL.sub(lambda url: url[1] + url[2] + ("?..." if url[3] else ""), text)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, whose plural has an s: ``1 label``, ``1,200 labels``."""
    return f"{count:,} {noun}" + "s" * (count != 1)


def one_line(text: str) -> str:
    """Escape control characters. File names and label names may contain any character."""
    return "".join(repr(character)[1:-1] if category(character) in _CONTROLS else character for character in text)


class DataError(MpuError, ValueError):
    """Arrays or parameters that cannot be used. Also a ValueError, as Python callers expect for a bad argument."""


class InputError(MpuError):
    """Bad input, with the file and perhaps the line.

    Parameters
    ----------
    source : str
        The file as the user named it.
    line : int or None
        Line number, from 1; None where the whole file is meant.
    problem : str
        What is wrong there, and what to do.
    """

    def __init__(self, source: str, line: int | None, problem: str) -> None:
        self.source = shown(source)
        self.line = line
        self.problem = problem
        place = self.source if line is None else f"{self.source}:{line}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[type, tuple[str, int | None, str]]:
        return type(self), (self.source, self.line, self.problem)  # for other processes


class ModelError(MpuError):
    """A model directory that cannot be read: missing, damaged, or of an unknown format version."""


class BusyError(MpuError):
    """Another process uses the same files. The same run can succeed later."""

    exit_status = os.EX_TEMPFAIL  # 75


class ClusterError(MpuError):
    """A cluster that cannot be reached, cannot be used, or has failed."""


class OverlapError(MpuError):
    """One file of a command would overwrite another. Nothing has been read or written."""

    exit_status = 2


class TargetError(MpuError):
    """An output is to go where this program does not write. Nothing has been read or written."""

    exit_status = 2


class OverflowingError(MpuError):
    """Numbers that may exceed the range of 32-bit floats during computation."""

    def __init__(self) -> None:
        super().__init__(
            "weights or scores leave the range of 32-bit numbers: bring the feature values to the order of 1, or give "
            "less extreme options"
        )

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()


class TooLargeError(MpuError):
    """The request would not fit in memory. The message states the size needed."""
