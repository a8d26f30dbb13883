"""What fuzzing has tried: records, directories, thesauri, paths, predictions, models and names; each is replayed."""

from pathlib import Path

import pytest

from tests.bundle.corpus import replay as replay_model
from tests.evaluation.corpus import replay as replay_predictions
from tests.names.corpus import replay as replay_names
from tests.text.corpus import replay_directory, replay_records, replay_thesaurus

REPLAYS = {
    "bundle/corpus/inputs": replay_model,
    "evaluation/corpus/inputs": replay_predictions,
    "names/corpus/inputs": replay_names,
    "text/corpus/inputs/texts": replay_records,
    "text/corpus/inputs/directories": replay_directory,
    "text/corpus/inputs/thesauri": replay_thesaurus,
}
INPUTS = [(folder, path) for folder in REPLAYS for path in sorted((Path(__file__).parent / folder).iterdir())]


@pytest.mark.parametrize(("folder", "path"), INPUTS, ids=lambda value: getattr(value, "name", value))
def test_input(folder, path, tmp_path):
    REPLAYS[folder](path.read_bytes(), tmp_path)
