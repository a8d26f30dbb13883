"""Labels that ``suggest --format svm`` has filled in are not annotated: nothing is learned from them."""

import json
from unittest.mock import Mock

import numpy as np
import pytest

from mpu_cli.review.decisions import read_cells
from tests.cli.tables import label_sets
from tests.cli.test_implied_labels import hierarchy, write_rules
from tests.cli.test_questions import estimated
from tests.core.simulated import hide
from tests.svm import write

COLUMNS = "instance\tlabel\tverdict\n"
QUICK = "--features", "linear", "--cost", 3, "--eta0", 1, "--epochs", 3, "--levels", 1, "-q"


def fill_in(run, file, target, *options):
    return run.json("suggest", file, *QUICK, "--format", "svm", "-o", target, *options)["filled_in"]


def cells(file):
    return {(i, k) for i, labels in enumerate(label_sets(file), 1) for k in labels}


def listed(file):
    found = read_cells(file)
    return {(i + 1, k) for i, k in zip(found.instance.tolist(), found.label.tolist(), strict=True)}


def make(run, folder):
    X, Y = hierarchy(0)
    news = write(folder / "news.svm", X, hide(Y, 0.4).toarray())
    result = run.ok("suggest", news, *QUICK, "--format", "svm", "-o", folder / "first.svm", "--json")
    (folder / "first.json").write_text(result.stdout)


@pytest.fixture
def filled(copied):
    """Data, news.svm; first.svm, in which labels are filled in; and the report of that."""
    return copied(make)


@pytest.mark.slow
def test_filling_in_does_not_raise_c(run, tmp_path, filled):
    news, first, second = (filled / f"{name}.svm" for name in ("news", "first", "second"))
    rules = "--implied", write_rules(tmp_path / "rules.tsv")
    assert len(listed(tmp_path / "first.filled")) > 200
    assert listed(tmp_path / "first.filled") == cells(first) - cells(news)
    assert fill_in(run, first, second, "--top", 300, *rules, "--fill-implied") >= 300  # none of them for a second time
    assert listed(tmp_path / "second.filled") == cells(second) - cells(news)
    before, *after = (estimated(run, file) for file in (news, first, second))
    assert (before["c"], [one["c"] for one in after]) == (pytest.approx(0.6, abs=0.06), [before["c"]] * 2)
    for file in (first, second):
        trained = run.json("train", file, *QUICK, "-o", tmp_path / "m.mpu")
        assert trained["c"] == pytest.approx(before["c"], abs=0.01)
        origin = json.loads(next((tmp_path / "m.mpu").glob("training-*.json")).read_text())
        assert sum(origin["annotated"]) == len(cells(news))
        (tmp_path / file.name).with_suffix(".filled").unlink()
        assert estimated(run, file)["c"] > 0.9


@pytest.mark.slow
def test_filling_in_again_claims_the_same_and_adds_nothing(run, filled):
    first, second = filled / "first.svm", filled / "second.svm"
    once = json.loads((filled / "first.json").read_text())
    again = run.json("suggest", first, *QUICK, "--format", "svm", "-o", second)
    assert once["expected_f1_after"] > once["expected_f1_before"] + 0.02
    assert again["expected_f1_before"] == pytest.approx(once["expected_f1_after"], abs=1e-6)
    assert (again["filled_in"], again["missing_found"], again["missing"]) == (0, 0, once["missing"])
    assert first.read_bytes() == second.read_bytes()


def test_what_was_filled_in_of_a_complete_instance_is_annotated(run, tmp_path, filled):
    """Who completes an instance sees its labels, those filled in among them."""
    i, _ = min(listed(tmp_path / "first.filled"))
    seen = [k for j, k in listed(tmp_path / "first.filled") if j == i]
    (tmp_path / "checked.tsv").write_text(f"{COLUMNS}{i}\t*\tno\n")
    run.ok("train", tmp_path / "first.svm", *QUICK, "-o", tmp_path / "m", "--reviewed", tmp_path / "checked.tsv")
    origin = json.loads(next((tmp_path / "m").glob("training-*.json")).read_text())
    assert sum(origin["annotated"]) == len(cells(filled / "news.svm")) + len(seen)


