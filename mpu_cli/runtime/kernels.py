"""The choice of inner loops: NumPy, the reference, or compiled by numba (extra ``fast``)."""

import importlib.util
import logging
from collections.abc import Callable
from threading import Lock

from mpu_cli.errors import MpuError

_log = logging.getLogger(__name__)

NAMES = ("numpy", "numba")
_announced: set[Callable] = set()
_announcing = Lock()  # the kernels run in threads


def refuse_missing(name: str | None) -> None:
    """Raise MpuError if numba is requested and not installed."""
    if name == "numba" and not _numba_installed():
        raise MpuError("numba is not installed; install it with: pip install numba")


def compiled(name: str | None) -> bool:
    """Whether compiled kernels run. None means: if numba is installed."""
    return _numba_installed() if name is None else name == "numba"


def announce_compilation(*, kept: bool) -> None:
    """Log, once, that functions will be compiled. `kept`: whether the next process will find their machine code."""
    if _first(announce_compilation):
        _log.info(f"compiling the fast kernels{', once' if kept else ''} (numba)...")


def announce_no_cache(reason: Exception | str) -> None:
    """Log, once, why machine code cannot be kept, and what to do."""
    if _first(announce_no_cache):
        _log.debug(
            f"compiled kernels are not kept, so each run compiles them: {reason}; "
            "set NUMBA_CACHE_DIR to a directory that only you can write"
        )


def _first(announcement: Callable) -> bool:
    """Whether an announcement has not been made before in this process."""
    with _announcing:
        new = announcement not in _announced
        _announced.add(announcement)
        return new


def _numba_installed() -> bool:
    return importlib.util.find_spec("numba") is not None
