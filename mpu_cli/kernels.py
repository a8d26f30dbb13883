"""Which inner loops run: NumPy's, which are the reference, or compiled ones (extra ``fast``, numba)."""

import importlib.util
import logging
from pathlib import Path
from threading import Lock

from mpu_cli.errors import MpuError

_log = logging.getLogger(__name__)

NAMES = ("numpy", "numba")
_chosen: str | None = None
_announced = False
_announcing = Lock()  # the kernels run in threads


def choose(name: str | None) -> None:
    """Choose the kernels of this process.

    Parameters
    ----------
    name : {"numpy", "numba"} or None
        None: numba where it is installed.

    Raises
    ------
    MpuError
        numba is asked for and not installed.
    """
    global _chosen
    if name == "numba" and not _numba_installed():
        raise MpuError("numba is not installed; install it with: pip install 'mpu-cli[fast]'")
    _chosen = name


def compiled() -> bool:
    """Whether compiled kernels run."""
    return _numba_installed() if _chosen is None else _chosen == "numba"


def announce_compilation(*functions) -> None:
    """Log, once, that functions are about to be compiled, unless their machine code is in the cache.

    Parameters
    ----------
    functions : numba dispatchers
        Plain functions, which they are where numba's ``NUMBA_DISABLE_JIT`` is set, are not compiled.
    """
    global _announced
    with _announcing:
        if _announced or not any(hasattr(function, "stats") and not _ready(function) for function in functions):
            return
        _announced = True
        _log.info("compiling the fast kernels, once (numba)...")


def _ready(function) -> bool:
    """Whether a function has been compiled in this process, or its machine code is in the cache."""
    if function.signatures:
        return True
    folder = Path(function.stats.cache_path)
    prefix = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-"
    return folder.is_dir() and any(path.name.startswith(prefix) for path in folder.iterdir())


def _numba_installed() -> bool:
    return importlib.util.find_spec("numba") is not None
