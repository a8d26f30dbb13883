"""What fuzzing has tried: records of texts, changes to the directory beside data, thesauri, paths of fields."""

from pathlib import Path

import pytest

from tests.text.corpus import replay_directory, replay_path, replay_records, replay_thesaurus

INPUTS = Path(__file__).parent / "corpus" / "inputs"


REPLAYS = {
    "texts": replay_records,
    "directories": replay_directory,
    "thesauri": replay_thesaurus,
    "paths": replay_path,
}


@pytest.mark.parametrize("path", sorted(INPUTS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_input(path, tmp_path):
    REPLAYS[path.parent.name](path.read_bytes(), tmp_path)
