"""What fuzzing has tried: records of texts, and changes to the directory beside data."""

from pathlib import Path

import pytest

from tests.text.corpus import replay_directory, replay_records

INPUTS = Path(__file__).parent / "corpus" / "inputs"


@pytest.mark.parametrize("name", sorted(path.name for path in (INPUTS / "texts").iterdir()))
def test_records(name, tmp_path):
    replay_records((INPUTS / "texts" / name).read_bytes(), tmp_path)


@pytest.mark.parametrize("name", sorted(path.name for path in (INPUTS / "directories").iterdir()))
def test_directories(name, tmp_path):
    replay_directory((INPUTS / "directories" / name).read_bytes(), tmp_path)
