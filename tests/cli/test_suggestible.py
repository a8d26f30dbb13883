"""--only and --exclude: which labels are suggested. Probabilities do not change by them."""

import json
from types import SimpleNamespace

import pytest

from tests.cli.tables import table

QUICK = ("--cost", "1", "--eta0", "0.5", "--epochs", "2", "--folds", "2", "--c", "0.6", "-q")
NAMES = "music\thttp://v/1\nsports\nthe arts\nnews\n"


@pytest.fixture
def data(run, tmp_path):
    """A model of four labels, and its data, some labels of which are missing."""
    path = tmp_path / "n.svm"
    path.write_text("1,2 1:1 2:1\n2,3 2:1 3:1\n3 1:1 3:1\n4 4:1\n1 1:1\n 2:1 4:1\n" * 12)
    (tmp_path / "n.labels").write_text(NAMES)
    run.ok("train", path, *QUICK)
    return SimpleNamespace(path=path, model=tmp_path / "n.mpu", folder=tmp_path)


def predicted(run, data, *options) -> list[dict[str, float]]:
    result = run.ok("predict", data.model, data.path, "--format", "jsonl", *options, "-q")
    rows = map(json.loads, result.stdout.splitlines())
    return [dict(zip(row["labels"], row["probabilities"], strict=True)) for row in rows]


LISTS = {
    "by name, number and URI": ("sports\n3\n\n<http://v/1>\n", {"music", "sports", "the arts"}),
    "what follows a tab": ("2\tsports\nthe arts\tx\n", {"sports", "the arts"}),
    "a label that is not in use": ("opera\n99\nnews\n", {"news"}),
}


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("case", LISTS)
def test_predictions_are_those_of_the_labels(run, data, file, case, k):
    """The k most probable labels of those that may be suggested, with the probabilities that they have anyway."""
    text, named = LISTS[case]
    every = predicted(run, data, "--threshold", 0)
    for option, wanted in (("--only", named), ("--exclude", {"music", "sports", "the arts", "news"} - named)):
        rows = predicted(run, data, "--top-k", k, option, file(text))
        for row, all_of_it in zip(rows, every, strict=True):
            allowed = {name: p for name, p in all_of_it.items() if name in wanted}
            assert sorted(row.values(), reverse=True) == sorted(allowed.values(), reverse=True)[:k]
            assert row.items() <= allowed.items()
    thresholds = predicted(run, data)
    only = predicted(run, data, "--only", file(text))
    assert only == [{name: p for name, p in row.items() if name in named} for row in thresholds]


def test_both_together(run, data, file):
    exclude = data.folder / "exclude.txt"
    exclude.write_text("news\n")
    rows = predicted(run, data, "--threshold", 0, "--only", file("news\nsports\n"), "--exclude", exclude)
    assert {*rows[0]} == {"sports"}


def test_suggestions(run, data, file):
    out, every = data.folder / "missing.tsv", data.folder / "every.tsv"
    run.ok("suggest", data.path, "--min-probability", 0.01, *QUICK, "-o", every)
    args = "suggest", data.path, "--min-probability", 0.01, *QUICK, "-o", out
    run.ok(*args, "--exclude", file("music\n"))
    assert table(out) == [row for row in table(every) if row["label"] != "music"] != table(every)
    run.ok(*args, "--only", file("music\n"))
    assert table(out) == [row for row in table(every) if row["label"] == "music"]
    run.ok(*args, "--only", file("music\n"), "--top", 3)
    assert table(out) == [row for row in table(every) if row["label"] == "music"][:3]


def test_a_page(run, data, file):
    suggestions = data.folder / "missing.tsv"
    suggestions.write_text("instance\tlabel\tverdict\n1\tnews\t\n2\tmusic\t\n")
    args = "review", data.path, "--suggestions", suggestions, "-o", data.folder / "r.html"
    assert "1 instance to review, with 1 suggested label;" in run(*args, "--only", file("news\n")).stderr
    assert "with 2 suggested labels;" in run(*args, "--exclude", file("sports\n")).stderr


def test_only_these_labels_are_asked_about(run, digits, tmp_path):
    (tmp_path / "only").write_text("2\n3\n")
    questions = tmp_path / "questions.tsv"
    run("suggest", digits[0], "--questions", 8, "--only", tmp_path / "only", "-o", questions, "-q")
    assert len(table(questions)) == 8
    assert {row["label"] for row in table(questions)} <= {"one", "two"}
