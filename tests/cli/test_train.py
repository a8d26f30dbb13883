import json
import os
from pathlib import Path

import pytest

from mpu_cli import bundle
from mpu_cli.cli.actions.train import default_model
from tests.cli.test_questions import answered
from tests.cli.training import QUICK, TINY
from tests.core.simulated import linear_problem
from tests.svm import write

LINEAR = "--features", "linear"


@pytest.fixture(scope="module")
def corrupted(run, digits, tmp_path_factory) -> Path:
    """Training digits without 60 % of their labels: `part.svm`, the lines of it but every fourth."""
    folder = tmp_path_factory.mktemp("digits")
    run.ok("corrupt", digits[0], folder / "train.svm", "--missing-rate", 0.6, "--seed", 1)
    lines = (folder / "train.svm").read_text().splitlines(keepends=True)
    (folder / "part.svm").write_text("".join(line for i, line in enumerate(lines) if i % 4))
    return folder


@pytest.fixture(scope="module")
def report(run, corrupted) -> dict:
    """Train on a part with default options, but for features: those of a kernel are in `test_features.py`."""
    return run.json("train", corrupted / "part.svm", *LINEAR)


def test_the_report_has_what_was_found(report, corrupted):
    assert report["model"] == str(corrupted / "part.mpu")
    assert (report["instances"], report["labels"]) == (867, 18)
    assert report["c_estimated"] is True
    assert report["c"] == pytest.approx(0.4, abs=0.05)
    low, high = report["c_interval"]
    assert 0.3 < low < report["c"] < high < 0.7
    worst, best = report["expected_micro_f1_interval"]
    assert 0 < worst < report["expected_micro_f1"] < best < 1
    assert len(report["expected_micro_f1_by_level"]) == 2
    assert 0 < report["threshold"] < 1
    assert "thresholds" not in report
    assert 10_000_000 < report["peak_bytes"] < 100_000_000_000
    steps = {"reading data", "estimating c", "choosing settings", "learning level 0", "learning level 1"}
    assert steps | {"choosing thresholds", "writing the model"} <= report["seconds"].keys()


def test_the_model_has_what_was_reported(report):
    model = bundle.load(Path(report["model"]))
    assert (model.label_ids.tolist(), set(model.c.tolist())) == (list(range(1, 19)), {report["c"]})
    assert set(model.predictor.thresholds.tolist()) == {report["threshold"]}
    assert (len(model.occurring.indices), model.options["cost"]) == (report["features"], report["cost"])


def test_answers_refute_that_nobody_has_looked(run, tmp_path):
    X, Y = linear_problem(400, 10, 8, slope=4.0)
    Y[::2] = False
    report = run.json("train", write(tmp_path / "half.svm", X, Y), "--levels", 1, *LINEAR)
    assert report["labelled_only"] is True
    assert "nobody has looked" in report["warnings"][0]
    run.ok("suggest", tmp_path / "half.svm", "--questions", 40, "-o", tmp_path / "answers.tsv")
    answered(tmp_path / "answers.tsv", tmp_path / "answers.tsv", Y)
    report = run.json("train", tmp_path / "half.svm", "--reviewed", tmp_path / "answers.tsv", "--levels", 1, *LINEAR)
    assert not any("nobody has looked" in text for text in report["warnings"])


def test_the_readable_report(run, tiny):
    result = run("train", tiny, *QUICK)
    words = [line.split()[0] for line in result.stdout.splitlines()]
    assert words == ["data", "c", "loss", "C", "threshold", "expected", "model"]
    assert "5 instances, 3 features, 3 labels" in result.stdout
    assert "0.500, set by the user: 50.0% of the true labels are missing" in result.stdout
    assert "  30, eta0 2, 2 epochs" in result.stdout


def test_automatic_levels_are_reported_and_kept(run, tiny, tmp_path):
    arguments = ("train", tiny, "-o", tmp_path / "model", "--levels", "auto", "--c", 0.5, "--cost", 3, "--epochs", 2)
    result = run(*arguments)
    assert "levels     " in result.stdout
    assert "; expected micro-F1 of one and of two: " in result.stdout
    report = run.json(*arguments)
    assert report["levels"] in (1, 2)
    assert len(report["expected_micro_f1_by_level"]) == 2
    assert run.json("info", tmp_path / "model")["levels"] == report["levels"]


def test_the_model_is_named_after_the_data():
    for source in ("news.svm", "news.svm.gz", "news.svm.bz2", "news", "news.gz"):
        assert default_model(source) == Path("news.mpu")
    assert default_model("in/news.v2.txt.xz") == Path("in/news.v2.mpu")
    assert default_model(".hidden") == Path(".hidden.mpu")


def test_names_that_are_not_text(run, tmp_path):
    source = os.fsencode(tmp_path) + b"/caf\xe9 \xe2\x98\x83.svm"
    Path(os.fsdecode(source)).write_text(TINY)
    result, shown = run.ok("train", os.fsdecode(source), *QUICK), f"{tmp_path}/caf\\xe9 \u2603"
    assert f"{shown}.mpu" in result.stdout
    assert run.json("train", os.fsdecode(source), *QUICK)["model"] == f"{shown}.mpu"
    log = run("info", os.fsdecode(source), "--log-format", "json").stderr
    assert json.loads(log.splitlines()[-1])["message"].startswith(f"{shown}.svm: ")


# Options


def test_c_from_a_file(run, tiny, tmp_path):
    file = tmp_path / "40%"  # any name but a number
    file.write_text("1 0.5\n2 1\n3 0.25\n")
    assert "by label, 0.250 to 1.000" in run("train", tiny, *QUICK[2:], "--c", file).stdout
    assert bundle.load(tiny.with_suffix(".mpu")).c.tolist() == [0.5, 1, 0.25]


def test_thresholds_a_label(run, corrupted, tmp_path):
    options = "-o", tmp_path / "m", *QUICK, "--threshold", "per-label"
    thresholds = run.json("train", corrupted / "part.svm", *options)["thresholds"]
    assert thresholds.keys() == {str(label) for label in range(1, 19)}
    assert len(set(thresholds.values())) > 9
