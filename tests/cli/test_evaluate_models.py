"""`mpu evaluate` with models, and with files that have label lists and scores."""

import gzip
import json
import re
import subprocess

import pytest

from tests.conftest import DIGITS


def assert_close(one: dict, other: dict) -> None:
    """Fail where two reports have other warnings, or numbers that are not the same up to rounding."""
    assert one["warnings"] == other["warnings"]
    assert {**one, "warnings": None} == pytest.approx({**other, "warnings": None})


@pytest.fixture
def report(run):
    def evaluated(*args) -> dict:
        result = run("evaluate", *args, "--json")
        assert (result.exit_code, result.stderr) == (0, "")
        return json.loads(result.stdout)

    return evaluated


QUICK = "--c", 0.7, "--cost", 10, "--epochs", 2, "--levels", 1, "--features", "linear", "-q"


def make(run, folder):
    options = (*QUICK, "--threshold", "per-label")
    run.ok("train", DIGITS[0], "-o", folder / "digits.mpu", *options)
    for form in ("labels", "scores", "both"):
        run("predict", folder / "digits.mpu", DIGITS[1], "--format", form, "-o", folder / f"{form}.txt")


@pytest.fixture
def trained(made):
    """A model of the digits, with its predictions in every form."""
    return made(make)


RANKING = ("precision_at_1", "ndcg_at_3", "label_ranking_average_precision", "coverage_at_5", "one_error")


def test_a_file_with_both_has_the_labels_of_the_one_and_the_ranking_of_the_other(run, digits, trained, report):
    labels, both = (report(digits[1], trained / f"{form}.txt") for form in ("labels", "both"))
    scores = run.json("evaluate", digits[1], trained / "scores.txt")
    assert {name: both[name] for name in labels} == labels
    assert {name: both[name] for name in RANKING} == {name: scores[name] for name in RANKING}
    assert "threshold" not in both


@pytest.mark.parametrize("threshold", ["per-label", "pu-f1"])
def test_scores_carry_the_thresholds_of_the_model(run, digits, tmp_path, report, threshold):
    run("train", digits[0], "-o", tmp_path / "digits.mpu", *QUICK, "--threshold", threshold)
    run("predict", tmp_path / "digits.mpu", digits[1], "--format", "both", "-o", tmp_path / "both.txt")
    run("predict", tmp_path / "digits.mpu", digits[1], "--format", "scores", "-o", tmp_path / "scores.txt.gz")
    expected = report(digits[1], tmp_path / "both.txt")
    assert report(digits[1], tmp_path / "scores.txt.gz") == expected
    lines = gzip.decompress((tmp_path / "scores.txt.gz").read_bytes()).splitlines(keepends=True)
    assert run.json("evaluate", digits[1], "-", stdin=b"".join(lines)) == expected
    compared = report(digits[1], tmp_path / "digits.mpu", tmp_path / "scores.txt.gz")["evaluated"]
    assert compared[0]["micro_f1"] == compared[1]["micro_f1"] == pytest.approx(expected["micro_f1"])

    without = b"".join([lines[0].partition(b"#")[0] + b"\n", *lines[1:]])  # as files from elsewhere are
    cut = run("evaluate", digits[1], "-", "--json", stdin=without)
    assert cut.stderr.startswith("warning: labels that score 0.5 or more count as predicted")
    assert json.loads(cut.stdout)["micro_f1"] != expected["micro_f1"]


def test_a_model_is_evaluated_as_its_predictions(digits, trained, report):
    assert_close(report(digits[1], trained / "digits.mpu"), report(digits[1], trained / "both.txt"))
    options = ("--per-label", "--calibration", "--c", 0.9)
    of_model, of_file = (report(digits[1], trained / name, *options) for name in ("digits.mpu", "both.txt"))
    assert of_model["per_label"] == of_file["per_label"]
    assert of_model["calibration"]["expected"] == pytest.approx(of_file["calibration"]["expected"])


def test_a_model_of_many_labels(run, tmp_path, report):
    lines = "".join(f"{k} {k + 1}:1\n" for k in range(600))
    (tmp_path / "many.svm").write_text(lines * 2)
    run("train", tmp_path / "many.svm", *QUICK)
    run("predict", tmp_path / "many.mpu", tmp_path / "many.svm", "--format", "both", "-o", tmp_path / "both.txt")
    of_model, of_file = (report(tmp_path / "many.svm", tmp_path / name) for name in ("many.mpu", "both.txt"))
    assert_close(of_model, of_file)


def test_a_model_that_predicts_nothing_is_not_cut_elsewhere(run, tmp_path, report):
    """Its scores were cut at 0.5, where its own thresholds give no label."""
    (tmp_path / "x.svm").write_text("1 1:1\n2 2:1\n" * 30)
    run("train", tmp_path / "x.svm", *QUICK, "--epochs", 20, "--threshold", 0.9999)
    model = tmp_path / "x.mpu"
    assert report(tmp_path / "x.svm", model)["micro_f1"] == 0
    assert report(tmp_path / "x.svm", model)["precision_at_1"] == 1
    assert report(tmp_path / "x.svm", model, "--threshold", 0.5)["micro_f1"] == 1
    several = report(tmp_path / "x.svm", model, model)["evaluated"]
    assert [one["micro_f1"] for one in several] == [0, 0]


def test_features_that_the_model_does_not_know_are_warned_of(run, tmp_path, tiny):
    run("train", tiny, *QUICK)
    (tmp_path / "new.svm").write_text("1 1:1 9:1\n")
    (tmp_path / "checked.tsv").write_text("instance\tlabel\tverdict\n1\t*\tno\n")
    for options in (), ("--reviewed", tmp_path / "checked.tsv"):
        result = run.ok("evaluate", tmp_path / "new.svm", tiny.with_suffix(".mpu"), *options)
        assert "1 of 2 feature values ignored: their features never occurred in training" in result.stderr


@pytest.mark.parametrize("step", [-1, 1])
def test_labels_of_another_base_are_warned_of(run, tmp_path, step):
    truth, predicted = tmp_path / "truth.svm", tmp_path / "predicted"
    sets = [(k, k + 2) for k in range(1, 6)] * 2
    truth.write_text("".join(f"{a},{b} 1:0.5\n" for a, b in sets))
    predicted.write_text("".join(f"{a + step},{b + step}\n" for a, b in sets))
    result = run.ok("evaluate", truth, predicted)
    assert f"labels are 1 to 7 in TRUTH and {1 + step} to {7 + step} in PREDICTIONS" in result.stderr
    command = re.search(r"perl .*'", result.stderr)[0]
    truth.write_bytes(subprocess.run(f"{command} {truth}", shell=True, check=True, capture_output=True).stdout)
    result = run("evaluate", truth, predicted, "--json")
    assert (json.loads(result.stdout)["micro_f1"], result.stderr) == (1, "")
