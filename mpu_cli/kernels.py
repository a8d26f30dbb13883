"""Which inner loops run: NumPy's, which are the reference, or compiled ones (extra ``fast``, numba)."""

import importlib.util
import os
import sys

from mpu_cli.errors import MpuError

NAMES = ("numpy", "numba")
_chosen: str | None = None


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
    """Say on standard error that functions are about to be compiled, unless their machine code is in the cache."""
    for function in functions:
        folder = function.stats.cache_path
        prefix = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-"
        if not (os.path.isdir(folder) and any(name.startswith(prefix) for name in os.listdir(folder))):
            print("compiling the fast kernels, once (numba)...", file=sys.stderr)
            return


def _numba_installed() -> bool:
    return importlib.util.find_spec("numba") is not None
