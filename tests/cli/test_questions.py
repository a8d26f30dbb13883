"""`suggest --questions`: from a list of questions, by answers, to c of each label."""

import re
from itertools import cycle

import numpy as np
import pytest

from mpu_cli.core.frequency import questions
from mpu_cli.review.decisions import read
from tests.cli.test_reviewed import FAST, review
from tests.core.simulated import linear_problem
from tests.slow import slow, slow_uncompiled
from tests.svm import write

LINEAR = "--features", "linear"
SAID = FAST[:-1]  # FAST, and not quiet


def drawn():
    """Return features, true labels, and annotated ones, of which each label has lost another share."""
    X, Y = linear_problem(490, 6, 4, slope=6.0)
    return X, Y, Y & (np.random.default_rng(1).random(Y.shape) < [0.9, 0.6, 0.3, 0.3])


@pytest.fixture
def problem(tmp_path):
    """True labels and annotated ones, and the file."""
    X, Y, S = drawn()
    return Y, S, write(tmp_path / "data.svm", X, S, form=".6g")


def answered(path, into, Y):
    """Write the answers to a list of questions, by the truth."""
    lines = []
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 6 and fields[0] != "instance":
            fields[4] = "yes" if Y[int(fields[0]) - 1, int(fields[1]) - 1] else "no"
        lines.append("\t".join(fields) + "\n")
    into.write_text("".join(lines))
    return into


def make(run, folder):
    X, Y, S = drawn()
    data = write(folder / "data.svm", X, S, form=".6g")
    run.ok("suggest", data, "--questions", 80, "-o", folder / "questions.tsv", *FAST)
    answered(folder / "questions.tsv", folder / "checked.tsv", Y)


@pytest.fixture
def checked(copied):
    """Answers to 80 questions."""
    return copied(make) / "checked.tsv"


def estimated(run, data, *options) -> dict:
    """Return what is estimated by linear features, unless options ask for others: to choose them takes long."""
    return run.json("estimate-c", data, *LINEAR, *options, "-q")


def cells(path):
    found = read([path])
    return set(zip(found.instance.tolist(), found.label.tolist(), strict=True))


def test_the_list(run, problem, tmp_path):
    _, S, data = problem
    result = run("suggest", data, "--questions", 30, "-o", tmp_path / "questions.tsv", *SAID)
    assert "30 questions on " in result.stderr
    lines = (tmp_path / "questions.tsv").read_text().splitlines()
    comments = [line for line in lines if line.startswith("# ")]
    assert any(line.startswith("# questions drawn by chance: ") for line in comments)
    assert any(line.startswith("# checksum ") for line in comments)
    assert lines[len(comments)] == "instance\tlabel\tprobability\tdrawn\tverdict\tsource"
    rows = [line.split("\t") for line in lines[len(comments) + 1 :]]
    assert len(rows) == 30
    for instance, label, probability, drawn, verdict, source in rows:
        assert not S[int(instance) - 1, int(label) - 1]
        assert 0 < float(probability) < 1
        assert 0 < float(drawn) <= 1
        assert (verdict, source) == ("", "question")
    again = run("suggest", data, "--questions", 30, *FAST).stdout.splitlines()
    assert [line for line in again if "\t" in line] == [line for line in lines if "\t" in line]
    assert run("suggest", data, "--questions", 30, "--seed", 1, *FAST).stdout.splitlines() != again
    asked = run.json("suggest", data, "--questions", 30, "-o", tmp_path / "q.tsv", *FAST)
    assert (asked["questions"], asked["answered"]) == (30, 0)


def test_answers_give_c_of_each_label(run, problem, checked):
    Y, S, data = problem
    report = estimated(run, data, "--reviewed", checked, "--per-label")
    yes = int(read([checked]).verdict.sum())
    assert (report["method"], report["answers"], report["yes"]) == ("questions", 80, yes)
    assert "complete_instances" not in report
    low, high = report["interval"]
    assert low < S.sum() / Y.sum() < high
    assert report["c"] == pytest.approx(S.sum() / Y.sum(), abs=0.12)
    rates = [row["c"] for row in report["per_label"]]
    assert rates[0] > rates[1] > rates[2]
    text = run("estimate-c", data, *LINEAR, "--reviewed", checked, "-q").stdout
    assert f"rests on           80 answers, {yes} of them yes\n" in text
    assert "\nassumes            that these were drawn at random" in text
    assert 0 < report["next_width"] < high - low
    assert "80 more answers would make the interval about " in text
    trained = run.json("train", data, "--reviewed", checked, *FAST)
    assert trained["c_by_people"]["c"] == report["c"]
    assert (trained["c_by_people"]["answers"], trained["c_by_people"]["yes"]) == (80, yes)
    np.testing.assert_allclose(trained["c"], rates)
    readable = run("train", data, "--reviewed", checked, *SAID).stdout
    assert ") from 80 answers, by label; from annotations alone " in readable


