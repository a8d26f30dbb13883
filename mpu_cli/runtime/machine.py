"""What this machine has: memory, and numba, which compiles inner loops."""

import importlib.util
import os
import resource
import sys
from pathlib import Path


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


def numba_installed() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None
