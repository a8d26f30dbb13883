import json
import re
import shutil

import numpy as np
import pytest

from mpu_cli.svmlight.reader import read
from tests.cli.tables import first_lines
from tests.cli.test_questions import LINEAR, answered, estimated
from tests.slow import slow
from tests.svm import write

QUICK = *LINEAR, "--cost", 10, "--epochs", 3, "--levels", 1


@pytest.fixture
def corrupted(run, digits, tmp_path):
    """Remove a share of the labels of the training digits; give the path."""

    def make(rate):
        path = tmp_path / "corrupted.svm"
        run("corrupt", digits[0], path, "--missing-rate", rate, "--seed", 1)
        return path

    return make


@pytest.fixture
def noise(tmp_path):
    """Labels that have nothing to do with the features."""
    rng = np.random.default_rng(0)
    Y = np.eye(3)[rng.integers(3, size=300)]
    Y[::20] = [1, 0, 1]
    return write(tmp_path / "noise.svm", rng.normal(size=(300, 5)), Y, form=".3f")


@pytest.mark.parametrize(
    ("rate", "features"),
    [(0, "linear"), (0.3, "linear"), (0.6, "linear"), *slow((0, "auto"), (0.3, "auto"), (0.6, "auto"))],
)
def test_c_is_the_share_that_is_left(run, corrupted, rate, features):
    report = estimated(run, corrupted(rate), "--features", features)
    assert report["c"] == pytest.approx(1 - rate, abs=0.03)
    assert report["missing_rate"] == pytest.approx(1 - report["c"])
    low, high = report["interval"]
    assert 0 < low <= report["c"] <= high <= 1
    assert high - low < 0.35
    assert report["predictable"] is True


def test_names_and_steps_are_told(run, digits, tmp_path):
    source = first_lines(digits[0], 100, tmp_path / "digits.svm")
    shutil.copy(digits[0].with_name("digits.labels"), tmp_path)
    result = run("estimate-c", source, "--folds", 2, "-v")
    names, *steps = result.stderr.splitlines()
    assert names.endswith("digits.labels names 18 of 18 labels")
    assert [line.partition(":")[0] for line in steps if not line.startswith(("compiling", "seconds: "))] == [
        *("reading data", "estimating c", "choosing settings", "choosing features"),  # as `mpu train` does
        *("predicting out of fold", "estimating c"),
    ]


def test_a_table_per_label_changes_no_c_of_many_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    topics = rng.integers(1, 601, (1000, 20))
    lines = (
        f"{','.join(map(str, sorted({*of[: 0 if i % 5 < 2 else 12]})))} {of[0]}:1\n" for i, of in enumerate(topics)
    )
    (tmp_path / "many.svm").write_text("".join(lines))
    one, other = (estimated(run, tmp_path / "many.svm", *more) for more in ((), ("--per-label",)))
    assert (one["c"], one["interval"], one["warnings"]) == (other["c"], other["interval"], other["warnings"])


