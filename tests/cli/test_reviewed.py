"""`--reviewed` and `--fully-labelled`: a training learns from what people know."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, recall_score

from mpu_cli import bundle
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import read
from tests.core.simulated import linear_problem
from tests.svm import write

LINEAR = ("--features", "linear")
FAST = (*LINEAR, "--cost", 10, "--epochs", 3, "--levels", 1, "-q")


def review(path, rows, truth, source="sample"):
    lines = ["instance\tlabel\tverdict\tsource\n"]
    for i in rows:
        lines += [f"{i + 1}\t{k + 1}\tyes\t{source}\n" for k in np.flatnonzero(truth[i])]
        lines.append(f"{i + 1}\t*\tno\t{source}\n")
    path.write_text("".join(lines))
    return path


@pytest.fixture
def problem(tmp_path):
    """Features, true labels and annotated ones, of which each label has lost another share; and the file."""
    X, Y = linear_problem(400, 5, 3)
    S = Y & (np.random.default_rng(1).random(Y.shape) < [0.9, 0.5, 0.2])
    return X, Y, S, write(tmp_path / "data.svm", X, S, form=".6g")


@pytest.fixture
def checked(problem, tmp_path):
    """A review of 100 instances that were drawn at random."""
    rows = np.random.default_rng(2).choice(400, 100, replace=False)
    return rows, review(tmp_path / "checked.tsv", rows, problem[1])


def test_c_comes_from_the_sample_for_each_label(run, problem, checked):
    _, Y, S, data = problem
    rows, path = checked
    report = run.json("train", data, "--reviewed", path, *FAST)
    np.testing.assert_allclose(report["c"], [0.9, 0.5, 0.2], atol=0.12)
    share = (S[rows] & Y[rows]).sum() / Y[rows].sum()
    assert report["c_by_people"]["instances"] == 100
    assert report["c_by_people"]["c"] == pytest.approx(share, abs=0.03)
    low, high = report["c_by_people"]["interval"]
    assert low < share < high
    counts = {"decisions": Y[rows].sum() + 100, "found": (Y[rows] & ~S[rows]).sum(), "closed": 100, "sampled": 100}
    assert report["review"] == {**counts, "refuted": 0, "unused": 0, "new_labels": []}


def test_suggestions_that_were_looked_up_do_not_give_c(run, problem, tmp_path):
    _, Y, _, data = problem
    path = review(tmp_path / "picked.tsv", range(50), Y, source="suggestion")
    report = run.json("train", data, "--reviewed", path, *FAST)
    assert "c_by_people" not in report
    assert (report["review"]["closed"], report["review"]["sampled"]) == (50, 0)


def test_complete_sets_of_a_second_file(run, problem, tmp_path):
    _, _, S, data = problem
    X, Y = linear_problem(900, 5, 3)
    more = write(tmp_path / "more.svm", X[400:], Y[400:], form=".6g")
    report = run.json("train", data, "--fully-labelled", more, *FAST)
    assert report["instances"] == 900
    assert report["c_by_people"]["c"] == pytest.approx(S.mean() / Y[400:].mean(), abs=0.05)
    estimate = run.json("estimate-c", data, "--fully-labelled", more, *LINEAR, "--per-label")
    assert (estimate["method"], [row["c"] for row in estimate["per_label"]]) == ("complete", report["c"])


def test_a_second_file_may_have_other_labels_and_features(run, problem, tmp_path):
    (tmp_path / "more.svm").write_text("2,9 1:1 40:2\n0 3:1\n" * 5)
    run.ok("train", problem[3], "--fully-labelled", tmp_path / "more.svm", "--c", 0.5, *FAST)
    model = bundle.load(tmp_path / "data.mpu")
    assert (model.label_ids.tolist(), model.predictor.n_features) == ([0, 1, 2, 3, 9], 41)


@pytest.mark.parametrize("second", [[], ["--fully-labelled"]], ids=["FILE", "--fully-labelled"])
@pytest.mark.parametrize("kind, pattern", [("labels", r"(?m)(^|(?<=,))\d+(?=[, ])"), ("features", r"\d+(?=:)")])
def test_a_second_file_may_seem_to_be_numbered_from_another_base(run, problem, tmp_path, kind, pattern, second):
    """The file lacks the last label, so its range alone shows nothing."""
    X, Y = linear_problem(900, 5, 3)
    more = write(tmp_path / "more.svm", X[400:], Y[400:] * [True, True, False])
    args = ("train", problem[3], *second, more, "--c", 0.5, *FAST, "-o", tmp_path / "m.mpu")
    assert "another base" not in run.ok(*args).stderr
    more.write_text(re.sub(pattern, lambda found: str(int(found[0]) + (1 if second else -1)), more.read_text()))
    assert f"{more}: {kind} seem to be numbered from another base than those of {problem[3]}; " in run.ok(*args).stderr
    more.write_text("".join(more.read_text().splitlines(keepends=True)[:40]))  # too few to tell
    assert "another base" not in run.ok(*args).stderr


def test_a_label_that_only_the_review_has_is_learned(run, problem, tmp_path):
    path, true = tmp_path / "checked.tsv", "".join(f"{i}\t77\tyes\n" for i in range(1, 20))
    path.write_text(f"instance\tlabel\tverdict\n{true}30\t78\tno\n")
    result = run("train", problem[3], "--reviewed", path, *FAST, "--json")
    report = json.loads(result.stdout)
    assert report["labels"] == 4
    assert 77 in bundle.load(Path(report["model"])).label_ids
    assert report["review"]["new_labels"] == [77]
    assert "warning: the review has 1 new label, annotated nowhere: 77; learned from the review" in result.stderr
    assert "warning: 1 decision 'no' on a label that is true nowhere" in result.stderr
    (tmp_path / "tags").write_text("\n" * 76 + "Tourism planning\n")
    named = run("train", problem[3], "--reviewed", path, *FAST, "--labels", tmp_path / "tags")
    assert "annotated nowhere: Tourism planning; learned" in named.stderr


def test_no_on_an_annotated_label_counts_with_a_warning(run, problem, file):
    _, _, S, data = problem
    path = file(f"instance\tlabel\tverdict\n{np.flatnonzero(S[:, 0])[0] + 1}\t1\tno\n", "checked.tsv")
    done = run("train", data, "--reviewed", path, *FAST, "--json")
    assert json.loads(done.stdout)["review"]["refuted"] == 1
    assert f"{path}: no to 1 label of {data}, which counts; is this a review of another" in done.stderr


def test_estimate_c_by_a_review(run, problem, checked, tmp_path):
    data, path = problem[3], checked[1]
    estimate = run.json("estimate-c", data, *LINEAR, "--reviewed", path, "--per-label", "-o", tmp_path / "c.txt", "-q")
    train = run.json("train", data, "--reviewed", path, *FAST, "--history", tmp_path / "history.jsonl")
    told = json.loads((tmp_path / "history.jsonl").read_text())
    of_model = run.json("info", train["model"])["c"]
    for one in (told["c"], told["c_interval"]), (train["c_overall"], train["c_interval"]):
        assert one == (estimate["c"], estimate["interval"]) == (of_model["overall"], of_model["interval"])
    assert (estimate["method"], estimate["complete_instances"]) == ("reviewed", 100)
    assert estimate["c"] == train["c_by_people"]["c"]
    assert [row["c"] for row in estimate["per_label"]] == train["c"]
    assert all(low < row["c"] < high for row in estimate["per_label"] for low, high in [row["interval"]])
    given = run.json("train", data, "--c", tmp_path / "c.txt", *FAST)
    np.testing.assert_allclose(given["c"], train["c"], rtol=1e-5)
    text = run("estimate-c", data, *LINEAR, "--reviewed", path).stdout
    assert "rests on           100 instances with complete label sets" in text
    assert re.search("\nannotations alone  0[.][0-9]+, of the other instances\n", text)
    text = run("train", data, "--reviewed", path, *FAST[:-1]).stdout
    assert "; from annotations of the other instances alone 0." in text


def test_evaluation_by_a_review(run, problem, checked, tmp_path):
    _, Y, _, data = problem
    rows, path = checked
    run("train", data, "--loss", "pu-logistic", "--c", 0.6, *FAST)
    run("predict", tmp_path / "data.mpu", data, "-o", tmp_path / "tags.txt", "-q")
    predicted = read(tmp_path / "tags.txt", Reading(scores=True)).labels.toarray()[rows, 1:].astype(bool)
    by_review = "--reviewed", path
    report = run.json("evaluate", data, tmp_path / "tags.txt", *by_review)
    assert report["instances"] == 100
    assert report["micro_f1"] == pytest.approx(f1_score(Y[rows], predicted, average="micro"))
    assert report["micro_recall"] == pytest.approx(recall_score(Y[rows], predicted, average="micro"))
    for name in ("micro_precision", "micro_recall", "micro_f1"):
        low, high = report["intervals"][name]
        assert low < report[name] < high
        assert high - low < 0.2
    run("predict", tmp_path / "data.mpu", data, "--format", "scores", "-o", tmp_path / "scores.txt", "-q")
    scores = run.json("evaluate", data, tmp_path / "scores.txt", *by_review)
    assert scores["intervals"]["micro_f1"][0] < scores["micro_f1"] < scores["intervals"]["micro_f1"][1]
    assert "90 % interval" in run("evaluate", data, tmp_path / "tags.txt", *by_review).stdout


def test_evaluate_compares_what_two_people_agree_on(run, tmp_path):
    """An instance that they contradict each other about is not completely reviewed."""
    (tmp_path / "truth.svm").write_text("1 1:1\n2 1:1\n" * 3)
    (tmp_path / "tags.txt").write_text("1\n2\n" * 3)
    paths = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    closed = "".join(f"{i}\t*\tno\n" for i in range(1, 7))
    for path, word in zip(paths, ("yes", "no"), strict=True):
        path.write_text(f"instance\tlabel\tverdict\n1\t2\t{word}\n{closed}")
    options = "--reviewed", paths[0], "--reviewed", paths[1], "--json"
    result = run("evaluate", tmp_path / "truth.svm", tmp_path / "tags.txt", *options)
    assert json.loads(result.stdout)["instances"] == 5
    assert "agree on 0 of the 1 labels of instances that both decide" in result.stderr
