"""Finding missing labels on a cluster of real processes, one of which dies."""

from pathlib import Path

import pytest

from mpu_cli.commands.suggest import Outputs, suggest
from mpu_cli.core.suggest.suggestions import Choice
from tests.cluster.conftest import OPTIONS, at
from tests.slow import slow


def listed(sources, on, target: Path, run) -> bytes:
    suggest(sources, Outputs(target=target), OPTIONS, Choice(top=100), on=on, run=run)
    return target.read_bytes()


@pytest.mark.parametrize("phase", slow("fetch labels", "level 0", "level 1"))
def test_a_worker_that_dies_changes_nothing(sources, on, processes, tmp_path, phase):
    expected = listed(sources, on, tmp_path / "a.tsv", at("", None))
    assert listed(sources, on, tmp_path / "b.tsv", at(phase, processes.kill_worker)) == expected
