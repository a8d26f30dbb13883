"""Commands with odd files and odd values, of those that fuzzing began with or found."""

import pytest

from tests.cli import corpus


@pytest.mark.parametrize("arguments", corpus.CASES, ids=lambda arguments: " ".join(arguments)[:60])
def test_command(arguments, tmp_path):
    corpus.check(arguments, tmp_path)
