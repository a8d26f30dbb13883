"""`mpu evaluate TRUTH... --predictions OUT`: several files of true labels."""

import json

import pytest

from tests.cli.training import TINY, message
from tests.printed import assert_close

LINES = TINY.splitlines(keepends=True)


@pytest.fixture
def model(tiny_model):
    return tiny_model


@pytest.fixture
def parts(tmp_path):
    (tmp_path / "data").mkdir()
    for name, text in {"a.svm": LINES[:2], "empty.svm": "", "b.svm": LINES[2:]}.items():
        (tmp_path / "data" / name).write_text("".join(text))
    return [tmp_path / "data" / name for name in ("a.svm", "empty.svm", "b.svm")]


@pytest.fixture
def out(run, model, parts, tmp_path):
    """Predictions of each part."""
    assert run("predict", model, *parts, "-o", tmp_path / "out", "--format", "both").exit_code == 0
    return tmp_path / "out"


@pytest.fixture
def whole(run, tiny, model):
    """The report of the parts as one file."""
    return json.loads(run("evaluate", tiny, model, "--json").stdout)


@pytest.mark.parametrize("kind", ["directory", "model", "file"])
def test_the_report_is_that_of_one_file(run, model, parts, out, whole, tmp_path, kind):
    (tmp_path / "all").write_bytes(b"".join((out / path.name).read_bytes() for path in parts))
    predictions = {"directory": out, "model": model, "file": tmp_path / "all"}[kind]
    result = run("evaluate", *parts, "--predictions", predictions, "--json")
    assert_close(json.loads(result.stdout), whole)  # sums are rounded by the chunk


def test_scores_of_each_part_carry_thresholds(run, model, parts, whole, tmp_path):
    assert run("predict", model, *parts, "-o", tmp_path / "scores", "--format", "scores").exit_code == 0
    result = run("evaluate", *parts, "--predictions", tmp_path / "scores", "--json")
    assert result.stderr == ""
    assert_close(json.loads(result.stdout), whole)


def test_a_directory_for_one_file(run, tiny, model, whole, tmp_path):
    assert run("predict", model, tiny, "-o", f"{tmp_path}/one/", "--format", "both").exit_code == 0
    assert json.loads(run("evaluate", tiny, tmp_path / "one", "--json").stdout) == whole


def test_several_are_compared(run, model, parts, out, tmp_path):
    found = run("evaluate", *parts, "--predictions", out, "--predictions", model, "--json")
    report = json.loads(found.stdout)
    assert report["instances"] == 5
    assert [one.pop("name") for one in report["evaluated"]] == [str(out), str(model)]
    first, second = report["evaluated"]
    assert first == pytest.approx(second)


def test_other_options(run, model, parts, out, tiny):
    options = ("--per-label", "--c", 0.5, "--metrics", "micro_f1,micro_recall", "--json")
    assert (
        run("evaluate", *parts, "--predictions", out, *options).stdout == run("evaluate", tiny, model, *options).stdout
    )


def test_lines_match_file_by_file(run, parts, out):
    moved = (out / "a.svm").read_text().splitlines(keepends=True)
    (out / "a.svm").write_text(moved[0])
    (out / "b.svm").write_text(moved[1] + (out / "b.svm").read_text())  # as many in all
    said = f"{parts[0]} has 2 instances and {out / 'a.svm'} has 1; they must match line by line"
    assert said in message(run("evaluate", *parts, "--predictions", out))


def test_what_is_missing_is_said(run, parts, out, tmp_path):
    (out / "b.svm").unlink()
    said = f"error: {out / 'b.svm'}: cannot be read: No such file or directory"
    assert message(run("evaluate", *parts, "--predictions", out)) == said
    (tmp_path / "nothing").mkdir()
    for folder in (tmp_path / "nothing", parts[0].parent):  # the data are no predictions of themselves
        said = f"{folder}: is not a model (it has no manifest.json), and has no predictions: those of {parts[0]} "
        said += "would be its file a.svm; mpu predict writes them"
        assert "error: " in message(run("evaluate", *parts, "--predictions", folder))
    result = run("evaluate", parts[0])
    assert (result.exit_code, "Missing argument 'PREDICTIONS...'" in result.stderr) == (2, True)
    result = run("evaluate", parts[0], parts[0], "--predictions", out)
    assert (result.exit_code, "may be named once only" in result.stderr) == (2, True)


def test_no_instances_at_all(run, model, parts, tmp_path):
    parts[0].write_text("")
    assert run("predict", model, *parts[:2], "-o", tmp_path / "none").exit_code == 0
    said = f"error: {parts[0]} and 1 more file: the files have no instances"
    assert message(run("evaluate", *parts[:2], "--predictions", tmp_path / "none")) == said
