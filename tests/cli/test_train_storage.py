"""``mpu train --memory`` and ``--cache``."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpu_cli.runtime import storage
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


def test_the_model_is_the_same_bytes_in_little_memory(run, source, tmp_path, monkeypatch):
    options = ("--levels", 3, "--epochs", 2, "--cost", 30)
    assert run("train", source, "-o", tmp_path / "all.mpu", *options, "--memory", "1G").exit_code == 0
    in_files = []
    temporary = storage._temporary
    monkeypatch.setattr(storage, "_temporary", lambda *args: in_files.append(args) or temporary(*args))
    assert run("train", source, "-o", tmp_path / "none.mpu", *options, "--memory", 0).exit_code == 0
    assert len(in_files) > 8
    assert model_files(tmp_path / "none.mpu") == model_files(tmp_path / "all.mpu")


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


@pytest.mark.parametrize("size", ["0", "12345", "500M", "500m", "1.5G", "2GB", "1T", "7k"])
def test_sizes(run, tmp_path, size):
    (tmp_path / "tiny.svm").write_text(TINY)
    assert run("train", tmp_path / "tiny.svm", *QUICK, "--memory", size).exit_code == 0


@pytest.mark.parametrize("size", ["", "M", "-1", "5X", "1e3", "1,5G", "half", "inf"])
def test_what_is_no_size_is_wrong_usage(run, tmp_path, size):
    (tmp_path / "tiny.svm").write_text(TINY)
    result = run("train", tmp_path / "tiny.svm", *QUICK, f"--memory={size}")
    assert result.exit_code == 2
    assert "is not a size such as 500M or 2G" in result.stderr


def test_a_full_disk_is_one_line_and_leaves_nothing(wide, tmp_path):
    """A limit on the size of files stands for the disk."""
    command = [sys.executable, "-m", "mpu_cli", "train", wide, "-o", tmp_path / "m.mpu", *map(str, QUICK)]
    command += ["--memory=0", "--kernel=numpy"]
    limit = (50_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    result = subprocess.run(
        command,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "MB of temporary data cannot be written: File too large; set TMPDIR" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "m.mpu").exists()
