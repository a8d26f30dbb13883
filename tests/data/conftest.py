"""The scripts in data/ as modules."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def script(monkeypatch):
    """Import a script of data/ by name, as Python sees it when it is run from there."""
    monkeypatch.syspath_prepend(DATA)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load
