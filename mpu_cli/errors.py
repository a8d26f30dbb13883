"""What can go wrong, in the user's words.

Every error that a user can mend is a `MpuError`; the command line prints it as ``error: ...`` and exits with its
status. Anything else that escapes is a bug.
"""

import os

STANDARD_STREAM = "-"


class MpuError(Exception):
    """A failed run. The message says what is wrong and what to do about it.

    Attributes
    ----------
    exit_status : int
        With which the command line exits.
    """

    exit_status = 1


class MpuWarning(UserWarning):
    """What to know before a result is trusted; given to callers from Python by `warnings.warn`."""


def shown(path: object, stream: str = "input") -> str:
    """Return how messages name a file: as the user does, but ``-`` is ``standard input``, or ``standard output``."""
    return f"standard {stream}" if str(path) == STANDARD_STREAM else str(path)


class DataError(MpuError, ValueError):
    """Arrays or parameters that cannot be used. A ValueError too, as callers from Python expect of a bad argument."""


class InputError(MpuError):
    """Bad input at a known place.

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


class ModelError(MpuError):
    """A model directory that cannot be read: missing, damaged, or of an unknown format version."""


class BusyError(MpuError):
    """Another process is at work on the same thing; the same run can succeed later."""

    exit_status = os.EX_TEMPFAIL  # 75


class OverlapError(MpuError):
    """Files of one command of which one would replace another, or be lost in it. Nothing has been read or written."""

    exit_status = 2


class OverflowingError(MpuError):
    """Numbers that may leave the range of 32 bits while they are computed with."""

    def __init__(self) -> None:
        super().__init__(
            "weights or scores leave the range of 32-bit numbers: bring the feature values to the order of 1, or give "
            "less extreme options"
        )


class TooLargeError(MpuError):
    """What was asked for would not fit in memory. The message gives the size it would need."""
