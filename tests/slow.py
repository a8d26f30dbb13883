"""Cases of a test that `make test` leaves out."""

import pytest


def slow(*cases):
    """Return cases for `pytest.mark.parametrize`, each a value or a tuple of them, that are marked slow."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]
