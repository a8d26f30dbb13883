"""Memory-mapped arrays, and how much memory there is."""

import os
import resource
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np


def mapped(
    file: Any, dtype: type, shape: int | tuple[int, ...], *, mode: Literal["r", "c"], offset: int = 0
) -> np.ndarray:
    """Return part of an open file, from an offset in bytes on, as an array; the file may be closed.

    By the mode, nothing can be changed ("r"), or changes stay with this process ("c").
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
