import shutil
from pathlib import Path

import pytest

from tests.cli.training import QUICK, TINY


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.svm"
    path.write_text(TINY)
    return path


def train_tiny(run, folder: Path) -> None:
    (folder / "tiny.svm").write_text(TINY)
    run.ok("train", folder / "tiny.svm", *QUICK)


@pytest.fixture
def tiny_model(made, tmp_path) -> Path:
    """A copy of the model of TINY, as a file."""
    return shutil.copytree(made(train_tiny) / "tiny.mpu", tmp_path / "tiny.mpu")