def test_c_of_few_answers_in_a_file_is_not_said_to_come_from_annotations(run, problem, checked):
    few, file = checked.with_name("few.tsv"), checked.with_name("c.txt")
    few.write_text("".join(checked.read_text().splitlines(keepends=True)[:16]))
    low, high = estimated(run, problem[2], "--reviewed", few, "-o", file)["interval"]
    assert high - low > 0.2
    assert "annotations alone" not in run("train", problem[2], "--c", file, *SAID).stdout


def test_the_next_questions_are_others(run, problem, checked, tmp_path):
    Y, _, data = problem
    result = run("suggest", data, "--questions", 40, "--reviewed", checked, "-o", tmp_path / "more.tsv", *SAID)
    assert "; 80 answers before" in result.stderr
    assert "# probability is that of yes, by 80 answers" in (tmp_path / "more.tsv").read_text()
    more = answered(tmp_path / "more.tsv", tmp_path / "more-checked.tsv", Y)
    assert len(cells(more)) == 40
    assert not cells(more) & cells(checked)
    wide, narrow = (estimated(run, data, "--reviewed", checked, *also) for also in ((), ("--reviewed", more)))
    assert narrow["answers"] == 120
    assert np.ptp(narrow["interval"]) < np.ptp(wide["interval"])


@pytest.mark.slow
def test_answers_count_with_reviewed_instances_and_suggestions(run, problem, checked, tmp_path):
    Y, S, data = problem
    sample = review(tmp_path / "sample.tsv", range(0, 60), Y)
    picked = tmp_path / "picked.tsv"
    i, k = (int(index[-1]) for index in np.nonzero(Y & ~S))
    picked.write_text(f"instance\tlabel\tverdict\tsource\n{i + 1}\t{k + 1}\tyes\tsuggestion\n")
    files = ("--reviewed", checked, "--reviewed", sample, "--reviewed", picked)
    report = estimated(run, data, *files)
    assert (report["answers"], report["complete_instances"]) == (80, 60)
    text = run("estimate-c", data, *LINEAR, *files, "-q").stdout
    assert " of them yes; 60 instances with complete label sets\n" in text
    assert run.json("train", data, *files, *FAST)["c_by_people"]["c"] == report["c"]
    assert "answers and 60 complete instances" in run("train", data, *files, *SAID).stdout


def test_the_page_asks_them(run, problem, tmp_path):
    data = problem[2]
    run("suggest", data, "--questions", 20, "-o", tmp_path / "questions.tsv", *FAST)
    result = run("review", data, "--suggestions", tmp_path / "questions.tsv", "-o", tmp_path / "page.html")
    assert "with 20 suggested labels" in result.stderr
    page = (tmp_path / "page.html").read_text()
    drawn = [line.split("\t")[3] for line in (tmp_path / "questions.tsv").read_text().splitlines()[-20:]]
    assert all(f",{float(chance)}]" in page for chance in drawn)


@slow_uncompiled
@pytest.mark.parametrize("complete", [30, *slow(0)])
def test_a_plan_says_what_more_answers_buy(run, problem, checked, complete):
    """A plan began without the answers that were there."""
    with checked.open("a") as file:
        file.writelines(f"{i}\t*\t\t\tno\tsample\n" for i in range(1, complete + 1))
    command = ("estimate-c", problem[2], *LINEAR, "--reviewed", checked, "-q")
    report = run.json(*command)
    now, then = float(np.ptp(report["interval"])), report["next_width"]
    assert then < now
    narrow, wide = run.json(*command, "--plan", f"{then},{1.01 * now}")["plan_of_questions"]
    assert narrow == {"width": then, "questions": report["answers"]}
    assert wide == {"width": 1.01 * now, "questions": 0}
    assert "or more questions" in run(*command, "--plan", then).stdout


@pytest.mark.slow
def test_a_plan_has_questions(run, problem, monkeypatch):
    report = estimated(run, problem[2], "--plan", "0.3,0.15,0.001")
    assert [row["width"] for row in report["plan"]] == [0.3, 0.15, 0.001]
    few, more = report["plan_of_questions"]
    assert (few["width"], more["width"]) == (0.3, 0.15)
    assert 0 < few["questions"] < more["questions"]
    text = run("estimate-c", problem[2], *LINEAR, "--plan", "0.001", "-q").stdout
    assert text.splitlines()[-1].count("none are enough") == 2  # neither of these questions, nor of these instances
    monkeypatch.setattr(questions, "_MOST_PLANNED", 20)
    text = run("estimate-c", problem[2], *LINEAR, "--plan", "0.001", "-q").stdout
    assert text.endswith("  none are enough  more than 20\n")


