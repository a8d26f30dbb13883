"""Which inner loops there are: NumPy's, and those that numba compiles, where it is installed."""

import importlib.util


def numba_installed() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None