def test_a_table_per_label(run, corrupted):
    """The missing labels of all are those of the pooled c, and estimates that say little are marked."""
    path = corrupted(0.6)
    report = estimated(run, path, "--per-label")
    rows = report["per_label"]
    assert [row["label"] for row in rows] == list(range(1, 19))
    assert report["missing"] == pytest.approx(sum(row["annotations"] for row in rows) * (1 / report["c"] - 1))
    assert sum(row["missing"] for row in rows) == pytest.approx(report["missing"])
    table = run("estimate-c", path, *LINEAR, "--per-label", "-q").stdout.partition("\nlabel  ")[2].splitlines()
    assert table[0].split() == ["annotations", "c", "90", "%", "from", "to", "missing"]
    for row, line in zip(rows, table[1:], strict=True):
        low, high = row["interval"]
        assert row["pooled"] and row["c"] == report["c"]
        assert 0 < low <= row["c"] <= high <= 1
        assert row["unreliable"] == (high - low > 0.5)
        assert line.split()[:3] == [str(row["label"]), str(row["annotations"]), f"{row['c']:.4f}"]
        assert line.endswith("  c is not its own" + ", unreliable" * row["unreliable"])


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
@pytest.mark.parametrize("by", ["annotations", "groups", "answers"])
def test_no_more_labels_are_missing_than_there_are_cells(run, tmp_path, by, seed):
    """Also if all answers are yes; and what is said of c agrees, and is accepted as given."""
    rng = np.random.default_rng(seed)
    X, S = rng.random((60, 4)), rng.random((60, 4)) < [0.15, 0.3, 0.45, 0.6]
    data, file, table = write(tmp_path / "few.svm", X, S, form=".3f"), tmp_path / "c.txt", tmp_path / "few.csv"
    options = []
    if by == "groups":
        (tmp_path / "groups.txt").write_text("a\n" * 20 + "b\n" * 40)
        options = ["--groups", tmp_path / "groups.txt"]
    elif by == "answers":
        options = ["--reviewed", tmp_path / "answers.tsv"]
        run.ok("suggest", data, "--questions", 40, "-o", options[1])
        answered(options[1], options[1], np.ones(S.shape, int))
    found = estimated(run, data, *options, "--per-label", "-o", file)
    trained = run.json("train", data, "-o", tmp_path / "m.mpu", *options, *QUICK)
    listed = run.json("suggest", data, "-o", tmp_path / "missing.tsv", *options, *QUICK)
    assert listed["listed"] == listed["worth_filling_in"]
    run.ok("report", data, "-o", tmp_path / "few.html", "--csv", table, *options)
    assert found["c"] >= found["interval"][0] >= S.mean()
    assert (trained.get("c_overall", trained["c"]), trained["c_interval"]) == (found["c"], found["interval"])
    assert found["missing"] == pytest.approx(listed["missing"])
    assert 0 <= listed["missing_low"] <= listed["missing"] <= listed["missing_high"] <= (~S).sum() + 1e-6
    shares, left = S.mean(axis=0), (~S).sum(axis=0)
    for k, row in enumerate(found["per_label"]):
        assert row["c"] >= row["interval"][0] >= shares[k]
        assert row["missing"] <= left[k] + 1e-6
        one = listed["per_label"][str(k + 1)]
        assert max(value or 0 for value in one.values()) <= left[k] + 1e-6
        if by == "answers":
            assert one["missing"] == pytest.approx(row["missing"])
    for row, part in zip(found.get("per_group", ()), (slice(20), slice(20, None)), strict=False):
        assert row["c"] >= row["interval"][0] >= S[part].mean()
        assert row["missing"] <= (~S[part]).sum() + 1e-6
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    assert max(float(value or 0) for row in rows for value in row[4:]) <= (~S).sum() + 1e-6
    if by != "groups":
        run.ok("train", data, "-o", tmp_path / "given.mpu", "--c", file, *QUICK)


def test_noise_is_warned_of_also_when_quiet_and_the_help_says_the_whole_assumption(run, noise):
    result = run("estimate-c", noise, *LINEAR, "-q")
    assert "is unreliable: annotations are too few, " in result.stderr
    assert "may be far off" in result.stderr
    report = estimated(run, noise)
    assert report["predictable"] is False
    assert report["assumption"] in " ".join(run("estimate-c", "--help").stdout.split())


def test_a_small_c_that_may_be_twice_as_large_is_open(run, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 5))
    Z = X @ rng.normal(size=(5, 5))
    S = (np.quantile(Z, 0.85, axis=0) < Z) & (rng.random(Z.shape) < 0.15)
    report = estimated(run, write(tmp_path / "rare.svm", X, S, form=".4g"))
    low, high = report["interval"]
    assert 2 * low <= high < low + 0.2
    assert report["advice"].startswith("answer 40 questions")


@pytest.mark.parametrize("command", ["estimate-c --plan 0.1", "train --epochs 1 --cost 1 --levels 1"])
def test_c_of_1_is_certain_where_every_cell_is_annotated(run, tmp_path, command):
    (tmp_path / "all.svm").write_text("1,2 1:1\n" * 10)
    result = run.ok(*command.split(), tmp_path / "all.svm", "-q")
    assert result.stderr == ""
    assert "--plan" not in command or "there is nothing to ask" in result.stdout