@pytest.mark.slow
def test_reviews_correct_what_is_claimed(run, problem, tmp_path):
    """Of the suggestions at the top most are refused, so that less is claimed of the next ones."""
    data = problem[2]
    settings, checked = ("--c", 0.6, *FAST), tmp_path / "checked.tsv"
    run("suggest", data, "--top", 30, "-o", tmp_path / "missing.tsv", *settings)
    verdicts = cycle(["yes", *["no"] * 4])
    text = re.sub("\t\t", lambda _: f"\t{next(verdicts)}\t", (tmp_path / "missing.tsv").read_text())
    checked.write_text(text)
    command = ("suggest", data, "--reviewed", checked, "--top", 30, "-o", tmp_path / "more.tsv")
    report = run.json(*command, *settings)
    assert (report["judged"]["answered"], report["judged"]["yes"]) == (30, 6)
    assert report["right"] / report["listed"] < 0.4
    assert "of 30 answered, 6 were yes" in run(*command, "--c", 0.6, *SAID).stderr

    # What nobody had suggested was never claimed. A row that has no probability in such a file tells it too.
    decided = cells(checked)
    others = [i for i in range(299) if (i, 1) not in decided and not problem[1][i, 0]]
    for row in "added", "suggestion":
        checked.write_text(text + "".join(f"{i + 1}\t1\t\tyes\t{row}\n" for i in others[:20]))
        report = run.json(*command, *settings)
        assert (report["judged"]["answered"], report["judged"]["yes"]) == (30, 6)
        assert report["review"]["found"] == 26


@pytest.mark.slow
def test_as_many_are_missing_as_estimate_c_says_by_complete_label_sets(run, problem, tmp_path):
    data, (X, Y, _) = problem[2], drawn()
    second = write(tmp_path / "second.svm", X[:100], Y[:100], form=".6g")
    by, out = ("--fully-labelled", second), ("-o", tmp_path / "missing.tsv")
    found = estimated(run, data, *by)
    listed = run.json("suggest", data, *by, *out, *FAST)
    assert listed["missing"] == pytest.approx(found["missing"], rel=1e-6)
    assert listed["missing_low"] < listed["missing"] < listed["missing_high"]
    assert ", by 100 instances with complete label sets); " in run("suggest", data, *by, *out, *SAID).stderr


def test_c_from_annotations_alone_is_that_before_the_answers_of_which_skipped_ones_are_told(run, problem, checked):
    by = problem[2], "--reviewed", checked
    assert estimated(run, *by)["by_annotations_alone"] == estimated(run, by[0])["c"]
    some = estimated(run, *by, "--sample", 300)
    assert f"{80 - some['answers']} of 80 answers unused: " in str(some["warnings"])
    assert "open" not in str(some["warnings"])
    checked.write_text(re.sub("\tno\t", "\t\t", checked.read_text(), count=20))
    (warning,) = (text for text in estimated(run, *by)["warnings"] if "open" in text)
    assert re.match("[0-9]+ questions are open between the 60 answered ones, and c is wrong if ", warning)


def test_what_is_listed_agrees_with_c_by_answers(run, problem, checked, tmp_path):
    _, S, data = problem
    found = estimated(run, data, "--reviewed", checked, "--per-label")
    options = ("--reviewed", checked, "--min-probability", 0.001, "-o", tmp_path / "missing.tsv")
    listed = run.json("suggest", data, *options, *FAST)
    yes = int(read([checked]).verdict.sum())
    assert listed["answers"] == found["answers"] == 80
    assert listed["missing"] == pytest.approx(found["missing"], rel=1e-6)
    low, high = (S.sum() * (1 / end - 1) for end in found["interval"][::-1])
    assert (listed["missing_low"], listed["missing_high"]) == pytest.approx((low, high), rel=1e-6)
    assert listed["missing_found"] == yes
    assert listed["right_low"] <= listed["right"] <= listed["right_high"]
    assert listed["right"] <= listed["missing"] - yes
    for row in found["per_label"]:
        of_label = listed["per_label"][str(row["label"])]
        assert of_label["missing"] == pytest.approx(row["missing"], rel=1e-6)
        least, most = (row["annotations"] * (1 / end - 1) for end in row["interval"][::-1])
        ends = min(least, row["missing"]), max(most, row["missing"])
        assert (of_label["low"], of_label["high"]) == pytest.approx(ends, rel=1e-6)
    assert "judged" not in listed
    assert f"by 80 answers); {yes} of them are found; " in run("suggest", data, *options, *SAID).stderr


@pytest.mark.parametrize("asked", [("--questions", 40), *slow((("--top", 20),))])
def test_where_people_find_no_missing_label_little_is_claimed_and_nothing_filled_in(run, tmp_path, asked):
    """Of complete data, answers to questions or to a list are all no."""
    X, Y, _ = drawn()
    complete, no = write(tmp_path / "complete.svm", X, Y, form=".6g"), tmp_path / "no.tsv"
    run.ok("suggest", complete, *asked, *FAST, "-o", tmp_path / "asked.tsv", "-q")
    no.write_text(re.sub("\t\t(question|suggestion)", r"\tno\t\1", (tmp_path / "asked.tsv").read_text()))
    report = run.json("suggest", complete, "--reviewed", no, *FAST, "--top", 20, "-o", tmp_path / "missing.tsv")
    assert report["right_low"] == report["missing_low"] == 0
    assert report["right"] < 10
    filled = run.json("suggest", complete, "--reviewed", no, *FAST, "--format", "svm", "-o", tmp_path / "filled.svm")
    assert filled["filled_in"] == 0
