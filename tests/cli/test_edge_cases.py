"""Odd data, options, targets and environments: a clear result, or a clear error before anything is learned."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from mpu_cli import bundle
from tests.cli import corpus
from tests.cli.training import QUICK, message
from tests.golden import assert_worded


@pytest.mark.parametrize("arguments", corpus.CASES, ids=lambda arguments: " ".join(arguments)[:60])
def test_command(arguments, tmp_path):
    """Of those that fuzzing began with or found."""
    corpus.check(arguments, tmp_path)


@pytest.mark.parametrize("command", ["train", "estimate-c", "suggest"])
@pytest.mark.parametrize(
    "data, said",
    [
        ("8,5,3\n2,4,9\n5,8,1\n" * 8, "no instance has a feature"),
        ("24,9,4\n" + "1 1:1\n2 2:1\n" * 12, "if its line is a heading"),
        ("010 1:1\n011 2:1\n101 3:1\n000 4:1\n" * 6, "if they are vectors of 0 and 1"),
    ],
)
def test_data_that_may_be_something_else(run, file, command, data, said):
    """Such as a table of whole numbers, whose lines are lists of labels."""
    assert said in run.ok(command, file(data, "table.csv")).stderr


def test_permission_to_read_is_not_a_matter_of_usage(run, tiny, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    run.ok("train", tiny, *QUICK)


@pytest.mark.parametrize("command", ["train", "estimate-c", "suggest"])
def test_more_folds_than_instances_are_refused(run, file, command):
    assert "x.svm: 41 " in message(run(command, file("1 1:1\n2 2:1\n" * 20, "x.svm"), "--folds", 41))


def test_eta0_is_the_one_that_is_given(run, file):
    """Also an eta0 that is never tried, with a C that is chosen, on a sample."""
    source = file("".join(f"{i % 2} {i % 2 + 1}:1 {i % 5 + 3}:0.5\n" for i in range(60)), "x.svm")
    report = run.json("train", source, "--c", 1, "--epochs", 2, "--levels", 1, "--sample", 30, "--eta0", 3.3)
    assert report["eta0"] == 3.3
    assert report["cost"] > 0


def test_the_largest_index_costs_what_another_does(run, tmp_path, file):
    source = file(",".join(map(str, range(100))) + " 2147483646:1\n1 1:1\n", "wide.svm")
    run.ok("train", source, *QUICK)
    assert sum(file.stat().st_size for file in (tmp_path / "wide.mpu").iterdir()) < 200_000
    run.ok("predict", tmp_path / "wide.mpu", source, "-o", tmp_path / "out")
    assert len((tmp_path / "out").read_text().splitlines()) == 2


def test_dense_features_with_the_largest_indices_are_learned_without_a_kernel(run, tmp_path):
    """A model with a kernel would have landmarks as wide as the largest index."""
    draws = np.random.default_rng(0).standard_normal((120, 3))
    source = tmp_path / "wide.svm"
    lines = (f"{int(a > 0)},{2 + int(b > 0)} 7:{a:.3f} 9:{b:.3f} 2147483646:{z:.3f}\n" for a, b, z in draws)
    source.write_text("".join(lines))
    assert run.json("train", source)["features"] != "rbf"


def test_labels_of_one_instance_are_refused(run, tmp_path):
    """With 100,000 of them among 60 instances, 590 kB took more than 200 s and 2 GB."""
    source = tmp_path / "one.svm"
    others = "".join(f"{i % 3} {i % 7}:1 {i + 10}:1\n" for i in range(60))
    source.write_text(others + ",".join(map(str, range(3, 1003))) + " 1:1\n")
    message(run("train", source, *QUICK))
    source.write_text(others + ",".join(map(str, range(3, 503))) + " 1:1\n")  # as few labels as are learned together
    run.ok("train", source, *QUICK, "--epochs", 1)


def test_a_second_training_of_the_same_model_ends_and_reads_no_data(run, tmp_path):
    """What the first one holds: tests/bundle/test_locking.py."""
    os.mkfifo(tmp_path / "endless.svm")  # nobody will ever write into it
    with bundle.Writer(tmp_path / "tiny.mpu").held():
        result = run("train", tmp_path / "endless.svm", "-o", tmp_path / "tiny.mpu", "--json", "--quiet")
    assert (result.exit_code, result.stdout) == (75, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {tmp_path / 'tiny.mpu'}: is in use by process {os.getpid()} on ")


NO_NUMBERS = *(("SOURCE_DATE_EPOCH", value) for value in ("yesterday", "9" * 30, "-1")), ("NUMBA_NUM_THREADS", "0")


@pytest.mark.parametrize(("name", "value"), [*NO_NUMBERS, ("NUMBA_NUM_THREADS", "")])
def test_a_variable_that_is_no_number_is_named(run, tiny, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    message(run("train", tiny, *QUICK))
    assert not tiny.with_suffix(".mpu").exists()


def test_a_limit_of_threads_is_named_from_the_start():
    code = 'import threading\ndef refuse(_): raise RuntimeError("can\'t start new thread")\n'
    code += "threading.Thread.start = refuse\nfrom mpu_cli.__main__ import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert_worded(line)


def test_a_limit_of_threads_is_named(run, tiny, monkeypatch):
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    message(run("train", tiny, *QUICK, "-j", 2))
