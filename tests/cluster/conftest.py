"""Instances in files, and a cluster with real processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from dask import config
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from mpu_cli.cluster import Address
from mpu_cli.core.options import Options
from mpu_cli.inputs.training_data import TrainingFiles
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import Files
from tests.core.simulated import hide, linear_problem

# What large data get by default, which these few are to be learned like.
OPTIONS = Options(epochs=1, folds=2, sample=100, levels=2)
LARGE = ("--epochs", "1", "--folds", "2", "--sample", "100", "--levels", "2")


def write_parts(folder: Path, n_parts: int = 4, seed: int = 0) -> list[str]:
    """Write 100 instances per part."""
    X, Y = linear_problem(100 * n_parts, 8, 5, seed)
    X, labels = csr_array(np.where(abs(X) > 0.8, X, 0)), hide(Y, 0.3)
    paths = [str(folder / f"part-{number}.svm") for number in range(n_parts)]
    for number, path in enumerate(paths):
        rows = slice(100 * number, 100 * (number + 1))
        dump_svmlight_file(X[rows], labels[rows], path, zero_based=False, multilabel=True)
    return paths


@pytest.fixture
def files(tmp_path) -> list[str]:
    return write_parts(tmp_path)


@pytest.fixture
def sources(files) -> TrainingFiles:
    return TrainingFiles(Files(files))


@pytest.fixture
def on(processes) -> Iterator[Address]:
    with config.set({"mpu.timeout": 30}):
        yield Address(processes.address)


def at(phase: str, act) -> Run:
    """Return a run in which something is done as a step begins."""

    @contextmanager
    def observe(name, ticks=None):
        if name == phase:
            act()
        yield lambda: None

    return Run(step=observe)
