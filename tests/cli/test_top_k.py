"""``mpu train --top-k K --for AIM`` and ``mpu predict --top-k K --for AIM``."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from mpu_cli import bundle
from mpu_cli.cli import mpu
from mpu_cli.errors import ModelError
from tests.core.simulated import rare_labels
from tests.svm import lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Labels of which each is rarer than the one before, and a model of them with decisions of two labels."""
    path = tmp_path_factory.mktemp("decided")
    rows = lines(*rare_labels(1500, 6, last=6))
    (path / "train.svm").write_text("".join(rows[:1000]))
    (path / "test.svm").write_text("".join(rows[1000:]))
    options = ["--c", "1", "--cost", "3", "--levels", "1", "--top-k", "2", "--for", "macro-f1", "--json"]
    result = CliRunner().invoke(mpu, ["train", f"{path}/train.svm", "-o", f"{path}/m", *options])
    assert result.exit_code == 0
    (path / "report.json").write_text(result.stdout)
    return path


def label_lists(text: str) -> list[set[str]]:
    return [set(line.split(",")) for line in text.splitlines()]


def test_exactly_k_labels_with_a_larger_macro_f1(run, folder, tmp_path):
    aim, plain = tmp_path / "aim", tmp_path / "plain"
    run("predict", folder / "m", folder / "test.svm", "--top-k", 2, "--for", "macro-f1", "-o", aim)
    run("predict", folder / "m", folder / "test.svm", "--top-k", 2, "--threshold", 0, "-o", plain)
    assert {len(labels) for labels in label_lists(aim.read_text())} == {2}
    of_aim, of_plain = (
        json.loads(run("evaluate", folder / "test.svm", file, "--json").stdout) for file in (aim, plain)
    )
    lost = of_plain["micro_precision"] - of_aim["micro_precision"]
    assert lost < of_aim["macro_f1"] - of_plain["macro_f1"]
    found = json.loads((folder / "report.json").read_text())["top_k"]
    assert (found["k"], found["for"]) == (2, "macro-f1")
    assert found["precision"] == pytest.approx(of_aim["micro_precision"], abs=0.05)
    assert found["precision_by_probability"] == pytest.approx(of_plain["micro_precision"], abs=0.05)
    assert found["aim"] == pytest.approx(of_aim["macro_f1"], abs=0.1)


def test_records_have_the_same_labels_the_most_probable_first(run, folder):
    options = ("--top-k", 2, "--for", "macro-f1")
    lists = label_lists(run("predict", folder / "m", folder / "test.svm", *options).stdout)
    records = [
        json.loads(line)
        for line in run("predict", folder / "m", folder / "test.svm", *options, "--format", "jsonl").stdout.splitlines()
    ]
    assert [set(map(str, record["labels"])) for record in records] == lists
    assert all(record["probabilities"] == sorted(record["probabilities"], reverse=True) for record in records)


def test_excluded_labels_are_not_among_them(run, folder, tmp_path):
    (tmp_path / "not.txt").write_text("1\n2\n")
    options = ("--top-k", 2, "--for", "macro-f1", "--exclude", tmp_path / "not.txt")
    lists = label_lists(run("predict", folder / "m", folder / "test.svm", *options).stdout)
    assert all(len(labels) == 2 and not labels & {"1", "2"} for labels in lists)


def test_nothing_else_of_the_model_changes(run, folder, tmp_path):
    options = ("--c", 1, "--cost", 3, "--levels", 1, "-q")
    run("train", folder / "train.svm", "-o", tmp_path / "m", *options)
    files = {file.name for file in (folder / "m").iterdir()} - {"manifest.json"}
    plain = {file.name for file in (tmp_path / "m").iterdir()} - {"manifest.json"}
    assert {name.partition("-")[0] for name in files - plain} == {"decisions", "training"}
    predicted = [run("predict", model, folder / "test.svm").stdout for model in (folder / "m", tmp_path / "m")]
    assert predicted[0] == predicted[1]


def test_info_says_what_is_expected(run, folder):
    assert "for macro-f1; expected P@2" in run("info", folder / "m").stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--top-k", 3, "--for", "macro-f1"), "for --top-k 2 --for macro-f1; train it with --top-k 3 --for macro-f1"),
        (("--top-k", 2, "--for", "coverage"), "for --top-k 2 --for macro-f1; train it with --top-k 2 --for coverage"),
        (("--for", "macro-f1"), "--for needs --top-k"),
        (("--top-k", 2, "--for", "macro-f1", "--format", "scores"), "--for needs --top-k, and --format labels"),
        (("--top-k", 2, "--for", "macro-f1", "--threshold", 0.5), "without --threshold"),
    ],
)
def test_what_the_model_has_not_learned_is_an_error(run, folder, options, problem):
    result = run("predict", folder / "m", folder / "test.svm", *options)
    assert (result.exit_code != 0, result.stdout) == (True, "")
    assert problem in result.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--top-k", 2), "--top-k and --for are given together"),
        (("--for", "coverage"), "--top-k and --for are given together"),
        (("--top-k", 2, "--for", "coverage", "--method", "elkan08"), "is an option of mpu and br, not of elkan08"),
    ],
)
def test_a_training_that_cannot_have_them_is_refused(run, folder, tmp_path, options, problem):
    result = run("train", folder / "train.svm", "-o", tmp_path / "m", *options)
    assert result.exit_code != 0
    assert problem in result.stderr
    assert not (tmp_path / "m").exists()


def test_a_damaged_file_of_decisions_is_refused(folder, tmp_path):
    model = shutil.copytree(folder / "m", tmp_path / "m")
    loaded = bundle.load(model)
    assert (loaded.top_k.k, loaded.top_k.aim) == (2, "macro-f1")
    bundle.save(loaded, tmp_path / "copy")
    again = bundle.load(tmp_path / "copy").top_k
    for name in ("weights", "offsets"):
        np.testing.assert_array_equal(getattr(again, name), getattr(loaded.top_k, name), strict=True)
    file = next(model.glob("decisions-*.npz"))
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"\x01")
    with pytest.raises(ModelError, match=r"decisions-[0-9a-f]{16}\.npz: is damaged"):
        bundle.load(model)
    file.unlink()
    with pytest.raises(ModelError, match="is missing"):
        bundle.load(model)