@pytest.mark.parametrize("kind", ["question\t0.1\t", "suggestion\t\t0.5", "added\t\t\n{}\t*\tno\tsample\t\t"])
def test_labels_that_a_review_found_may_be_added_to_the_data(run, tmp_path, filled, kind):
    yes = sorted(listed(tmp_path / "first.filled"))
    no = [(i, 1) for i in range(1, 41) if (i, 1) not in cells(tmp_path / "first.svm")]
    rows = [f"{i}\t{k}\t{'yes' if (i, k) in yes else 'no'}\t{kind.format(i)}\n" for i, k in (*yes, *no)]
    (tmp_path / "decided.tsv").write_text("".join([COLUMNS[:-1], "\tsource\tdrawn\tprobability\n", *rows]))
    options = *QUICK, "--top", 20, "--reviewed", tmp_path / "decided.tsv", "-o", tmp_path / "list"
    before, filled_in = (run.json("suggest", tmp_path / f"{name}.svm", *options) for name in ("news", "first"))
    (tmp_path / "first.filled").unlink()
    assert filled_in == before == run.json("suggest", tmp_path / "first.svm", *options)


def test_the_expected_number_of_right_ones_is_in_its_interval(run, tmp_path, filled):
    checked = tmp_path / "checked.tsv"
    run.ok("suggest", filled / "news.svm", *QUICK, "--top", 50, "-o", checked)
    checked.write_text(checked.read_text().replace("\t\tsuggestion", "\tyes\tsuggestion"))
    fill_in(run, filled / "news.svm", tmp_path / "more.svm", "--top", 3000)
    args = *QUICK, "--reviewed", checked, "--top", 30, "-o", tmp_path / "more.tsv"
    report = run.json("suggest", tmp_path / "more.svm", *args)
    assert report["right_low"] <= report["right"] <= report["right_high"]


@pytest.mark.slow
def test_a_review_outweighs_what_was_filled_in(run, tmp_path, filled):
    """Of the labels filled in, one is confirmed and one refuted; both are decided then."""
    right, wrong = sorted(listed(tmp_path / "first.filled"))[:2]
    rows = [f"{i}\t{k}\t{verdict}\n" for (i, k), verdict in ((right, "yes"), (wrong, "no"))]
    (tmp_path / "checked.tsv").write_text(COLUMNS + "".join(rows))
    args = "--reviewed", tmp_path / "checked.tsv", "--top", 1
    assert fill_in(run, tmp_path / "first.svm", tmp_path / "second.svm", *args) == 1
    assert wrong not in cells(tmp_path / "second.svm") | listed(tmp_path / "second.filled")
    assert right in cells(tmp_path / "second.svm") & listed(tmp_path / "second.filled")


def test_nothing_is_left_of_data_that_cannot_be_written(run, tmp_path, monkeypatch):
    X, Y = (array[:200] for array in hierarchy(1))
    news, rules = write(tmp_path / "news.svm", X, hide(Y, 0.4).toarray()), write_rules(tmp_path / "rules.tsv")
    monkeypatch.setattr("mpu_cli.svmlight.writer.with_labels", Mock(side_effect=OSError(27, "File too large")))
    args = *QUICK, "--format", "svm", "--implied", rules, "--fill-implied", "-o", tmp_path / "a.svm"
    assert run("suggest", news, *args).exit_code == 1
    assert not list(tmp_path.glob("a.*"))


def test_the_list_goes_where_the_file_goes(run, tmp_path, filled):
    """A list beside standard output or a device there is none of."""
    args = "suggest", filled / "news.svm", *QUICK, "--format", "svm", "--top", 5, "-o"
    assert "count as annotated" in run.ok(*args, "/dev/null").stderr


def test_what_was_filled_in_is_said(run, tmp_path):
    X, Y = hierarchy(0)
    write(tmp_path / "a.svm", X, Y)
    i, k = np.argwhere(Y)[0] + 1
    (tmp_path / "a.filled").write_text(f"{COLUMNS}{i}\t{k}\n")
    args = "train", tmp_path / "a.svm", *QUICK[:-1], "--c", 0.5
    assert "a.filled: 1 label of" in run(*args).stderr
