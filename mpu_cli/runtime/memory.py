"""The memory of this process."""

import resource
import sys


def peak_bytes() -> int:
    """Return the largest resident memory so far, libraries and data mapped into memory included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
