"""`mpu evaluate` on several models and files of predictions."""

import json

import pytest

from mpu_cli.cli.actions.evaluate import print_comparison
from mpu_cli.evaluation.bootstrap import Difference
from tests.cli.training import message

TRUTH = "3,7 1:0.5 4:2\n1 2:1\n 3:1\n7 1:1\n" * 25
GOOD = "3,7\n1\n\n7\n" * 25
BAD = "3\n9\n\n3\n" * 25
SCORES = "7:0.9 3:0.6 1:0.1\n1:0.8 3:0.4 7:0.2\n3:0.1\n3:0.3 7:0.6\n" * 25
BOTH = "3,7 7:0.4 3:0.3 1:0.1\n1 1:0.8 3:0.4 7:0.2\n 3:0.9\n7 3:0.3 7:0.6\n" * 25


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"truth.svm": TRUTH, "good": GOOD, "bad": BAD, "scores": SCORES, "both": BOTH}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def report(run, *args) -> dict:
    result = run("evaluate", "truth.svm", *args, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_macro_f1_is_over_the_same_labels_for_all(run, files):
    """Label 9 is predicted by one of them and true nowhere."""
    found = report(run, "bad", "good")
    assert found["labels"] == 3
    assert found["evaluated"][0]["macro_f1"] == pytest.approx(2 / 3 * 25 / 50 * 2 / 3)
    assert found == report(run, "bad", "good")
    others = report(run, "good", "good", "bad")
    assert [one["name"] for one in others["evaluated"]] == ["good", "good", "bad"]
    assert others["evaluated"][2] == found["evaluated"][0]


def test_the_one_that_is_behind_and_the_one_that_cannot_be_told_apart(run, files):
    found = report(run, "good", "bad", "both")["compared"]
    assert [one["compared_with"] for one in found] == ["good", "good"]
    behind, same = found
    assert behind["verdict"].startswith("good is ahead of bad by 0.714 micro-F1, 95 % interval 0.")
    difference = behind["differences"]["micro_f1"]
    assert difference["low"] < difference["value"] < difference["high"] < 0
    same_f1 = "the difference is +0.000 micro-F1, 95 % interval +0.000 to +0.000"
    assert same["verdict"] == f"both and good cannot be told apart: {same_f1}"


def test_a_difference_that_rounds_to_zero_has_no_minus(capsys):
    differences = {"micro_f1": Difference(-1e-6, -0.0063, 0.0063)}
    compared = {"name": "b", "compared_with": "a", "verdict": "no verdict", "differences": differences}
    evaluated = [{"name": name, "micro_f1": 0.5} for name in "ab"]
    print_comparison({"instances": 5, "labels": 2, "evaluated": evaluated, "compared": [compared]})
    assert "+0.0000 -0.0063 +0.0063" in " ".join(capsys.readouterr().out.split())


def test_rankings_are_compared_where_all_have_scores(run, files):
    found = report(run, "both", "both", "--k", "1,2")
    assert {"precision_at_2", "ndcg_at_1"} <= found["evaluated"][0].keys()
    assert "precision_at_1" not in report(run, "both", "good")["evaluated"][0]
    message(run("evaluate", "truth.svm", "both", "good", "--metrics", "ndcg_at_1"))
    verdict = report(run, "both", "both", "--metrics", "precision_at_1")["compared"][0]["verdict"]
    assert "+0.000 precision at 1, 95 % interval" in verdict


def test_scores_alone_are_cut_with_a_warning(run, files):
    result = run("evaluate", "truth.svm", "good", "scores", "--json")
    assert result.stderr.startswith("warning: scores: labels that score 0.5 or more count as predicted, since these")
    assert json.loads(result.stdout)["evaluated"][1]["micro_recall"] == 1
    assert report(run, "good", "scores", "--threshold", "0.7")["evaluated"][1]["micro_recall"] == 0.5
    assert report(run, "good", "both", "--threshold", "0.7")["evaluated"][1]["micro_recall"] == 0.25


def test_models_are_compared(run, digits, tmp_path):
    for name, c in (("one.mpu", 0.9), ("two.mpu", 0.5)):
        run("train", digits[0], "-o", tmp_path / name, "--c", c, "--cost", 10, "--epochs", 2, "--levels", 1, "-q")
    run("predict", tmp_path / "two.mpu", digits[1], "--format", "both", "-o", tmp_path / "two.txt")
    models = [tmp_path / name for name in ("one.mpu", "two.mpu", "two.txt")]
    result = run("evaluate", digits[1], *models, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    evaluated = json.loads(result.stdout)["evaluated"]
    for model, found in zip(models, evaluated, strict=True):
        alone = run.json("evaluate", digits[1], model)
        names = ("micro_precision", "micro_recall", "micro_f1", "samples_f1", "precision_at_3", "ndcg_at_5")
        assert {name: found[name] for name in names} == pytest.approx({name: alone[name] for name in names})
    assert "name" in evaluated[1] and evaluated[1] | {"name": ""} == pytest.approx(evaluated[2] | {"name": ""})
