"""The page "The model format" says enough: a reader that knows nothing else predicts what `mpu predict` does."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpu_cli import bundle
from tests.bundle.models import D, make_model_in_strata, make_sparse_model
from tests.bundle.test_fixtures import DATA, FIXTURES
from tests.cli.training import QUICK

READER = Path(__file__).parent / "reader.py"
# Names that two labels share, and a label without one.
NAMES = "zero\none\none\nthree\tIII\n\nfive\n"
SIX = "".join(f"{i % 3},{3 + i % 2 + i % 5 // 4} {i % 6 + 1}:1 {i % 5 + 7}:0.5 {9000 + i % 3}:0.2\n" for i in range(60))


@pytest.fixture
def assert_same(run):
    def compare(model: Path, data: Path):
        done = subprocess.run([sys.executable, READER, model, data], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        expected = run.ok("predict", model, data, "--format", "jsonl").stdout
        one, other = ([json.loads(line) for line in text.splitlines()] for text in (expected, done.stdout))
        assert any(record["labels"] for record in one)
        for records in zip(one, other, strict=True):
            p, found = (dict(zip(record["labels"], record["probabilities"], strict=True)) for record in records)
            assert found == pytest.approx(p, rel=1e-3)  # a probability near 1 has few digits left in float32

    return compare


def random_instances(path: Path, width: int) -> Path:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((50, width)) * (rng.random((50, width)) < 0.3)
    path.write_text("".join(" " + " ".join(f"{j}:{row[j]:.3g}" for j in np.flatnonzero(row)) + "\n" for row in values))
    return path


@pytest.mark.parametrize("name", ["mpu", "strata", "rbf"])
def test_two_levels_of_few_labels(assert_same, name):
    assert_same(FIXTURES / "v1" / name / "model", DATA)


@pytest.mark.parametrize(
    "make",
    [make_model_in_strata, make_sparse_model, lambda: make_sparse_model(compact=False)],
    ids=["strata", "sparse", "of all features"],
)
def test_levels_in_each_form(assert_same, tmp_path, make):
    bundle.save(make(), tmp_path / "a.mpu")
    assert_same(tmp_path / "a.mpu", random_instances(tmp_path / "a.svm", D + 2))


def test_labels_with_names(run, assert_same, tmp_path):
    (tmp_path / "six.svm").write_text(SIX)
    (tmp_path / "six.labels").write_text(NAMES)
    run.ok("train", tmp_path / "six.svm", *QUICK)
    predicted = run("predict", tmp_path / "six.mpu", tmp_path / "six.svm", "--format", "jsonl").stdout
    assert '"one (1)"' in predicted
    assert_same(tmp_path / "six.mpu", tmp_path / "six.svm")


@pytest.mark.slow  # trains 600 labels
def test_two_levels_of_many_labels(run, assert_same, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{k},{600 + k % 7} {k % 50}:1 {50 + k // 20}:1 {rng.integers(100, 9000)}:0.5" for k in range(600)]
    (tmp_path / "many.svm").write_text("\n".join(lines * 3) + "\n")
    run.ok("train", tmp_path / "many.svm", "--c", 0.5, "--cost", 30, "--epochs", 3, "--levels", 2)
    numbers = json.loads((tmp_path / "many.mpu" / "manifest.json").read_text())["predictor"]
    assert numbers["top"] is not None
    assert numbers["levels"] == 2
    assert_same(tmp_path / "many.mpu", tmp_path / "many.svm")
