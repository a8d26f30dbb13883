"""`estimate-c` and `suggest` by out-of-fold scores of another tool: `--scores`."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier

from mpu_cli import estimate_c, missing_labels, questions
from tests.cli.test_questions import answered
from tests.svm import lines


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """True labels, of which half are annotated, and scores that know more than the features of the file tell."""
    rng = np.random.default_rng(1)
    Y = rng.random((900, 3)) < 0.3
    S = Y & (rng.random(Y.shape) < 0.5)
    X = Y + rng.normal(scale=0.3, size=Y.shape)
    scores = cross_val_predict(OneVsRestClassifier(LogisticRegression()), X, S, method="predict_proba")
    P = np.round(scores, 4).astype(np.float32)
    folder = tmp_path_factory.mktemp("scores")
    rows = (",".join(map(str, np.flatnonzero(row) + 1)) for row in S)
    (folder / "news.svm").write_text("".join(f"{row} {i % 7 + 1}:1\n" for i, row in enumerate(rows)))
    (folder / "oof").write_text("".join(line.lstrip() for line in lines(P, np.zeros(P.shape))))
    return Y, S, P, folder


@pytest.fixture
def asked(run, problem):
    """Run a command on the data with these scores, and return its report."""
    *_, folder = problem

    def ask(command, *options, scores="oof"):
        return run.json(command, folder / "news.svm", "--scores", folder / scores, "-q", *options)

    return ask


def listed(path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines() if line[0].isdigit()]


def test_c_is_that_of_python(asked, problem, tmp_path):
    Y, S, P, _ = problem
    report = asked("estimate-c", "--per-label", "-o", tmp_path / "c.txt")
    assert report["c"] == estimate_c(y=S, scores=P).c
    assert report["c"] == pytest.approx(S.sum() / Y.sum(), abs=0.06)
    assert [row["c"] for row in report["per_label"]] == estimate_c(y=S, scores=P, per_label=True).c.tolist()


@pytest.mark.parametrize("options", [(), ("--c", "0.5")])
def test_what_is_missing_is_that_of_python(asked, problem, tmp_path, options):
    Y, S, P, _ = problem
    report = asked("suggest", "--top", 100, "-o", tmp_path / "missing.tsv", *options)
    c = 0.5 if options else estimate_c(y=S, scores=P).c
    expected = missing_labels(S, scores=P, c=c, top=100)
    rows = listed(tmp_path / "missing.tsv")
    cells = [(int(row[0]) - 1, int(row[1]) - 1) for row in rows]
    assert cells == list(zip(expected.rows, expected.columns, strict=True))
    assert report["missing"] == pytest.approx(S.sum() * (1 / c - 1))
    if options:  # where c is estimated, less is claimed of the top
        np.testing.assert_allclose([float(row[2]) for row in rows], expected.probabilities, atol=1e-3)
        assert report["right"] == pytest.approx(expected.probabilities.sum(), rel=1e-3)
        assert Y[expected.rows, expected.columns].mean() == pytest.approx(report["right"] / 100, abs=0.1)


def test_a_copy_with_labels_filled_in(run, problem, tmp_path):
    *_, folder = problem
    options = ("--scores", folder / "oof", "--format", "svm", "-o", tmp_path / "filled")
    result = run.ok("suggest", folder / "news.svm", *options)
    assert "filled in; expected micro-F1 of the labels" in result.stderr
    assert (tmp_path / "filled").read_text().count("\n") == 900


def test_questions_are_those_of_python_and_answers_count(asked, problem, tmp_path):
    Y, S, P, _ = problem
    asked("suggest", "--questions", 40, "-o", tmp_path / "questions.tsv")
    rows = listed(tmp_path / "questions.tsv")
    cells = [(int(row[0]) - 1, int(row[1]) - 1) for row in rows]
    expected = questions(y=S, n=40, scores=P)
    assert cells == list(zip(expected.rows, expected.columns, strict=True))
    answered(tmp_path / "questions.tsv", tmp_path / "checked.tsv", Y)
    report = asked("estimate-c", "--reviewed", tmp_path / "checked.tsv")
    assert (report["method"], report["answers"]) == ("questions", 40)
    assert report["c"] == pytest.approx(S.sum() / Y.sum(), abs=0.12)
    completed = asked("suggest", "--reviewed", tmp_path / "checked.tsv", "--top", 50, "-o", tmp_path / "more.tsv")
    assert (completed["review"]["decisions"], completed["missing"]) == (40, pytest.approx(report["missing"]))
    assert completed["missing_found"] == report["yes"]
    assert not {(row[0], row[1]) for row in rows} & {(row[0], row[1]) for row in listed(tmp_path / "more.tsv")}


def test_groups_of_instances(asked, tmp_path):
    (tmp_path / "who").write_text("ann\nbob\n" * 450)
    assert len(asked("estimate-c", "--groups", tmp_path / "who")["per_group"]) == 2
    assert asked("suggest", "--groups", tmp_path / "who", "-o", tmp_path / "missing.tsv")["listed"]


def test_labels_and_thresholds_beside_the_scores_do_not_count(run, asked, problem):
    *_, folder = problem
    lines = (folder / "oof").read_text().splitlines()
    lines[0] = "1 " + lines[0] + " # threshold 0.3"
    (folder / "both").write_text("\n".join(lines) + "\n")
    assert asked("estimate-c", scores="both")["c"] == asked("estimate-c")["c"]
