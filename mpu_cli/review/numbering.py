"""Checksums by which a file that numbers instances belongs to its data.

A checksum is written as a line of comment, ``# checksum`` and 64 digits. It is that of the features, in the order of
the instances, as they were read. So it is the same for a file, its compressed copy and the same bytes on standard
input, and when labels are added or removed, which changes no number. It differs if instances are added, removed or
reordered.
"""

import hashlib
import re
from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, shown
from mpu_cli.svmlight.streams import Source

_ENTRIES = 1 << 20
_WRITTEN = re.compile(r"checksum\s+(\S+)", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


def checksum(features: csr_array) -> str:
    """Return the SHA-256, hexadecimal, of features: the number of entries of each instance, their indices and values.

    Examples
    --------
    >>> one, other = (csr_array(np.array(rows, np.float32)) for rows in ([[1, 2], [3, 4]], [[3, 4], [1, 2]]))
    >>> checksum(one) == checksum(one.copy()), checksum(one) == checksum(other)
    (True, False)
    """
    return checksum_of_parts([np.diff(features.indptr)], [features.indices], [features.data])


def checksum_of_parts(sizes: Iterable[np.ndarray], indices: Iterable[np.ndarray], values: Iterable[np.ndarray]) -> str:
    """Return the same checksum from parts of these three."""
    digest = hashlib.sha256()
    for arrays, kind in ((sizes, "<i8"), (indices, "<i8"), (values, "<f4")):
        for numbers in arrays:
            for start in range(0, len(numbers), _ENTRIES):
                digest.update(numbers[start : start + _ENTRIES].astype(kind).tobytes())
    return digest.hexdigest()


def comment(checksum: str) -> str:
    """Return the line of comment with the checksum."""
    return f"# checksum {checked(checksum)}\n"


def checked(checksum: str) -> str:
    """Return a checksum in lower case; ValueError if it is none."""
    if not _DIGITS.fullmatch(checksum):
        raise ValueError("the checksum is damaged; it has 64 digits, of 0-9 and a-f")
    return checksum.lower()


def find(source: str, comments: Iterable[tuple[int, str]]) -> str | None:
    """Find the checksum in the comments of a file; None without one.

    Raises
    ------
    InputError
        A checksum is damaged, or there are two different ones.
    """
    before = None
    for number, text in comments:
        if not text.lower().startswith("checksum"):
            continue
        match = _WRITTEN.fullmatch(text)
        try:
            checksum = checked(match[1] if match else "")
        except ValueError as error:
            raise InputError(source, number, str(error)) from None
        if before not in (None, checksum):
            raise InputError(source, number, "there are two different checksums; are these two files in one?")
        before = checksum
    return before


def check(file: str, theirs: str | None, own: str, source: Source) -> None:
    """Refuse a file with the checksum of other data; one without checksum is accepted.

    Parameters
    ----------
    file : str
    theirs : str or None
        The checksum in the file.
    own : str
        The checksum of the data.
    source : str, Path or Files
        The file of the data, as the user named it.
    """
    if theirs not in (None, own):
        raise InputError(
            file,
            None,
            f"it was made for other data than {shown(source)}, or for the same before instances or features changed "
            "(its checksum differs), so its numbers may mean other instances; give its own data, or remove the line "
            "'# checksum ...' if you know that the numbers are right",
        )


def no_instance(instance: int, source: Source, n: int) -> str:
    """Return the message that there are only n instances."""
    return f"there is no instance {instance + 1}: {shown(source)} has {n}; was this file made for another one?"
