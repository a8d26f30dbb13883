import json

import numpy as np
import pytest

from mpu_cli.core import stacking
from tests.cli.training import QUICK, message


@pytest.mark.parametrize("command", ["train", "estimate-c", "suggest"])
def test_data_without_a_feature(run, tmp_path, command):
    """Such as a table of whole numbers, whose lines are lists of labels."""
    source = tmp_path / "table.csv"
    source.write_text("8,5,3\n2,4,9\n5,8,1\n" * 8)
    result = run.ok(command, source)
    assert "warning: " in result.stderr
    assert "no instance has a feature" in result.stderr


def test_eta0_is_the_one_that_is_given(run, tmp_path):
    """Also an eta0 that is never tried, with a C that is chosen, on a sample."""
    source = tmp_path / "x.svm"
    source.write_text("".join(f"{i % 2} {i % 2 + 1}:1 {i % 5 + 3}:0.5\n" for i in range(60)))
    given = "--c", 1, "--epochs", 2, "--levels", 1, "--sample", 30, "--json"
    report = json.loads(run("train", source, *given, "--eta0", 3.3).stdout)
    assert report["step"] == 3.3
    assert report["cost"] > 0


def test_the_largest_index_costs_what_another_does(run, tmp_path):
    source = tmp_path / "wide.svm"
    source.write_text(",".join(map(str, range(100))) + " 2147483646:1\n1 1:1\n")
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
    report = json.loads(run.ok("train", source, "--json", "-o", tmp_path / "m.mpu").stdout)
    assert report["features"] != "rbf"


# Targets, refused before anything is trained


def test_targets_that_are_no_models_are_refused_first(run, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(stacking, "train", None)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    message(run("train", tiny, "-o", tmp_path / "folder"))
    message(run("train", tiny, "-o", tmp_path / "folder" / "mine.txt"))
    message(run("train", tiny, "-o", tmp_path / "none" / "model"))
    assert (tmp_path / "folder" / "mine.txt").read_text() == "mine"


def test_labels_of_one_instance_are_refused(run, tmp_path):
    """With 100,000 of them among 60 instances, 590 kB took more than 200 s and 2 GB."""
    source = tmp_path / "one.svm"
    others = "".join(f"{i % 3} {i % 7}:1 {i + 10}:1\n" for i in range(60))
    source.write_text(others + ",".join(map(str, range(3, 1003))) + " 1:1\n")
    message(run("train", source, *QUICK))
    source.write_text(others + ",".join(map(str, range(3, 503))) + " 1:1\n")  # as few labels as are learned together
    run.ok("train", source, *QUICK, "--epochs", 1)
