"""``mpu evaluate --cluster``: the numbers are those of one machine."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.training import message
from tests.cluster.conftest import write_parts

QUICK = ("--c", 0.7, "--cost", 10, "--epochs", 2, "--levels", 1, "-q")
FORMS = ("labels", "scores", "both")


def make(run, folder):
    paths = write_parts(folder, 3)
    lines = Path(paths[0]).read_text().splitlines(keepends=True)
    Path(paths[0]).write_text("".join(lines[:37]))
    (folder / "empty.svm").write_text("")
    paths = names(folder)
    assert run("train", *paths, "-o", folder / "one.mpu", *QUICK, "--threshold", "per-label").exit_code == 0
    assert run("train", *paths, "-o", folder / "two.mpu", *QUICK, "--seed", 5).exit_code == 0
    for form in FORMS:
        assert run("predict", folder / "one.mpu", *paths, "-o", folder / form, "--format", form).exit_code == 0


def names(folder: Path) -> list[str]:
    return [str(folder / f"{name}.svm") for name in ("part-0", "empty", "part-1", "part-2")]


@pytest.fixture
def trained(copied) -> Path:
    """Parts, a model, another one, and the predictions of the first in every form."""
    return copied(make)


@pytest.fixture
def files(trained) -> list[str]:
    """Parts of different sizes, one of them without instances."""
    return names(trained)


def same_on_both(run, cluster, *arguments) -> dict:
    here = run("evaluate", *arguments, "--json")
    there = run("evaluate", *arguments, "--json", "--cluster", cluster)
    assert (there.exit_code, there.stdout, there.stderr) == (0, here.stdout, here.stderr)
    return json.loads(here.stdout)


@pytest.mark.parametrize("kind", [*FORMS, "one.mpu"])
def test_the_numbers_are_those_of_one_machine(run, cluster, files, trained, kind):
    report = same_on_both(run, cluster, *files, "--predictions", trained / kind)
    assert report["instances"] == 237
    assert ("ndcg_at_3" in report) == (kind != "labels")


@pytest.mark.parametrize("kind", ["both", "one.mpu"])
def test_with_every_option(run, cluster, files, trained, kind):
    given = ("--per-label", "--c", 0.7, "--k", "1,2", "--training", files[0], "--threshold", 0.4, "--calibration")
    report = same_on_both(run, cluster, *files, "--predictions", trained / kind, *given)
    assert {"per_label", "corrected", "calibration", "psndcg_at_2"} <= report.keys()


@pytest.mark.parametrize("given", [(), ("--threshold", 0.6), ("--c", 0.7, "--metrics", "macro_f1")])
def test_several_are_compared(run, cluster, files, trained, given):
    candidates = [part for kind in ("one.mpu", "two.mpu", "both") for part in ("--predictions", trained / kind)]
    report = same_on_both(run, cluster, *files, *candidates, *given)
    assert len(report["compared"]) == 2
    assert any(one["differences"]["macro_f1"]["high"] for one in report["compared"])


def test_scores_without_thresholds_are_cut_with_a_warning(run, cluster, files, trained):
    for path in (trained / "scores").iterdir():
        path.write_text(path.read_text().replace("#", "# was"))
    given = (*files, "--predictions", trained / "scores")
    assert same_on_both(run, cluster, *given)["threshold"] == 0.5
    assert "labels that score 0.5 or more" in run("evaluate", *given, "--cluster", cluster).stderr


def test_one_file(run, cluster, files, trained):
    same_on_both(run, cluster, files[3], trained / "both" / "part-2.svm")
    same_on_both(run, cluster, files[3], trained / "one.mpu", trained / "both" / "part-2.svm")


def test_a_model_that_does_not_fit_is_told(run, cluster, files, trained):
    for path in files:
        Path(path).write_text(Path(path).read_text().replace(":", "9:"))
    same_on_both(run, cluster, *files, "--predictions", trained / "one.mpu")
    result = run("evaluate", *files, "--predictions", trained / "one.mpu", "--cluster", cluster)
    assert "THE MODEL DOES NOT FIT THE DATA" in result.stderr


def test_errors_name_the_part(run, cluster, files, trained):
    def said(*candidates) -> str:
        given = [part for kind in candidates for part in ("--predictions", trained / kind)]
        return message(run("evaluate", *files, *given, "--cluster", cluster))

    shutil.copytree(trained / "both", trained / "short")
    short = trained / "short" / "part-1.svm"
    short.write_text("".join(short.read_text().splitlines(keepends=True)[:99]))
    assert said("short").startswith(f"error: {files[2]} has 100 instances and {short} has 99; they must match line by")
    assert said("one.mpu", "short").startswith(f"error: {files[2]} has 100 instances and {short} has 99")
    short.unlink()
    assert said("short") == f"error: {short}: cannot be read: No such file or directory"
    (trained / "all").write_text("".join((trained / "both" / Path(path).name).read_text() for path in files))
    assert said("all").startswith(
        f"error: {trained / 'all'}: is no directory with predictions of 4 files; with --cluster"
    )
    with Path(files[2]).open("a") as file:
        file.write("1 1:x\n")
    for kind in ("both", "one.mpu"):
        assert said(kind).startswith(f"error: {files[2]}:101: ")


def test_no_instances_at_all(run, cluster, files, trained):
    for path in (*files, *(trained / "both").iterdir()):
        Path(path).write_text("")
    for kind in ("both", "one.mpu"):
        given = ("evaluate", *files, "--predictions", trained / kind)
        assert message(run(*given, "--cluster", cluster)) == message(run(*given))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--reviewed", "a.tsv"), "--reviewed and --cluster exclude each other"),
        (("--predictions", "-"), "Workers of a cluster cannot read standard input"),
    ],
)
def test_wrong_usage(run, files, trained, given, said):
    result = run("evaluate", *files, "--predictions", trained / "both", *given, "--cluster", "tcp://127.0.0.1:9")
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
