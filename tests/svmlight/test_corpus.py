"""Replay the corpus of the fuzzer."""

from pathlib import Path

import pytest

from tests.svmlight.corpus import replay

pytestmark = pytest.mark.usefixtures("kernel")

INPUTS = sorted((Path(__file__).parent / "corpus" / "inputs").iterdir())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_input(path):
    replay(path.read_bytes())
