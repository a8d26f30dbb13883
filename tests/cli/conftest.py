import shutil
from pathlib import Path

import pytest

from tests.cli.started import Started
from tests.cli.training import QUICK, TINY


@pytest.fixture
def tiny(file):
    return file(TINY, "tiny.svm")


@pytest.fixture
def start():
    """Start commands, which end with the test at the latest."""
    started = []

    def go(*arguments, **more) -> Started:
        started.append(Started(*arguments, **more))
        return started[-1]

    yield go
    for process in started:
        process.close()


def train_tiny(run, folder: Path) -> None:
    (folder / "tiny.svm").write_text(TINY)
    run.ok("train", folder / "tiny.svm", *QUICK)


@pytest.fixture
def tiny_model(made, tmp_path) -> Path:
    """A copy of the model of TINY, as a file."""
    return shutil.copytree(made(train_tiny) / "tiny.mpu", tmp_path / "tiny.mpu")
