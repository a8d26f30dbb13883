"""``mpu estimate-c --cluster``: the report is that of one machine."""

import json
from pathlib import Path

import numpy as np
import pytest

from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import Files
from tests.cli.training import message
from tests.cluster.conftest import write_parts
from tests.cluster.test_label_information import write_review
from tests.slow import slow


@pytest.fixture
def files(tmp_path) -> list[str]:
    paths = write_parts(tmp_path)
    (tmp_path / "empty.svm").write_text("")
    return [*paths[:2], str(tmp_path / "empty.svm"), *paths[2:]]


@pytest.mark.parametrize(
    "given",
    [
        (),
        ("--json",),
        ("--sample", 150, "--json"),
        ("--per-label", "--method", "e1", "--plan", "0.1", "--folds", 3, "--sample", 333, "--seed", 4),
    ],
    ids=len,
)
def test_the_report_is_that_of_one_machine(run, cluster, files, given):
    here = run("estimate-c", *files, *given, "-q")
    there = run("estimate-c", *files, *given, "-q", "--cluster", cluster)
    assert (there.exit_code, there.stdout, there.stderr) == (0, here.stdout, here.stderr)
    assert here.stdout


@pytest.mark.parametrize("which", ["reviewed", "complete", "answers", *slow("both")])
def test_people_tell_c_as_on_one_machine(run, cluster, files, tmp_path, which):
    (tmp_path / "more").mkdir()
    people = {
        "reviewed": ("--reviewed", write_review(tmp_path / "checked.tsv", files), "--reviewed-wins"),
        "complete": ("--fully-labelled", write_parts(tmp_path / "more", 1, seed=0)[0]),
    }
    cells = np.argwhere(~read(Files(files)).labels.toarray())[::13]
    asked = [f"{i + 1}\t{k}\t{'yes' if i % 3 else 'no'}\tquestion\t0.1\n" for i, k in cells.tolist()]
    (tmp_path / "answers.tsv").write_text("instance\tlabel\tverdict\tsource\tdrawn\n" + "".join(asked))
    people["answers"] = ("--reviewed", tmp_path / "answers.tsv")
    given = [*(people["reviewed"] + people["complete"] if which == "both" else people[which])]
    common = ("--per-label", "--json", "-q", "--plan", "0.1", "--sample", 300)
    here = run("estimate-c", *files, *given, *common)
    there = run("estimate-c", *files, *given, *common, "--cluster", cluster)
    assert (there.exit_code, there.stdout, there.stderr) == (0, here.stdout, here.stderr)
    report = json.loads(here.stdout)
    assert report["method"] == {"answers": "questions", "complete": "complete"}.get(which, "reviewed")
    assert which == "answers" or report["complete_instances"] == {"complete": 100}.get(which, 80)


def test_frequencies_are_written(run, cluster, files, tmp_path):
    for name, given in (("here", ()), ("there", ("--cluster", cluster))):
        assert run("estimate-c", *files, "--per-label", "-o", tmp_path / name, "-q", *given).exit_code == 0
    assert (tmp_path / "there").read_text() == (tmp_path / "here").read_text() != ""


def test_names_of_labels(run, cluster, files, tmp_path):
    (tmp_path / "names.txt").write_text("".join(f"label{k}\n" for k in range(5)))
    given = ("--per-label", "--labels", tmp_path / "names.txt", "--cluster", cluster, "--json", "-q")
    report = json.loads(run("estimate-c", *files, *given).stdout)
    assert [row["name"] for row in report["per_label"]] == [f"label{k}" for k in range(5)]


def test_a_bad_line_is_told_by_part_and_line(run, cluster, files):
    with Path(files[3]).open("a") as file:
        file.write("1 1:x\n")
    said = message(run("estimate-c", *files, "--cluster", cluster, "-q"))
    assert said.startswith(f"error: {files[3]}:101: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--fully-labelled", "-"), "Workers of a cluster cannot read standard input"),
        (("--cache", "there"), "--cache and --cluster exclude each other"),
        (("-",), "Workers of a cluster cannot read standard input"),
    ],
)
def test_wrong_usage(run, files, given, said):
    result = run("estimate-c", *files, *given, "--cluster", "tcp://127.0.0.1:9")
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