def test_the_same_seed_gives_the_same_report_on_any_number_of_threads(run, noise):
    each = ((1, 0), (2, 0), (2, 1))
    one, two, other = (estimated(run, noise, "-j", jobs, "--seed", seed, "--per-label") for jobs, seed in each)
    assert one == two != other


@pytest.mark.parametrize(
    "text", ["1 1:1\n", "1\n", "1 1:0\n2 1:0\n", "1 1:1\n2\n\n", "0,2147483646 1:1\n 1:1\n", "1,2 1:1\n" * 60]
)
@pytest.mark.parametrize("method", ["bbe", "e1", "e2", "e3"])
def test_edge_cases(run, file, text, method):
    report = estimated(run, file(text, "edge.svm"), "--per-label", "--method", method)
    assert ("interval" in report) == ("c_by_scores" not in report)
    assert all(0 < row["c"] <= 1 for row in report["per_label"])
    for row in [report, *report["per_label"]] if "interval" in report else []:
        assert 0 < row["interval"][0] <= row["c"] <= row["interval"][1] <= 1


@pytest.mark.parametrize("instances", [1, 5])
def test_few_instances_are_warned_of(run, digits, tmp_path, instances):
    few = first_lines(digits[0], instances, tmp_path / "few.svm")
    for command in ["estimate-c"], ["train", "-o", tmp_path / "few.mpu"], ["suggest", "-o", tmp_path / "few.tsv"]:
        assert f"warning: only {instances} instance" in run(command[0], few, *command[1:]).stderr


