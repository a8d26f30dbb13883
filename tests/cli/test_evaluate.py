"""`mpu evaluate` with models, with files that have label lists and scores, and with several of them."""

import gzip
import json
import re
import subprocess

import numpy as np
import pytest

from mpu_cli.cli.actions.evaluate import print_comparison
from mpu_cli.evaluation.compare import Difference
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
    run.ok("train", DIGITS[0], "-o", folder / "digits.mpu", *QUICK, "--threshold", "per-label")
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
    assert [row.pop("name") for row in of_model["per_label"]][:2] == ["zero", "one"]  # those that the model keeps
    assert of_model["per_label"] == of_file["per_label"]
    assert of_model["calibration"]["expected"] == pytest.approx(of_file["calibration"]["expected"])


def test_a_model_of_many_labels(run, tmp_path, report):
    (tmp_path / "many.svm").write_text("".join(f"{k} {k + 1}:1\n" for k in range(600)) * 2)
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


@pytest.mark.parametrize("step", [-1, 1])
def test_labels_of_another_base_are_warned_of(run, tmp_path, step):
    truth, predicted = tmp_path / "truth.svm", tmp_path / "predicted"
    sets = [(k, k + 2) for k in range(1, 6)] * 2

    def written(step: int) -> bytes:
        """In all forms of labels, and without labels."""
        lines = f"5:1 7:1\n 5:1\r\n\n{1 + step}.0, +{3 + step}#3\n{2 + step}\t,{4 + step} 5:1\r\n"
        return (lines + "".join(f"{a + step},{b + step} 1:0.5\n" for a, b in sets) + f"{7 + step}").encode()

    truth.write_bytes(written(0))
    lists = [(), (), (), (1, 3), (2, 4), *sets, (7,)]
    predicted.write_text("".join(",".join(str(label + step) for label in labels) + "\n" for labels in lists))
    result = run.ok("evaluate", truth, predicted)
    assert f"labels are 1 to 7 in TRUTH and {1 + step} to {7 + step} in PREDICTIONS" in result.stderr
    command = re.search(r"perl .*'", result.stderr)[0]
    truth.write_bytes(subprocess.run(f"{command} {truth}", shell=True, check=True, capture_output=True).stdout)
    assert truth.read_bytes() == written(step).replace(b".0, +", b",").replace(b"\t,", b",")
    result = run("evaluate", truth, predicted, "--json")
    assert (json.loads(result.stdout)["micro_f1"], result.stderr) == (1, "")


def test_a_model_that_confuses_two_labels_is_of_the_same_base(run, tmp_path):
    truth, predicted = tmp_path / "truth.svm", tmp_path / "predicted"
    truth.write_text("2 1:1\n" * 95 + "1,3 1:1\n" * 5)
    predicted.write_text("3\n" * 95 + "1,3\n" * 4 + "4\n")
    assert run.ok("evaluate", truth, predicted).stderr == ""


FILES = {
    "truth.svm": "3,7 1:0.5 4:2\n1 2:1\n 3:1\n7 1:1\n",
    "good": "3,7\n1\n\n7\n",
    "bad": "3\n9\n\n3\n",
    "scores": "7:0.9 3:0.6 1:0.1\n1:0.8 3:0.4 7:0.2\n3:0.1\n3:0.3 7:0.6\n",
}


def test_no_estimate_on_complete_labels_exceeds_one(run, tmp_path, monkeypatch):
    """Also if c is too small, so that hits count for more labels than were predicted."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text * 25)
    found = run.json("evaluate", "truth.svm", "scores", "--threshold", 0.5, "--c", 0.3, "--per-label")
    several = run.json("evaluate", "truth.svm", "bad", "good", "--c", 0.3)
    estimates = [found["corrected"], *(row["corrected"] for row in found["per_label"]), *several["evaluated"]]
    values = [value for one in estimates for name, value in one.items() if name not in ("name", "clipped_labels")]
    assert max(values) == 1 and min(values) >= 0
    (compared,) = several["compared"]
    for name, difference in compared["differences"].items():
        first, other = (one[name] for one in several["evaluated"])
        assert difference["value"] == other - first
        assert -1 <= difference["low"] <= difference["value"] <= difference["high"] <= 1


def test_a_difference_that_rounds_to_zero_has_no_minus(capsys):
    differences = {"micro_f1": Difference(-1e-6, -0.0063, 0.0063)}
    compared = {"name": "b", "compared_with": "a", "verdict": "no verdict", "differences": differences}
    evaluated = [{"name": name, "micro_f1": 0.5} for name in "ab"]
    print_comparison({"instances": 5, "labels": 2, "evaluated": evaluated, "compared": [compared]})
    assert "+0.0000 -0.0063 +0.0063" in " ".join(capsys.readouterr().out.split())


def test_one_and_several_print_the_same_digits(run, tmp_path):
    """The samples-F1 is 0.31625; summed in another order, it is one bit larger."""
    rng = np.random.default_rng(123)
    drawn = rng.random((160, 3)) < 0.4, rng.random((160, 3)) < 0.5
    drawn[0][0] = True
    truth, listed = ("\n".join(",".join(map(str, np.flatnonzero(row))) for row in of) for of in drawn)
    (tmp_path / "truth").write_text(truth.replace("\n", " 1:1\n") + " 1:1\n")
    (tmp_path / "listed").write_text(listed + "\n")
    one, several = (run.ok("evaluate", tmp_path / "truth", *[tmp_path / "listed"] * n).stdout for n in (1, 2))
    assert len({re.search(r"samples_f1 +(\S+)", printed)[1] for printed in (one, several)}) == 1


def test_models_are_compared(run, digits, trained, report, tmp_path):
    run("train", digits[0], "-o", tmp_path / "other.mpu", *QUICK, "--c", 0.9)
    models = tmp_path / "other.mpu", trained / "digits.mpu", trained / "both.txt"
    evaluated = report(digits[1], *models)["evaluated"]
    names = ("micro_precision", "micro_recall", "micro_f1", "samples_f1", "precision_at_3", "ndcg_at_5")
    for model, found in zip(models, evaluated, strict=True):
        alone = report(digits[1], model)
        assert {name: found[name] for name in names} == pytest.approx({name: alone[name] for name in names})
    assert "name" in evaluated[1] and evaluated[1] | {"name": ""} == pytest.approx(evaluated[2] | {"name": ""})
