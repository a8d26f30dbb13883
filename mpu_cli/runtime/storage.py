"""Arrays in memory up to a limit, and beyond it in memory-mapped temporary files; how much memory there is.

When memory is short, the system writes pages of a mapped file to disk and reads them again later. Results do not depend
on where an array is.
"""

import math
import os
import resource
import sys
import tempfile
from pathlib import Path
from threading import Lock
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np

from mpu_cli.errors import MpuError

_PAGE = 4096  # a smaller array is not worth a file


class Workspace:
    """Allocates arrays: in memory as long as all of them together stay within a limit, then in files.

    The files are in the temporary directory (``TMPDIR``) and have no name. So nothing is left of them, however the
    process ends.

    `limit`: bytes of the arrays in memory at a time. Arrays that are no longer used do not count.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_memory: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()
        self._lock = Lock()

    def empty(self, shape: int | tuple[int, ...], dtype: type = float) -> np.ndarray:
        """Return an array with arbitrary content, as `numpy.empty` does.

        Raises MpuError (there is no room for it in the temporary directory).
        """
        n_bytes = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        with self._lock:
            used = sum(array.nbytes for array in self._in_memory.values())
            if n_bytes < _PAGE or used + n_bytes <= self._limit:
                array: np.ndarray = np.empty(shape, dtype)
                self._in_memory[id(array)] = array
                return array
        return _temporary(shape, dtype, n_bytes)


def _temporary(shape: int | tuple[int, ...], dtype: type, n_bytes: int) -> np.ndarray:
    """Return an array in a file that has no name."""
    try:
        with tempfile.TemporaryFile() as file:
            _reserve(file.fileno(), n_bytes)
            return mapped(file, dtype, shape, mode="r+")
    except OSError as error:
        raise MpuError(
            f"{tempfile.gettempdir()}: {n_bytes / 1e6:,.0f} MB of temporary data cannot be written: {error.strerror}; "
            "set TMPDIR to a directory with more room, or give more --memory"
        ) from error


def _reserve(descriptor: int, n_bytes: int) -> None:
    """Give a file this size, with its space on disk: a process that touches a mapped page without space is killed."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, n_bytes)
    else:
        os.truncate(descriptor, n_bytes)


def mapped(
    file: Any, dtype: type, shape: int | tuple[int, ...], *, mode: Literal["r", "r+", "c"], offset: int = 0
) -> np.ndarray:
    """Return part of an open file, from an offset in bytes on, as an array; the file may be closed.

    By the mode, changes go to the file ("r+") or stay with this process ("c").
    """
    if not np.prod(shape):
        return np.empty(shape, dtype)  # a map cannot be empty
    return np.asarray(np.memmap(file, dtype, mode, offset, shape))  # plain: the compiled kernels know no other arrays


def available_memory() -> int:
    """Bytes that can be used without swapping, or the memory of the machine if the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return machine_memory()


def machine_memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def peak_bytes() -> int:
    """Return the largest resident memory so far, libraries and data mapped into memory included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
