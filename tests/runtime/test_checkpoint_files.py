"""Finished steps of a training are kept, found again, and worth nothing once damaged or of another training."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.core import sgd
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.model import thresholds
from mpu_cli.core.train import algorithm
from mpu_cli.errors import ModelError
from mpu_cli.runtime import checkpoint_files
from mpu_cli.runtime.checkpoint_files import fingerprint, folder_of, open_checkpoints
from mpu_cli.runtime.run import DEFAULT_RUN, Checkpoints, Run
from mpu_cli.runtime.storage import Workspace
from tests.core.simulated import as_features, hide, linear_problem
from tests.core.train.test_training import as_bytes
from tests.endurance.resume import survive
from tests.kernels import AVAILABLE

KEY = "0123456789abcdef" * 4


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "news.mpu.resume"


@pytest.fixture
def steps(folder):
    with open_checkpoints(folder, KEY) as steps:
        yield steps


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_is_beside_the_model(tmp_path):
    assert folder_of(tmp_path / "news.mpu") == tmp_path / "news.mpu.resume"


def test_what_a_step_found_is_found_again(folder, steps):
    assert steps.load("level 0") is None
    found = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "c": 0.25, "predictable": True}
    assert steps.load_or_compute("level 0", lambda: found) is found
    with open_checkpoints(folder, KEY) as later:
        assert later.n_steps == 1
        again = later.load_or_compute("level 0", lambda: pytest.fail("taken twice"))
        assert later.load("level 0, fold 0") is None
    assert again["weights"].dtype == np.float32
    np.testing.assert_array_equal(again["weights"], found["weights"])
    assert (float(again["c"]), bool(again["predictable"])) == (0.25, True)


def damages(path):
    content = path.read_bytes()
    yield "cut short", content[: len(content) // 2]
    yield "empty", b""
    for place in range(0, len(content), 97):
        flipped = bytearray(content)
        flipped[place] ^= 0x10
        yield f"flipped bit at {place}", bytes(flipped)


def test_a_damaged_step_is_taken_again(folder, steps):
    steps.save("choose C", lambda: {"cost": 30.0})
    (path,) = folder.iterdir()
    for what, content in damages(path):
        path.write_bytes(content)
        assert steps.load("choose C") is None, what
        steps.save("choose C", lambda: {"cost": 30.0})
        assert names(folder) == [path.name]


def test_no_pickle_is_loaded(folder, steps):
    steps.save("choose C", lambda: {"cost": np.array([{}], dtype=object)})
    assert steps.load("choose C") is None


def test_steps_of_other_data_are_removed_but_nothing_else(folder):
    with open_checkpoints(folder, "f" * 64) as others:
        others.save("choose C", lambda: {"cost": 1.0})
    (folder / ".writing-77").write_bytes(b"half of a step that was being written at a kill")
    (folder / "notes.txt").write_text("mine")
    with open_checkpoints(folder, KEY) as steps:
        assert steps.n_steps == 0
        assert steps.load("choose C") is None
        assert names(folder) == ["notes.txt"]
        steps.save("choose C", lambda: {"cost": 2.0})
        steps.remove()
    assert names(folder) == ["notes.txt"]


def test_an_empty_folder_goes(folder):
    with open_checkpoints(folder, KEY):
        assert folder.is_dir()
    assert not folder.exists()


def test_a_file_in_the_place_of_the_folder(folder):
    folder.write_text("mine")
    with (
        pytest.raises(ModelError, match=r"news\.mpu\.resume: cannot be written"),
        open_checkpoints(folder, KEY),
    ):
        pass
    assert folder.read_text() == "mine"


# What makes a training another one


@pytest.fixture(scope="module")
def problem() -> tuple[csr_array, csr_array]:
    X, Y = linear_problem(90, 6, 4)
    return as_features(X), hide(Y, 0.3)


def options(**changes) -> algorithm.Options:
    return algorithm.Options(folds=3, epochs=2, **changes)


def test_the_key_is_that_of_the_content(problem):
    def key(matrix=problem[0], labels=problem[1], asked=None, method="mpu", start=None, run=DEFAULT_RUN):
        return fingerprint(run, method, matrix, labels, asked or options(), start)

    value, moved = problem[0].copy(), problem[1].copy()
    value.data[5] = np.nextafter(value.data[5], 2)
    moved.indices[0] = (moved.indices[0] + 1) % 4
    others = [
        key(matrix=value),
        key(matrix=problem[0][:, :5]),
        key(labels=moved),
        key(method="br"),
        key(start=1),
        *(key(asked=options(**{name: value})) for name, value in {
            "c": 0.5, "cost": 1.0, "levels": 3, "threshold": 0.5, "stack_scale": 0.1, "sample": 50,
        }.items()),
        *(key(asked=options(c=np.full(4, c))) for c in (0.5, 0.25)),
        key(asked=replace(options(), epochs=5)),
        key(run=Run(seed=1)),
    ]  # fmt: skip
    assert len({key(), *others}) == 1 + len(others)
    copies = (matrix.copy() for matrix in problem)
    assert key(*copies, run=Run(jobs=2, empty=Workspace(0).empty)) == key()


def test_the_key_is_that_of_the_kernel_and_the_versions(problem, monkeypatch):
    keys = {fingerprint(Run(kernel=name), *problem) for name in AVAILABLE}
    for module in (checkpoint_files, np):
        with monkeypatch.context() as patch:
            patch.setattr(module, "__version__", "0")
            keys.add(fingerprint(DEFAULT_RUN, *problem))
    assert len(keys) == len(AVAILABLE) + 2


# Interrupted after any step


class StoppedError(Exception):
    pass


class InterruptedAfter(Checkpoints):
    """Hands checkpoints on, and interrupts the training after some of them."""

    def __init__(self, checkpoints: Checkpoints, n_steps: int) -> None:
        self.checkpoints, self.left = checkpoints, n_steps

    def load(self, step):
        return self.checkpoints.load(step)

    def save(self, step, found):
        self.checkpoints.save(step, found)
        self.left -= 1
        if not self.left:
            raise StoppedError


# 3 levels: c, C (with the predictions of level 0), level 0, levels 1 and 2 with 3 folds each
STEPS = 11


@pytest.fixture(scope="module")
def undisturbed(problem):
    return algorithm.train(Problem(*problem), options(levels=3))


@pytest.mark.parametrize("n_steps", range(1, STEPS + 1))
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_resumed_model_is_the_same_bytes_and_nothing_is_learned_twice(
    problem, undisturbed, folder, monkeypatch, n_steps, jobs
):
    asked, run = options(levels=3), Run(jobs=jobs)
    expected, report = undisturbed
    others = set(threading.enumerate())  # such as those of Dask, which never end
    with open_checkpoints(folder, KEY) as steps, pytest.raises(StoppedError):
        algorithm.train(Problem(*problem), asked, replace(run, checkpoints=InterruptedAfter(steps, n_steps)))
    for thread in set(threading.enumerate()) - others:  # what they were at is not of the training below
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join()
    learned = []
    train_block = sgd.train_block
    monkeypatch.setattr(sgd, "train_block", lambda *args: learned.append(args) or train_block(*args))
    with open_checkpoints(folder, KEY) as steps:
        assert steps.n_steps == n_steps
        model, again = algorithm.train(Problem(*problem), asked, replace(run, checkpoints=steps))
        steps.remove()
    assert as_bytes(model) == as_bytes(expected)
    assert (again.c.tolist(), again.settings, again.level_f1, again.expected_f1) == (
        report.c.tolist(), report.settings, report.level_f1, report.expected_f1,
    )  # fmt: skip
    if n_steps >= 2:  # beyond the choice of C, whose length is its own
        assert len(learned) == STEPS - n_steps
    assert not folder.exists()


def test_a_single_pass_is_one_step(problem, folder):
    asked = replace(options(levels=1, c=0.7, cost=3.0, sample=30), epochs=1)
    expected, report = algorithm.train(Problem(*problem), asked)
    with open_checkpoints(folder, KEY) as steps, pytest.raises(StoppedError):
        algorithm.train(Problem(*problem), asked, Run(checkpoints=InterruptedAfter(steps, 1)))
    with open_checkpoints(folder, KEY) as steps:
        model, again = algorithm.train(Problem(*problem), asked, Run(checkpoints=steps))
        steps.remove()
    assert as_bytes(model) == as_bytes(expected)
    assert again.expected_f1 == report.expected_f1


# The command


@pytest.mark.slow
def test_killed_trainings_are_gone_on_with(tmp_path):
    """As `make endurance` does for longer."""
    assert survive(2, seed=2, folder=tmp_path)["kills"] == 2


def count(folder) -> int:
    return len(list(folder.glob("*.npz")))


def test_other_options_begin_anew(run, tiny_data, tmp_path):
    model = tmp_path / "tiny.mpu"
    folder = folder_of(model)
    folder.mkdir()
    with open_checkpoints(folder, KEY) as steps:
        steps.save("level 0", lambda: {"weights": np.zeros((9, 9))})
    assert run("train", tiny_data, "-o", model, "--c", 1, "--cost", 1).exit_code == 0
    assert count(folder) == 1  # left alone without --resume
    result = run("train", tiny_data, "-o", model, "--c", 1, "--cost", 1, "--resume")
    assert result.exit_code == 0
    assert "taken over" not in result.stderr
    assert not folder.exists()


@pytest.fixture
def tiny_data(tmp_path):
    path = tmp_path / "tiny.svm"
    path.write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n3 3:0.5\n 1:1 3:2\n")
    return path


def test_the_number_of_steps_taken_over_is_told(run, tiny_data, tmp_path, monkeypatch):
    model = tmp_path / "tiny.mpu"
    arguments = ("train", tiny_data, "-o", model, "--c", 1, "--cost", 1, "--resume", "--log-format", "json")

    def broken(*_):
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(thresholds, "expected_f1", broken)
        with pytest.raises(StoppedError):
            run(*arguments)
    kept = count(folder_of(model))
    assert kept >= 4
    lines = [json.loads(line) for line in run(*arguments).stderr.splitlines()]
    assert [line["steps"] for line in lines if "steps" in line] == [kept]


@pytest.mark.parametrize("method", ["elkan08", "m3l-linear", "m3l-rbf"])
def test_methods_without_steps_refuse(run, tiny_data, method):
    result = run("train", tiny_data, "--method", method, "--resume")
    assert result.exit_code == 2
    assert "--resume is an option of mpu and br" in result.stderr
