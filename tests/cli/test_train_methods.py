"""`mpu train --method`: what all methods share, and which options belong to which."""

import json

import numpy as np
import pytest

from mpu_cli import bundle
from tests.cli.training import message
from tests.core.simulated import linear_problem

METHODS = {
    "mpu": ("--cost", 10, "--epochs", 2),
    "br": ("--cost", 10, "--epochs", 2),
    "elkan08": ("--cost", 10, "--epochs", 2),
    "m3l-linear": ("--cost", 1),
    "m3l-rbf": ("--cost", 1),
    "well": (),
}


@pytest.fixture
def files(tmp_path):
    """Training instances and others, three labels."""
    X, Y = linear_problem(120, 4, 3)
    lines = [
        ",".join(str(label) for label in np.flatnonzero(y)) + "".join(f" {j}:{v:.4f}" for j, v in enumerate(x)) + "\n"
        for x, y in zip(X, Y, strict=True)
    ]
    train, other = tmp_path / "train.svm", tmp_path / "other.svm"
    train.write_text("".join(lines[:90]))
    other.write_text("".join(lines[90:]))
    return train, other


def options_of(method, files) -> tuple:
    unlabeled = ("--unlabeled", files[1]) if method == "well" else ()
    return ("--method", method, *METHODS[method], *unlabeled)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_and_predicts(run, files, method):
    train, other = files
    report = json.loads(run("train", train, *options_of(method, files), "--json").stdout)
    assert report["method"] == method
    assert (report["instances"], report["features"], report["labels"]) == (90, 4, 3)
    assert report["thresholds"].keys() == {"0", "1", "2"}
    model = bundle.load(train.with_suffix(".mpu"))
    assert model.method == method
    result = run("predict", train.with_suffix(".mpu"), other)
    assert result.exit_code == 0
    predicted = [[int(label) for label in line.split(",") if label] for line in result.stdout.splitlines()]
    assert len(predicted) == 30
    assert {label for labels in predicted for label in labels} <= {0, 1, 2}


@pytest.mark.parametrize("method", METHODS)
def test_the_readable_report_of_every_method(run, files, method):
    result = run("train", files[0], *options_of(method, files))
    assert result.exit_code == 0
    names = [line.partition("  ")[0] for line in result.stdout.splitlines()]
    assert names[:2] == ["method", "data"]
    assert names[-1] == "model"
    assert ("C" in names) == (method != "well")
    assert ("c" in names) == ("expected" in names or method == "elkan08") == (method in ("mpu", "br", "elkan08"))
    assert "None" not in result.stdout


def test_the_record_has_the_options_of_the_method_and_no_others(run, files):
    run("train", files[0], *options_of("elkan08", files), "--c-method", "e2")
    options = bundle.load(files[0].with_suffix(".mpu")).options
    assert options["c_method"] == "e2"
    assert options["elkan_variant"] == "ratio"
    assert not options.keys() & {"levels", "threshold", "alpha", "gamma"}


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bytes_on_any_number_of_threads(run, files, tmp_path, method):
    contents = []
    for jobs in (1, 2):
        model = tmp_path / str(jobs)
        run("train", files[0], "-o", model, *options_of(method, files), "-j", jobs)
        contents.append({entry.name: entry.read_bytes() for entry in model.iterdir()})
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("method", "option", "owners"),
    [
        ("br", ("--levels", 3), "--levels is an option of mpu, not of br"),
        ("br", ("--c", 0.5), "--c is an option of mpu,"),
        ("elkan08", ("--threshold", 0.5), "--threshold is an option of mpu,"),
        ("well", ("--stack-scale", 0.3), "--stack-scale is an option of mpu,"),
        ("mpu", ("--c-method", "e1"), "--c-method is an option of elkan08, not of mpu"),
        ("br", ("--elkan-variant", "ratio"), "--elkan-variant is an option of elkan08,"),
        ("mpu", ("--label-correlation", 0.5), "--label-correlation is an option of m3l-linear and m3l-rbf,"),
        ("m3l-linear", ("--gamma", 1), "--gamma is an option of m3l-rbf and well,"),
        ("m3l-rbf", ("--epochs", 3), "--epochs is an option of mpu and br and elkan08,"),
        ("well", ("--cost", 3), "--cost is an option of mpu and br and elkan08 and m3l-linear and m3l-rbf,"),
        ("m3l-rbf", ("--alpha", 1), "--alpha is an option of well,"),
        ("elkan08", ("--beta", 1), "--beta is an option of well,"),
        ("mpu", ("--unlabeled", "other.svm"), "--unlabeled is an option of well,"),
    ],
)
def test_options_of_other_methods_are_wrong_usage(run, files, method, option, owners):
    result = run("train", files[0], *options_of(method, files), *option)
    assert result.exit_code == 2
    assert owners in result.stderr
    assert not files[0].with_suffix(".mpu").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--method", "svm"),
        ("--c-method", "bbe"),
        ("--elkan-variant", "both"),
        *[("--label-correlation", value) for value in ("-0.1", "1", "nan")],
        *[(option, value) for option in ("--gamma", "--alpha", "--beta") for value in ("0", "-1", "nan", "inf")],
    ],
)
def test_values_that_an_option_does_not_take(run, files, option, value):
    result = run("train", files[0], option, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr


# well


def test_well_needs_instances_to_label(run, files):
    result = run("train", files[0], "--method", "well")
    assert result.exit_code == 2
    assert "--unlabeled FILE" in result.stderr


def test_well_predicts_no_others(run, files, tmp_path):
    run("train", files[0], *options_of("well", files))
    result = run("predict", files[0].with_suffix(".mpu"), files[0], "-o", tmp_path / "out")
    assert "is transductive" in message(result)
    assert not (tmp_path / "out").exists()


def test_well_predicts_a_part_in_another_order(run, files, tmp_path):
    run("train", files[0], *options_of("well", files))
    whole = run("predict", files[0].with_suffix(".mpu"), files[1]).stdout.splitlines()
    (tmp_path / "part.svm").write_text("".join(files[1].read_text().splitlines(keepends=True)[:9:-2]))
    part = run("predict", files[0].with_suffix(".mpu"), tmp_path / "part.svm").stdout.splitlines()
    assert part == whole[:9:-2]


def test_labels_of_the_unlabeled_file_are_not_looked_at(run, files, tmp_path):
    bare = tmp_path / "bare.svm"
    bare.write_text("".join(" " + line.partition(" ")[2] for line in files[1].read_text().splitlines(keepends=True)))
    outputs = []
    for unlabeled in (files[1], bare):
        run("train", files[0], "--method", "well", "--unlabeled", unlabeled)
        outputs.append(run("predict", files[0].with_suffix(".mpu"), bare, "--format", "scores").stdout)
    assert outputs[0] == outputs[1]


def test_standard_input_is_one_file_only(run, files):
    result = run("train", "-", "-o", "m", "--method", "well", "--unlabeled", "-", stdin=files[0].read_bytes())
    assert result.exit_code == 2
    assert "are both standard input" in result.stderr


def test_a_missing_unlabeled_file(run, files):
    assert "absent.svm" in message(run("train", files[0], "--method", "well", "--unlabeled", "absent.svm"))


def test_an_empty_unlabeled_file(run, files, tmp_path):
    (tmp_path / "empty.svm").write_text("")
    result = run("train", files[0], "--method", "well", "--unlabeled", tmp_path / "empty.svm")
    assert message(result).endswith("empty.svm:1: the file has no instances")
