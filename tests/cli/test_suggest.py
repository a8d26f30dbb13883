import numpy as np
import pytest
from sklearn.metrics import f1_score

from mpu_cli.cli.actions import suggest
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.people.posteriors import Evidence
from mpu_cli.people.suggestions import given_other_labels
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import read
from tests.cli.tables import first_lines, table
from tests.cli.test_estimate_c import LINEAR, QUICK
from tests.cli.training import message


@pytest.fixture
def complete(digits, tmp_path):
    """The first half of the digits."""
    return first_lines(digits[0], 600, tmp_path / "complete.svm")


@pytest.fixture
def incomplete(run, complete, tmp_path):
    """The same without three tenths of their labels, and which those are."""
    source, removed = tmp_path / "in.svm", tmp_path / "removed.tsv"
    run.ok("corrupt", complete, source, "--missing-rate", "0.3", "--removed", removed)
    return source, {tuple(map(int, line.split("\t"))) for line in removed.read_text().splitlines()}


@pytest.mark.slow
def test_lists_what_was_removed(run, incomplete, tmp_path):
    source, removed = incomplete
    report = run.json("suggest", source, "--top", len(removed), "--c", "0.7", "-o", tmp_path / "missing.tsv")
    listed = table(tmp_path / "missing.tsv")
    assert len(listed) == report["listed"] == len(removed)
    hits = [(int(row["instance"]), int(row["label"])) in removed for row in listed]
    probabilities = [float(row["probability"]) for row in listed]
    assert probabilities == sorted(probabilities, reverse=True)
    assert np.mean(probabilities) == pytest.approx(np.mean(hits), abs=0.05)
    assert report["missing"] == pytest.approx(len(removed), rel=0.05)
    assert report["missing_low"] <= len(removed) <= report["missing_high"]
    assert report["right"] == pytest.approx(sum(hits), rel=0.05)
    assert sum(label["missing"] for label in report["per_label"].values()) == pytest.approx(report["missing"])


def test_fills_in_what_raises_f1(run, incomplete, complete, tmp_path):
    source, _ = incomplete
    run.ok("suggest", source, "--format", "svm", "--c", "0.7", *QUICK, "-o", tmp_path / "filled.svm")
    before, after, truth = (read(path).labels.toarray() for path in (source, tmp_path / "filled.svm", complete))
    assert (after >= before).all()
    assert f1_score(truth, after, average="micro") > f1_score(truth, before, average="micro") + 0.05


def test_data_that_are_edited_before_labels_are_filled_in_are_an_error(run, tiny, tmp_path, monkeypatch):
    """With as many instances as before: labels would go to others."""
    find = suggest.find

    def find_and_edit(*arguments):
        tiny.write_text("".join(reversed(tiny.read_text().splitlines(keepends=True))))
        return find(*arguments)

    monkeypatch.setattr(suggest, "find", find_and_edit)
    options = ("--c", 0.5, *QUICK, "--top", 2)
    assert message(run("suggest", tiny, *options, "--format", "svm", "-o", tmp_path / "filled.svm"))
    assert not (tmp_path / "filled.svm").exists()


def test_a_list_of_which_nothing_is_decided_begins_with_what_is_not_known(run, incomplete, tmp_path):
    options = ("--top", 40, *QUICK, "-o", tmp_path / "missing.tsv")
    first = run("suggest", incomplete[0], *options)
    report = run.json("suggest", incomplete[0], *options, "-q")
    assert first.stderr.splitlines()[-1].startswith("of these 40, ")
    assert "even where c is off; to narrow this, decide 20 of them or answer 40 questions" in first.stderr
    assert 0.4 < (report["right_high"] - report["right_low"]) / 40 < 0.8
    given = run("suggest", incomplete[0], *options, "--c", 0.7)
    assert "40 are listed, of which about 40 are right" in given.stderr
    nothing = run("suggest", incomplete[0], *options, "--min-probability", 1)
    assert "no suggestion is probable enough to be listed" in nothing.stderr
    assert "of these 0" not in nothing.stderr


