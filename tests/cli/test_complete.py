import json

import numpy as np
import pytest

from mpu_cli.svmlight.reader import read


@pytest.fixture
def incomplete(run, digits, tmp_path):
    """The digits without three tenths of their labels, and which those are."""
    source, removed = tmp_path / "in.svm", tmp_path / "removed.tsv"
    assert run("corrupt", digits[0], source, "--missing-rate", "0.3", "--removed", removed).exit_code == 0
    return source, {tuple(map(int, line.split("\t"))) for line in removed.read_text().splitlines()}


def rows(path):
    lines = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def test_lists_what_was_removed(run, incomplete, tmp_path):
    source, removed = incomplete
    args = ("complete", source, "--top", len(removed), "--c", "0.7", "-o", tmp_path / "missing.tsv", "--json")
    report = json.loads(run(*args).stdout)
    listed = rows(tmp_path / "missing.tsv")
    assert len(listed) == report["listed"] == len(removed)
    hits = [(int(row["instance"]), int(row["label"])) in removed for row in listed]
    probabilities = [float(row["probability"]) for row in listed]
    assert probabilities == sorted(probabilities, reverse=True)
    assert np.mean(probabilities) == pytest.approx(np.mean(hits), abs=0.05)
    assert report["missing"] == pytest.approx(len(removed), rel=0.05)
    assert report["missing_low"] <= len(removed) <= report["missing_high"]
    assert report["right_low"] <= sum(hits) <= report["right_high"]
    assert sum(label["missing"] for label in report["per_label"].values()) == pytest.approx(report["missing"])


def test_fills_in_what_raises_f1(run, incomplete, digits, tmp_path):
    source, _ = incomplete
    result = run("complete", source, "--format", "svm", "--c", "0.7", "-o", tmp_path / "filled.svm")
    assert result.exit_code == 0
    before, after, truth = (read(path).labels.toarray() for path in (source, tmp_path / "filled.svm", digits[0]))
    assert (after >= before).all()

    def f1(labels):
        return 2 * (labels & truth).sum() / (labels.sum() + truth.sum())

    assert f1(after) > f1(before) + 0.05


def test_decisions_are_learned_from_and_not_listed_again(run, incomplete, tmp_path):
    source, removed = incomplete
    first, checked = tmp_path / "missing.tsv", tmp_path / "checked.tsv"
    run("complete", source, "--top", 40, "--c", "0.7", "-o", first)
    listed = rows(first)
    for row in listed:
        row["verdict"] = "yes" if (int(row["instance"]), int(row["label"])) in removed else "no"
    text = ["\t".join(listed[0]), *("\t".join(row.values()) for row in listed)]
    checked.write_text("\n".join(text) + "\n")
    assert run("complete", source, "--reviewed", checked, "--top", 40, "--c", "0.7", "-o", first).exit_code == 0
    seen = {(row["instance"], row["label"]) for row in listed}
    assert not seen & {(row["instance"], row["label"]) for row in rows(first)}


def test_suspects_are_another_list(run, incomplete, tmp_path):
    args = ("complete", incomplete[0], "--top", 5, "--suspects", tmp_path / "suspects.tsv", "-o", tmp_path / "out.tsv")
    assert run(*args).exit_code == 0
    assert len(rows(tmp_path / "suspects.tsv")) == 5


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["--fill-implied"], 2, "--fill-implied needs --implied"),
        (["--implied", "nowhere.tsv"], 1, "nowhere.tsv: cannot be read"),
        (["--top", "0"], 2, "--top"),
        (["--min-probability", "1.5"], 2, "--min-probability"),
        (["-o", "nowhere/out.tsv"], 1, "cannot be written"),
    ],
)
def test_errors(run, incomplete, args, status, words):
    result = run("complete", incomplete[0], *args)
    assert result.exit_code == status
    assert words in result.stderr


def test_filling_in_needs_a_file(run, incomplete):
    result = run("complete", "-", "--format", "svm", stdin=incomplete[0].read_bytes())
    assert result.exit_code == 1
    assert "give a file" in result.stderr
