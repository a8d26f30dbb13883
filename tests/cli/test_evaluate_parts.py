"""`mpu evaluate TRUTH... --predictions OUT`: several files of true labels."""

import json

import pytest

from tests.cli.training import TINY
from tests.printed import assert_close

LINES = TINY.splitlines(keepends=True)


@pytest.fixture
def parts(tmp_path):
    (tmp_path / "data").mkdir()
    for name, text in {"a.svm": LINES[:2], "empty.svm": "", "b.svm": LINES[2:]}.items():
        (tmp_path / "data" / name).write_text("".join(text))
    return [tmp_path / "data" / name for name in ("a.svm", "empty.svm", "b.svm")]


@pytest.fixture
def out(run, tiny_model, parts, tmp_path):
    """Predictions of each part."""
    assert run("predict", tiny_model, *parts, "-o", tmp_path / "out", "--format", "both").exit_code == 0
    return tmp_path / "out"


@pytest.fixture
def whole(run, tiny, tiny_model):
    """The report of the parts as one file."""
    return json.loads(run("evaluate", tiny, tiny_model, "--json").stdout)


@pytest.mark.parametrize("kind", ["directory", "model", "file"])
def test_the_report_is_that_of_one_file(run, tiny_model, parts, out, whole, tmp_path, kind):
    (tmp_path / "all").write_bytes(b"".join((out / path.name).read_bytes() for path in parts))
    predictions = {"directory": out, "model": tiny_model, "file": tmp_path / "all"}[kind]
    result = run("evaluate", *parts, "--predictions", predictions, "--json")
    assert_close(json.loads(result.stdout), whole)  # sums are rounded by the chunk


def test_scores_of_each_part_carry_thresholds(run, tiny_model, parts, whole, tmp_path):
    assert run("predict", tiny_model, *parts, "-o", tmp_path / "scores", "--format", "scores").exit_code == 0
    result = run("evaluate", *parts, "--predictions", tmp_path / "scores", "--json")
    assert result.stderr == ""
    assert_close(json.loads(result.stdout), whole)


def test_a_directory_for_one_file(run, tiny, tiny_model, whole, tmp_path):
    assert run("predict", tiny_model, tiny, "-o", f"{tmp_path}/one/", "--format", "both").exit_code == 0
    assert json.loads(run("evaluate", tiny, tmp_path / "one", "--json").stdout) == whole


def test_several_are_compared(run, tiny_model, parts, out, tmp_path):
    found = run("evaluate", *parts, "--predictions", out, "--predictions", tiny_model, "--json")
    report = json.loads(found.stdout)
    assert report["instances"] == 5
    assert [one.pop("name") for one in report["evaluated"]] == [str(out), str(tiny_model)]
    first, second = report["evaluated"]
    assert first == pytest.approx(second)


def test_other_options(run, tiny_model, parts, out, tiny):
    options = ("--per-label", "--c", 0.5, "--metrics", "micro_f1,micro_recall", "--json")
    assert (
        run("evaluate", *parts, "--predictions", out, *options).stdout
        == run("evaluate", tiny, tiny_model, *options).stdout
    )
