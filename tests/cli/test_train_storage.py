"""``mpu train --cache``."""

from pathlib import Path

import numpy as np
import pytest

from mpu_cli.svmlight import reader
from tests.cli.training import QUICK, TINY, message
from tests.endurance.commands import model_files


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    """Instances with few of many features, and labels that depend on them."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("wide") / "wide.svm"
    with path.open("w") as file:
        for _ in range(1500):
            indices = np.unique(rng.integers(0, 300, 12))
            labels = np.unique(indices[indices < 40] // 8)
            file.write(",".join(map(str, labels)) + "".join(f" {i}:{rng.random():.3f}" for i in indices) + "\n")
    return path


@pytest.fixture(params=["dense", "sparse"])
def source(request, digits, wide) -> Path:
    return digits[0] if request.param == "dense" else wide


def test_the_model_is_the_same_bytes_from_a_cache(run, source, tmp_path, monkeypatch):
    models = []
    for number in range(3):
        if number == 2:
            monkeypatch.setattr(reader, "read", None)  # no more parsing
        models.append(tmp_path / f"{number}.mpu")
        cache = ("--cache", tmp_path / "cache") if number else ()
        assert run("train", source, "-o", models[-1], *QUICK, *cache).exit_code == 0
    first, *others = (model_files(model) for model in models)
    assert all(other == first for other in others)


def test_a_cache_that_is_a_file_is_wrong_usage(run, tmp_path):
    (tmp_path / "tiny.svm").write_text(TINY)
    assert run("train", tmp_path / "tiny.svm", *QUICK, "--cache", tmp_path / "tiny.svm").exit_code == 2


def test_a_cache_that_cannot_be_made_is_an_error(run, tmp_path):
    (tmp_path / "tiny.svm").write_text(TINY)
    directory = tmp_path / "tiny.svm" / "cache"
    line = message(run("train", tmp_path / "tiny.svm", *QUICK, "--cache", directory))
    assert line == f"error: {directory}: parsed data cannot be kept there: Not a directory"
    assert not (tmp_path / "tiny.mpu").exists()
