"""Which kernels the tests run with."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from mpu_cli.runtime import run

NUMBA = run.DEFAULT_RUN.compiled
AVAILABLE = ("numpy", "numba") if NUMBA else ("numpy",)


@contextmanager
def default(name: str) -> Iterator[None]:
    """Let a run that names no kernels take these."""
    with patch.object(run, "numba_installed", lambda: name == "numba"):
        yield
