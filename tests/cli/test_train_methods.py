"""`mpu train --method`: what all methods share, and which options belong to which."""

import json

import pytest

from mpu_cli import bundle
from tests.core.simulated import linear_problem
from tests.endurance.commands import model_files
from tests.svm import lines

METHODS = {
    "mpu": ("--cost", 10, "--epochs", 2),
    "br": ("--cost", 10, "--epochs", 2),
    "elkan08": ("--cost", 10, "--epochs", 2),
    "m3l-linear": ("--cost", 1),
    "m3l-rbf": ("--cost", 1),
}


@pytest.fixture
def files(tmp_path):
    """Training instances and others, three labels."""
    rows = lines(*linear_problem(120, 4, 3), first=0)
    train, other = tmp_path / "train.svm", tmp_path / "other.svm"
    train.write_text("".join(rows[:90]))
    other.write_text("".join(rows[90:]))
    return train, other


def options_of(method) -> tuple:
    return ("--method", method, *METHODS[method])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_and_predicts(run, files, method):
    train, other = files
    report = json.loads(run("train", train, *options_of(method), "--json").stdout)
    assert report["method"] == method
    assert (report["instances"], report["features"], report["labels"]) == (90, 4, 3)
    model = bundle.load(train.with_suffix(".mpu"))
    of_labels = report.get("thresholds") or dict.fromkeys("012", report.get("threshold"))
    assert list(of_labels) == ["0", "1", "2"]
    assert model.predictor.thresholds.tolist() == list(of_labels.values())
    assert model.method == method
    result = run("predict", train.with_suffix(".mpu"), other)
    assert result.exit_code == 0
    predicted = [[int(label) for label in line.split(",") if label] for line in result.stdout.splitlines()]
    assert len(predicted) == 30
    assert {label for labels in predicted for label in labels} <= {0, 1, 2}


@pytest.mark.parametrize("method", METHODS)
def test_the_readable_report_of_every_method(run, files, method):
    result = run("train", files[0], *options_of(method))
    assert result.exit_code == 0
    names = [line.partition("  ")[0] for line in result.stdout.splitlines()]
    assert names[:2] == ["method", "data"]
    assert names[-1] == "model"
    assert "C" in names
    knows_c = method in ("mpu", "br", "elkan08")
    assert ("c" in names) == ("expected" in names or method == "elkan08") == knows_c
    assert "None" not in result.stdout


def test_the_record_has_the_options_of_the_method_and_no_others(run, files):
    run("train", files[0], *options_of("elkan08"), "--c-method", "e2")
    options = bundle.load(files[0].with_suffix(".mpu")).options
    assert options["c_method"] == "e2"
    assert options["elkan_variant"] == "ratio"
    assert not options.keys() & {"levels", "threshold", "alpha", "gamma"}


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bytes_on_any_number_of_threads(run, files, tmp_path, method):
    contents = []
    for jobs in (1, 2):
        model = tmp_path / str(jobs)
        run("train", files[0], "-o", model, *options_of(method), "-j", jobs)
        contents.append(model_files(model))
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("method", "option", "owners"),
    [
        ("br", ("--levels", 3), "--levels is an option of mpu, not of br"),
        ("br", ("--c", 0.5), "--c is an option of mpu,"),
        ("elkan08", ("--threshold", 0.5), "--threshold is an option of mpu,"),
        ("mpu", ("--c-method", "e1"), "--c-method is an option of elkan08, not of mpu"),
        ("br", ("--elkan-variant", "ratio"), "--elkan-variant is an option of elkan08,"),
        ("mpu", ("--label-correlation", 0.5), "--label-correlation is an option of m3l-linear and m3l-rbf,"),
        ("m3l-linear", ("--gamma", 1), "--gamma is an option of m3l-rbf,"),
        ("m3l-rbf", ("--epochs", 3), "--epochs is an option of mpu and br and elkan08,"),
    ],
)
def test_options_of_other_methods_are_wrong_usage(run, files, method, option, owners):
    result = run("train", files[0], *options_of(method), *option)
    assert result.exit_code == 2
    assert owners in result.stderr
    assert not files[0].with_suffix(".mpu").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--method", "svm"),
        ("--method", "well"),  # it labels given instances only: `mpu experiment`
        ("--c-method", "bbe"),
        ("--elkan-variant", "both"),
        *[("--label-correlation", value) for value in ("-0.1", "1", "nan")],
        *[(option, value) for option in ("--gamma",) for value in ("0", "-1", "nan", "inf")],
    ],
)
def test_values_that_an_option_does_not_take(run, files, option, value):
    result = run("train", files[0], option, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr
