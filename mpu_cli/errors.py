"""Errors, and functions to format messages.

Every error that a user can fix is an `MpuError`. The command line prints it as ``error: ...`` and exits with its
status. Any other exception that reaches the user is a bug.
"""

import os
import re
from collections.abc import Iterable

STANDARD_STREAM = "-"
# Control characters, and line and paragraph separators.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Bytes of file names and arguments that are not UTF-8, as Python represents them.
_BYTE = re.compile("[\udc80-\udcff]")
# Characters that change the direction of the text around them, so that it is displayed differently.
_DIRECTION = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MOST_CHARACTERS = 10_000  # of a message: longer ones quote foreign input
_WORD = re.compile(r"\S+")
# After the protocol of a URL: user and password, which may contain a slash if the apparent port is not a number.
_USER = re.compile(r"\A(?:[^/]*@|[^/:\[]*:(?![0-9]+(?:[/?#'\"),;:.\s]|\Z)).*@)", re.DOTALL)
_AFTER = "'\"),;:."  # a URL in a message
_LEFT_OUT = re.compile(r"\.\.\.(?:['\"),;:.\s]|\Z)")


class MpuError(Exception):
    """A failed run. The message explains the problem and how to fix it.

    Attributes
    ----------
    exit_status : int
        Exit status of the command line.
    """

    exit_status = 1


class MpuWarning(UserWarning):
    """A reason not to trust a result. Python callers get it by `warnings.warn`."""


def shown(path: object, stream: str = "input") -> str:
    """Return the name of a file for messages: ``-`` becomes ``standard input`` or ``standard output``.

    A URL is shown without the parts that may be secret.
    """
    return f"standard {stream}" if str(path) == STANDARD_STREAM else _without_secrets(str(path))


def without_secrets(text: str) -> str:
    """Return a text for a message: remove users, passwords and queries from URLs, and the middle of a long text.

    Examples
    --------
    >>> without_secrets("https://me:secret@example.org/news.svm?key=secret")
    'https://example.org/news.svm?...'
    >>> without_secrets("'http://example.org/subjects#17' is no label")
    "'http://example.org/subjects#17' is no label"
    """
    if len(text) > _MOST_CHARACTERS:  # leave out whole words: a part of a URL may be secret
        half = _MOST_CHARACTERS // 2
        text = " ".join([*text[:half].split()[:-1], "[...]", *text[-half:].split()[1:]])
    return _WORD.sub(lambda word: _without_secrets(word[0]), text)


def _without_secrets(word: str) -> str:
    """Do the same for a word, or a name with blanks in it: everything after a protocol may belong to the URL."""
    public = tail = ""
    before, mark, url = word.partition("://")
    while mark:
        if "@" in url:
            url = _USER.sub("", url)
        if not tail:
            url, tail, query = url.partition("?")
            if tail:
                tail += query if _LEFT_OUT.match(query) else "..." + query[len(query.rstrip(_AFTER)) :]
        public += before + mark
        before, mark, url = url.partition("://")
    return public + before + tail


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, with a plural in s: ``1 label``, ``1,200 labels``."""
    return f"{count:,} {noun}" + "s" * (count != 1)


def abridged(texts: Iterable[object], count: int) -> str:
    """Join the first of `count` texts; ``...`` at the end represents the others."""
    listed = list(map(str, texts))
    return ", ".join(listed) + ", ..." * (count > len(listed))


def one_line(text: str) -> str:
    """Escape control characters. File names and label names may contain any character."""
    return CONTROL.sub(_escaped, as_unicode(text))


def as_unicode(text: str) -> str:
    """Write bytes that are not UTF-8 as shells take them, such as ``\\xff``. File names may contain any byte."""
    return _BYTE.sub(lambda byte: f"\\x{ord(byte[0]) - 0xDC00:x}", text)


def for_terminal(text: str) -> str:
    """Escape control characters and those that change the direction of writing, for display to people."""
    return _DIRECTION.sub(_escaped, one_line(text))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


class DataError(MpuError, ValueError):
    """Arrays or parameters that cannot be used. Also a ValueError, as Python callers expect for a bad argument."""


class InputError(MpuError):
    """Bad input, with the file and perhaps the line.

    Parameters
    ----------
    source : str, Path or Files
        The file as the user named it.
    problem : str
        The problem, and how to fix it.
    line : int or None
        Line number, from 1; None for the whole file.
    """

    def __init__(self, source: object, problem: str, line: int | None = None) -> None:
        self.source = shown(source)
        self.problem = problem
        self.line = line
        place = self.source if line is None else f"{self.source}:{line}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[type, tuple[str, str, int | None]]:
        return type(self), (self.source, self.problem, self.line)  # to send it to other processes


def changed(source: object) -> InputError:
    """Return the error for a file that has changed since it was first read."""
    return InputError(source, "changed while it was being read; try again")


class ModelError(MpuError):
    """A model directory that cannot be read: missing, damaged, or of an unknown format version."""


class BusyError(MpuError):
    """Another process uses the same files. The same run can succeed later."""

    exit_status = os.EX_TEMPFAIL  # 75


class RejectedError(MpuError):
    """A model that is not good enough to replace the present one, which is kept, or for ``--fail-below``."""

    exit_status = 3


class ClusterError(MpuError):
    """A cluster that cannot be reached, cannot be used, or has failed."""


class FilesError(MpuError):
    """Files that a command cannot use: one would overwrite another, or cannot be written. Nothing has been read."""

    exit_status = 2


class OverflowingError(MpuError):
    """Numbers that may exceed the range of 32-bit floats during computation."""

    def __str__(self) -> str:
        return (
            "weights or scores exceed the range of 32-bit floats: scale the feature values to about 1, or give less "
            "extreme options"
        )


class TooLargeError(MpuError):
    """A request that does not fit in memory. The message states the size needed."""
