"""Replay the corpus of the fuzzer."""

from pathlib import Path

import pytest

from tests.names.corpus import replay

INPUTS = sorted((Path(__file__).parent / "corpus" / "inputs").iterdir())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_input(path, tmp_path):
    replay(path.read_bytes(), tmp_path)
