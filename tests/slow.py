"""Tests, and cases of a test, that `make test` leaves out."""

import pytest

from tests.kernels import NUMBA


def slow(*cases):
    """Return cases for `pytest.mark.parametrize`, each a value or a tuple of them, that are marked slow."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]


def slow_uncompiled(test):
    """Mark a test slow where numba is not installed: it trains whole models, and NumPy takes ten times as long."""
    return test if NUMBA else pytest.mark.slow(test)
