"""Training of many labels on a cluster of real processes, some of which die."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpu_cli import bundle
from mpu_cli.cluster.distributed_problem import DistributedProblem, learn, read_files
from mpu_cli.commands.train import train
from mpu_cli.core import negative_sampling
from mpu_cli.core.options import Options
from mpu_cli.inputs.training_data import Sources
from mpu_cli.runtime.parallel import InProcess
from mpu_cli.runtime.run import DEFAULT_RUN
from mpu_cli.svmlight.grammar import DEFAULT_READING
from mpu_cli.svmlight.streams import Files
from tests.cluster.test_training import at
from tests.core.train.test_many_labels import as_arrays, problem
from tests.endurance.commands import model_files
from tests.slow import slow

OPTIONS = Options(c=0.7, cost=100.0, eta0=2.0, epochs=1, folds=2, sample=300, levels=2)


@pytest.fixture(autouse=True)
def few_instances_are_enough(monkeypatch):
    monkeypatch.setattr(negative_sampling, "_FEWEST_INSTANCES", 100)


@pytest.fixture
def files(tmp_path) -> list[str]:
    matrix, annotated, _ = problem()
    lines = []
    for i in range(matrix.shape[0]):
        labels, features = (part.indices[part.indptr[i] : part.indptr[i + 1]] for part in (annotated, matrix))
        lines.append(",".join(map(str, labels)) + "".join(f" {j + 1}:0.5" for j in np.unique(features)))
    paths = [tmp_path / f"part-{number}.svm" for number in range(3)]
    for path, some in zip(paths, np.array_split(lines, 3), strict=True):
        path.write_text("\n".join(some) + "\n")
    return list(map(str, paths))


def expected(files) -> list[bytes]:
    """What these parts give, whoever computes."""
    collection = read_files(InProcess(), files, DEFAULT_READING, DEFAULT_RUN)
    problem = DistributedProblem(collection, collection.ids)
    return [array.tobytes() for array in as_arrays(learn(problem, OPTIONS, DEFAULT_RUN)[0])]


def learned(path: Path) -> list[bytes]:
    return [array.tobytes() for array in as_arrays(bundle.load(path).predictor)]


@pytest.mark.parametrize("phase", slow(None, "shortlist", "level 0", "level 1"))
def test_a_worker_that_dies_changes_nothing(files, on, processes, tmp_path, phase):
    report = train(Sources(Files(files)), tmp_path / "news.mpu", OPTIONS, on=on, run=at(phase, processes.kill_worker))
    assert report.labels > 500
    assert learned(tmp_path / "news.mpu") == expected(files)


def test_one_part_gives_the_model_of_a_single_machine(files, on, tmp_path):
    one = Sources(files[0])
    train(one, tmp_path / "cluster.mpu", OPTIONS, on=on)
    train(one, tmp_path / "here.mpu", options=OPTIONS)
    assert model_files(tmp_path / "cluster.mpu") == model_files(tmp_path / "here.mpu")


def test_few_instances_are_learned_by_one_worker_as_by_a_single_machine(files, on, tmp_path, monkeypatch):
    monkeypatch.undo()  # as the worker has it
    options = replace(OPTIONS, folds=None)
    train(Sources(Files(files)), tmp_path / "cluster.mpu", options, on=on)
    train(Sources(Files(files)), tmp_path / "here.mpu", options=options)
    assert model_files(tmp_path / "cluster.mpu") == model_files(tmp_path / "here.mpu")