def test_before_any_decision_a_c_near_one_does_not_limit_what_may_be_right(run, complete, tmp_path):
    """Labels of a collection in which people leave out the same ones again and again look complete, too."""
    options = (*QUICK, "-o", tmp_path / "missing.tsv")
    report = run.json("suggest", complete, *options, "--top", 200)
    assert report["right_low"] < 1
    assert report["right"] <= report["missing"] < report["missing_high"] < 100 < report["right_high"] < 200


def test_where_all_is_known_nothing_is_missing(run, tmp_path):
    data, checked = tmp_path / "data.svm", tmp_path / "checked.tsv"
    data.write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n 3:1\n")
    checked.write_text("instance\tlabel\tverdict\n" + "".join(f"{i}\t*\tno\n" for i in range(1, 5)))
    report = run.json("suggest", data, "--reviewed", checked, *QUICK, "-o", tmp_path / "out.tsv")
    assert (report["missing"], report["listed"]) == (0, 0)
    assert table(tmp_path / "out.tsv") == []


def test_instances_of_a_second_file_are_not_listed(run, tmp_path):
    data, more = tmp_path / "data.svm", tmp_path / "more.svm"
    data.write_text("".join(f"1 1:1 {i}:.1\n2 2:1 {i}:.1\n 1:1 2:1 {i}:.1\n" for i in range(3, 23)))
    more.write_text("".join(f"1 1:1 {i}:.1\n2 2:1 {i}:.1\n1,2 1:1 2:1 {i}:.1\n" for i in range(23, 43)))
    options = ("--fully-labelled", more, *QUICK)
    run.ok("suggest", data, *options, "--top", 10, "-o", tmp_path / "out.tsv")
    assert all(int(row["instance"]) % 3 == 0 and int(row["instance"]) <= 60 for row in table(tmp_path / "out.tsv"))
    filled = tmp_path / "filled.svm"
    run.ok("suggest", data, *options, "--format", "svm", "-o", filled)
    before, after = (path.read_text().splitlines() for path in (data, filled))
    assert [line.partition(" ")[2] for line in after] == [line.partition(" ")[2] for line in before]
    assert all(line == old for i, (line, old) in enumerate(zip(after, before, strict=True)) if i % 3 < 2)
    assert after != before


def test_what_people_said_outweighs_the_file_and_what_is_implied(run, tmp_path):
    """Label 1 of instance 1 is refuted; 9 is implied by 2, and instance 2 has been closed without it."""
    data, checked, rules, out = (tmp_path / name for name in ("data.svm", "checked.tsv", "rules", "out.svm"))
    data.write_text("1,2 1:1\n2 2:1\n2 1:1 2:1\n3 3:1 # text\n" * 10)
    rules.write_text("2 9\n")
    checked.write_text("instance\tlabel\tverdict\tsource\n1\t1\tno\tsuggestion\n2\t*\tno\tsuggestion\n")
    args = ("suggest", data, "--reviewed", checked, "--format", "svm", "--c", 0.999, *LINEAR, "--cost", 1)
    run.ok(*args, "--implied", rules, "--fill-implied", "-o", out)
    lines = out.read_text().splitlines()
    assert lines[0].startswith("2,9") and lines[0].endswith(" 1:1")
    assert "1" not in lines[0].split(" ")[0].split(",")
    assert lines[1] == "2 2:1"
    assert "9" in lines[2].split(" ")[0].split(",")
    assert lines[3].endswith(" 3:1 # text")


def test_probabilities_are_the_out_of_fold_predictions_of_a_training(run, incomplete, tmp_path):
    source, _ = incomplete
    options = ("--c", 0.7, *QUICK, "-q")
    oof = tmp_path / "oof.txt"
    run.ok("suggest", source, *options, "-o", tmp_path / "missing.tsv")
    run.ok("train", source, *options, "-o", tmp_path / "d.mpu", "--oof", oof)
    by_features = read(oof, Reading(scores=True)).features.toarray()
    labels = read(source).labels
    given = given_other_labels(Evidence(by_features, LabelFrequency.of(0.7, labels.shape)), labels)
    for row in table(tmp_path / "missing.tsv"):
        calibrated = given[int(row["instance"]) - 1, int(row["label"])]
        assert float(row["probability"]) == pytest.approx(0.3 * calibrated / (1 - 0.7 * calibrated), abs=1e-3)
