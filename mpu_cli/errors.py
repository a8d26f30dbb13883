"""Errors, and what messages have in common.

Every error that a user can fix is an `MpuError`. The command line prints it as ``error: ...`` and exits with its
status. Any other exception that reaches the user is a bug.
"""

import os
import re
from collections.abc import Iterable

STANDARD_STREAM = "-"
# Control characters, and those that separate lines or paragraphs.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# By which what follows, or what is before, is shown as another text than it is.
_DIRECTION = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MOST_CHARACTERS = 10_000  # of a message: the rest is what strangers have written
_WORD = re.compile(r"\S+")
# After the protocol of a URL: user and password, in which there is a slash where what seems to be a port is none.
_USER = re.compile(r"\A(?:[^/]*@|[^/:\[]*:(?![0-9]+(?:[/?#'\"),;:.\s]|\Z)).*@)", re.DOTALL)
_AFTER = "'\"),;:."  # a URL in a message
_LEFT_OUT = re.compile(r"\.\.\.(?:['\"),;:.\s]|\Z)")


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
    return f"standard {stream}" if str(path) == STANDARD_STREAM else _without_secrets(str(path))


def without_secrets(text: str) -> str:
    """Return a text for a message: its URLs have neither user, password nor query, and a long one lacks its middle.

    Examples
    --------
    >>> without_secrets("https://me:secret@example.org/news.svm?key=secret")
    'https://example.org/news.svm?...'
    >>> without_secrets("'http://example.org/subjects#17' is no label")
    "'http://example.org/subjects#17' is no label"
    """
    if len(text) > _MOST_CHARACTERS:  # whole words are left out: of a URL, a part may be a secret
        half = _MOST_CHARACTERS // 2
        text = " ".join([*text[:half].split()[:-1], "[...]", *text[-half:].split()[1:]])
    return _WORD.sub(lambda word: _without_secrets(word[0]), text)


def _without_secrets(word: str) -> str:
    """Return the same of a word, or of a name with blanks in it: all after a protocol may be of the URL."""
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
    """Return a number with its noun, whose plural has an s: ``1 label``, ``1,200 labels``."""
    return f"{count:,} {noun}" + "s" * (count != 1)


def abridged(texts: Iterable[object], count: int) -> str:
    """Join texts, the first of `count`; ``...`` at the end stands for the others."""
    listed = list(map(str, texts))
    return ", ".join(listed) + ", ..." * (count > len(listed))


def one_line(text: str) -> str:
    """Escape control characters. File names and label names may contain any character."""
    return CONTROL.sub(_escaped, text)


def for_terminal(text: str) -> str:
    """Return the same for people to read: also what turns the direction of writing is escaped."""
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
    line : int or None
        Line number, from 1; None where the whole file is meant.
    problem : str
        What is wrong there, and what to do.
    """

    def __init__(self, source: object, line: int | None, problem: str) -> None:
        self.source = shown(source)
        self.line = line
        self.problem = problem
        place = self.source if line is None else f"{self.source}:{line}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[type, tuple[str, int | None, str]]:
        return type(self), (self.source, self.line, self.problem)  # for other processes


def changed(source: object) -> InputError:
    """Return the error of a file that is not what it was when it was read before."""
    return InputError(source, None, "changed while it was being read; try again")


class ModelError(MpuError):
    """A model directory that cannot be read: missing, damaged, or of an unknown format version."""


class BusyError(MpuError):
    """Another process uses the same files. The same run can succeed later."""

    exit_status = os.EX_TEMPFAIL  # 75


class RejectedError(MpuError):
    """A model that is not good enough: to take the place of the present one, which stays, or for ``--fail-below``."""

    exit_status = 3


class ClusterError(MpuError):
    """A cluster that cannot be reached, cannot be used, or has failed."""


class FilesError(MpuError):
    """Files that a command cannot have: one would overwrite another, or is no place to write. Nothing has been read."""

    exit_status = 2


class OverflowingError(MpuError):
    """Numbers that may exceed the range of 32-bit floats during computation."""

    def __init__(self) -> None:
        super().__init__(
            "weights or scores exceed the range of 32-bit floats: scale the feature values to about 1, or give less "
            "extreme options"
        )

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()


class TooLargeError(MpuError):
    """The request would not fit in memory. The message states the size needed."""
