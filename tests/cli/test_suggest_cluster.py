"""``mpu suggest --cluster``."""

import csv
from pathlib import Path

import pytest

from mpu_cli import bundle
from mpu_cli.review import decisions
from mpu_cli.review.tables import checksum
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import Files
from tests.cli.training import message
from tests.cluster.conftest import write_parts
from tests.cluster.test_label_information import write_review
from tests.endurance.commands import model_files

# What large data get by default, which these few are to be learned like.
LARGE = ("--epochs", 1, "--folds", 2, "--sample", 100, "--levels", 2, "--shards", 2)


@pytest.fixture
def files(tmp_path) -> list[str]:
    paths = write_parts(tmp_path)
    (tmp_path / "empty.svm").write_text("")
    return [*paths[:2], str(tmp_path / "empty.svm"), *paths[2:]]


def test_decisions_of_people_are_used_and_not_listed_again(run, cluster, files, tmp_path):
    review = write_review(tmp_path / "checked.tsv", files)
    common = ("--reviewed", review, "--reviewed-wins", "--cluster", cluster, "-q", *LARGE, "--cost", 3, "--eta0", 1)
    done = run("suggest", *files, "-o", tmp_path / "missing.tsv", "--top", 50, *common)
    warning = "warning: the review has 1 new label, annotated nowhere: 7; learned from the review\n"
    assert (done.exit_code, done.stderr) == (0, warning)
    lines = [line for line in (tmp_path / "missing.tsv").read_text().splitlines() if not line.startswith("#")]
    listed = [int(row["instance"]) for row in csv.DictReader(lines, delimiter="\t")]
    assert len(listed) == 50
    assert all(i % 5 != 1 for i in listed)  # each fifth instance is completely reviewed


@pytest.mark.slow  # two trainings with all that is chosen
def test_few_instances_give_what_one_machine_gives(run, cluster, files, tmp_path):
    results = {}
    review = write_review(tmp_path / "checked.tsv", files)
    (tmp_path / "more").mkdir()
    more = write_parts(tmp_path / "more", 1, seed=0)[0]
    people = ("--reviewed", review, "--reviewed-wins", "--fully-labelled", more)
    for name, where in {"here": (), "there": ("--cluster", cluster)}.items():
        folder = tmp_path / name
        folder.mkdir()
        given = (*people, *where)
        outputs = ("--suspects", folder / "wrong.tsv", "--oof", folder / "oof.txt", "--model", folder / "a.mpu")
        done = run("suggest", *files, "-o", folder / "missing.tsv", "--top", 50, "--json", "-q", *outputs, *given)
        written = [(folder / file).read_bytes() for file in ("missing.tsv", "wrong.tsv", "oof.txt")]
        assert all(written)
        results[name] = (done.exit_code, done.stdout, done.stderr, *written, model_files(folder / "a.mpu"))
    assert results["there"] == results["here"]
    assert results["here"][0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), LARGE])
def test_train_writes_the_same_predictions_out_of_fold(run, cluster, files, tmp_path, options):
    commands = {
        "train": ("train", *files, "-o", tmp_path / "a.mpu", "--cluster", cluster),
        "suggest": ("suggest", *files, "-o", tmp_path / "missing.tsv", "--cluster", cluster),
        "here": ("train", *files, "-o", tmp_path / "b.mpu"),
    }
    for name, command in commands.items():
        without_shards = options[:-2] if name == "here" else options
        done = run(*command, "--oof", tmp_path / f"{name}.txt", "-q", *without_shards)
        assert done.exit_code == 0, done.stderr
    found = {name: (tmp_path / f"{name}.txt").read_text() for name in commands}
    assert found["train"] == found["suggest"]
    assert len(found["train"].splitlines()) == len(found["here"].splitlines()) == 400
    assert (found["train"] == found["here"]) == (options == ())  # a few instances are learned by one worker


def test_many_instances_are_predicted_by_models_that_have_not_seen_them(run, cluster, files, tmp_path):
    outputs = ("-o", tmp_path / "missing.tsv", "--oof", tmp_path / "oof.txt", "--model", tmp_path / "a.mpu")
    given = ("--cluster", cluster, "--top", 50, "-q", *LARGE)
    done = run("suggest", *files, *outputs, *given)
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    data = read(Files(files))
    suggested = decisions.read([tmp_path / "missing.tsv"])
    assert len((tmp_path / "oof.txt").read_text().splitlines()) == len(data) == 400
    assert suggested.checksums == (checksum(data.features),)
    assert len(bundle.load(tmp_path / "a.mpu").predictor.levels) == 2

    lines = (tmp_path / "missing.tsv").read_bytes()
    again = run("suggest", *files, *outputs, *given)
    assert (again.exit_code, (tmp_path / "missing.tsv").read_bytes()) == (0, lines)


@pytest.mark.slow  # two trainings with all that is chosen
def test_the_model_is_that_of_a_training(run, cluster, files, tmp_path):
    common = ("--cluster", cluster, "-q", *LARGE, "--threshold", "per-label")  # which predicts all instances too
    assert run("train", *files, "-o", tmp_path / "train.mpu", *common).exit_code == 0
    done = run("suggest", *files, "-o", tmp_path / "missing.tsv", "--model", tmp_path / "suggest.mpu", *common)
    assert done.exit_code == 0
    assert model_files(tmp_path / "suggest.mpu") == model_files(tmp_path / "train.mpu")


def test_labels_are_filled_in(run, cluster, files, tmp_path):
    Path(files[0]).write_text("".join(Path(path).read_text() for path in files))
    for name, given in {"here": (), "there": ("--cluster", cluster)}.items():
        options = ("--format", "svm", "-o", tmp_path / name, "-q")
        assert run("suggest", files[0], *options, *given).exit_code == 0
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes() != Path(files[0]).read_bytes()
    said = message(run("suggest", *files, "--format", "svm", "-o", tmp_path / "no", "-q", "--cluster", cluster))
    assert "labels are filled in to one file at a time" in said


def test_a_bad_line_is_told_by_part_and_line(run, cluster, files, tmp_path):
    with Path(files[3]).open("a") as file:
        file.write("1 1:x\n")
    said = message(run("suggest", *files, "-o", tmp_path / "missing.tsv", "--cluster", cluster, "-q"))
    assert said.startswith(f"error: {files[3]}:101: ")
    assert not (tmp_path / "missing.tsv").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--cache", "there"), "--cache and --cluster exclude each other"),
        (("--fully-labelled", "-"), "Workers of a cluster cannot read standard input"),
        (("-",), "Workers of a cluster cannot read standard input"),
    ],
)
def test_wrong_usage(run, files, given, said):
    result = run("suggest", *files, *given, "--cluster", "tcp://127.0.0.1:9")
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    result = run("suggest", *files, "--shards", 2)
    assert (result.exit_code, "--shards needs --cluster" in result.stderr) == (2, True)
