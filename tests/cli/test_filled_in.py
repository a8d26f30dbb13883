"""Labels that ``suggest --format svm`` has filled in are not annotations: nothing is learned from them."""

from unittest.mock import Mock

import pytest

from mpu_cli.review.decisions import read_lines
from tests.cli.tables import label_sets
from tests.cli.test_implied_labels import hierarchy, write_rules
from tests.cli.test_questions import estimated
from tests.core.simulated import hide
from tests.svm import write

QUICK = "--features", "linear", "--cost", 3, "--eta0", 1, "--epochs", 3, "--levels", 1, "-q"


def cells(file):
    return {(i, k) for i, labels in enumerate(label_sets(file), 1) for k in labels}


def listed(file):
    found = read_lines(file)
    return {(i + 1, k) for i, k in zip(found.instance.tolist(), found.label.tolist(), strict=True)}


def make(run, folder):
    X, Y = hierarchy(0)
    news = write(folder / "news.svm", X, hide(Y, 0.4).toarray())
    run.ok("suggest", news, *QUICK, "--format", "svm", "-o", folder / "first.svm")


@pytest.fixture
def filled(copied):
    """Data, news.svm, and first.svm, in which labels are filled in."""
    return copied(make)


def test_filled_in_labels_are_not_learned_from(run, tmp_path, filled):
    news, first = filled / "news.svm", filled / "first.svm"
    assert len(listed(tmp_path / "first.filled")) > 200
    assert listed(tmp_path / "first.filled") == cells(first) - cells(news)
    for command in ("train", "estimate-c", "suggest"):
        refused = run(command, first)
        assert refused.exit_code == 1
        assert "which are not annotations" in refused.stderr
    (tmp_path / "first.filled").unlink()
    assert estimated(run, first)["c"] > 0.9


def test_nothing_is_left_of_data_that_cannot_be_written(run, tmp_path, monkeypatch):
    X, Y = (array[:200] for array in hierarchy(1))
    news, rules = write(tmp_path / "news.svm", X, hide(Y, 0.4).toarray()), write_rules(tmp_path / "rules.tsv")
    monkeypatch.setattr(
        "mpu_cli.svmlight.writer.LabelledLines.written", Mock(side_effect=OSError(27, "File too large"))
    )
    args = *QUICK, "--format", "svm", "--implied", rules, "--fill-implied", "-o", tmp_path / "a.svm"
    assert run("suggest", news, *args).exit_code == 1
    assert not list(tmp_path.glob("a.*"))


def test_the_list_goes_where_the_file_goes(run, tmp_path, filled):
    """A list beside standard output or a device there is none of."""
    args = "suggest", filled / "news.svm", *QUICK, "--format", "svm", "--top", 5, "-o"
    assert "count as annotated" in run.ok(*args, "/dev/null").stderr