@pytest.fixture
def one_each(tmp_path):
    """Two topics in most records, one of which is annotated; in two of 240 records both are."""
    rng = np.random.default_rng(0)
    path = tmp_path / "one.svm"
    with path.open("w") as file:
        for i in range(240):
            topics = sorted({i % 3 + 1, i // 3 % 3 + 1})
            annotated = topics if i in (1, 2) else [topics[rng.integers(len(topics))]]
            file.write(f"{','.join(map(str, annotated))} {' '.join(f'{t}:1' for t in topics)} {4 + i % 2}:1\n")
    return path


@pytest.mark.slow  # five commands
def test_where_instances_have_one_label_each_no_command_says_what_is_missing(run, one_each, tmp_path):
    """c is unknown, and each command says so, what c would be if each truly had one, and what to do."""
    result = run("estimate-c", one_each, *LINEAR)
    assert "label frequency c  unknown" in result.stdout
    assert "missing labels     unknown" in result.stdout
    by_scores = r"scores suggest 0.\d+, which holds only if no instance truly has more than 1 label"
    assert re.search(by_scores, result.stdout)
    assert "mpu suggest FILE --questions 40" in result.stdout
    report = estimated(run, one_each, "--per-label", "--plan", "0.2", "-o", tmp_path / "c.txt")
    assert not {"c", "missing_rate", "missing", "interval"} & report.keys()
    assert [(row["interval"], row["missing"]) for row in report["per_label"]] == [(None, None)] * 3
    assert "  unknown  c is only assumed\n" in run("estimate-c", one_each, *LINEAR, "--per-label").stdout
    assert report["c_by_scores"] > 0.8
    assert report["plan"][0]["instances"] > 0
    described = (tmp_path / "c.txt").read_text()
    assert described.startswith("# c is unknown: these are right only if no instance truly has more ")
    model = tmp_path / "one.mpu"
    (tmp_path / "groups.txt").write_text("a\nb\n" * 120)
    history = tmp_path / "history"
    for more in ("--c", tmp_path / "c.txt"), ("--groups", tmp_path / "groups.txt"), ():
        trained = run.json("train", one_each, "-o", model, "--history", history, *QUICK, *more)
        assert trained["c_known"] is False
        assert not {"c_interval", "expected_micro_f1_interval", "c_by_group"} & trained.keys()
        told = run.json("info", model)
        assert (told["c"]["known"], told["c"]["interval"]) == (False, None)
        assert "c_interval" not in told["options"]
    assert [json.loads(line)["c_interval"] for line in history.read_text().splitlines()] == [None] * 3
    assert trained["c_assumption"].startswith("no instance truly has more than 1 label, and features make")
    assert told["c"]["assumption"] == trained["c_assumption"]
    completed = run("suggest", one_each, *QUICK, "-o", tmp_path / "missing.tsv")
    assert "may be right, by lists judged elsewhere, even where c is off; to narrow this" in completed.stderr
    assert "; how many labels are missing is unknown\n" in completed.stderr
    listed = run.json("suggest", one_each, *QUICK, "-o", tmp_path / "missing.tsv", "-q")
    unknown = "missing", "missing_low", "missing_high", "expected_f1_before", "expected_f1_after"
    assert [listed[name] for name in unknown] == [None] * 5
    assert set(listed["per_label"]["1"].values()) == {None}
    page, table = tmp_path / "one.html", tmp_path / "one.csv"
    assert "is unknown" in run("report", one_each, "-o", page, "--csv", table).stderr
    assert "By label" not in page.read_text()
    assert table.read_text().splitlines()[1] == "all,,,242,,,"
    for command in (result, completed):
        assert "c cannot be estimated" in command.stderr


def test_labels_may_differ_where_instances_have_one_label_each(run, tmp_path):
    """Then the model uses what scores suggest, and says so, and not that each instance has one label."""
    rng, rates = np.random.default_rng(0), np.linspace(0.15, 0.9, 8)
    true = rng.random((4000, 8)) < 0.2
    annotated = true & (rng.random(true.shape) < rates)
    one = annotated.sum(axis=1) < 2
    features = (true + rng.normal(0, 0.1, true.shape))[one]
    path = write(tmp_path / "one.svm", features, annotated[one], form=".2f")
    trained = run("train", path, "-o", tmp_path / "m", *QUICK)
    assert re.search(r"\nc +unknown: .* scores suggest, .* by label, 0\.\d+ to [01]\.\d+", trained.stdout)
    assert "if each c is right" in trained.stdout
    described = run.json("info", tmp_path / "m")["c"]
    assert described["assumption"].startswith("every true label is annotated") and described["overall"] is None
    assert estimated(run, path)["by_label"] is True
    path = write(tmp_path / "several.svm", true, annotated, form="d")
    run.ok("train", path, "-o", tmp_path / "several", *QUICK)
    of_labels, of_all = run.json("info", tmp_path / "several")["c"], estimated(run, path)
    assert (of_labels["overall"], of_labels["interval"]) == (of_all["c"], of_all["interval"])


def test_answers_tell_c_where_instances_have_one_label_each(run, one_each, tmp_path):
    questions = tmp_path / "questions.tsv"
    run.ok("suggest", one_each, "--questions", 40, "-o", questions)
    answered(questions, questions, read(one_each).features.toarray()[:, 1:])  # a topic is a feature
    report = estimated(run, one_each, "--reviewed", questions)
    low, high = report["interval"]
    assert low < 242 / 400 < high  # of 240 records, 160 have two topics
    assert "by_annotations_alone" not in report


@pytest.mark.parametrize(
    "command",
    [
        ("estimate-c",),
        ("suggest", "--questions", 5),
        ("experiment", "--methods", "br:cost=1:epochs=1", "--missing-rates", 0, "-j", 1),
    ],
)
def test_cost_is_that_of_the_features_that_occur(run, tmp_path, monkeypatch, command):
    """Indices are near 2^31."""
    monkeypatch.setattr("mpu_cli.cli.actions.experiment.find_spec", lambda name: None)  # no figures
    rows = (f"{k % 3 + 1} {(k % 3 + 1) * 500_000_000}:1 2000000000:{k % 7 + 1}" for k in range(60))
    (tmp_path / "large.svm").write_text("\n".join(rows) + "\n")
    outputs = {"suggest": ("-o", tmp_path / "out"), "experiment": ("--out", tmp_path / "results", "--folds", 2)}
    run.ok(command[0], tmp_path / "large.svm", *command[1:], *outputs.get(command[0], ()), "-q")
