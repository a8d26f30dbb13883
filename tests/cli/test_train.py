import errno
import gzip
import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mpu_cli import bundle
from mpu_cli.cli import mpu
from mpu_cli.cli.train import default_model
from mpu_cli.core import training

TINY = "1 1:1\n2 2:1\n1,2 1:1 2:1\n3 3:0.5\n 1:1 3:2\n"
# Nothing is chosen, so that it is over in a moment.
QUICK = ("--c", 0.5, "--cost", 30, "--epochs", 2, "--levels", 1)


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.svm"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def corrupted(tmp_path_factory) -> Path:
    """Training digits without 60 % of their labels, and `part.svm`, the lines of it but every fourth."""
    folder = tmp_path_factory.mktemp("digits")
    complete = Path(__file__).parents[2] / "data" / "digits-train.svm"
    arguments = ["corrupt", str(complete), str(folder / "train.svm"), "--missing-rate", "0.6", "--seed", "1"]
    assert CliRunner().invoke(mpu, arguments).exit_code == 0
    lines = (folder / "train.svm").read_text().splitlines(keepends=True)
    (folder / "part.svm").write_text("".join(line for i, line in enumerate(lines) if i % 4))
    (folder / "rest.svm").write_text("".join(complete.read_text().splitlines(keepends=True)[::4]))
    return folder


@pytest.fixture(scope="module")
def report(corrupted) -> dict:
    """Train on a part with default options."""
    result = CliRunner().invoke(mpu, ["train", str(corrupted / "part.svm"), "--json"])
    assert result.exit_code == 0
    return json.loads(result.stdout)


def contents(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def message(result) -> str:
    """The one line of an error."""
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.stderr.endswith(f"{line}\n")
    return line


def test_the_report_has_what_was_found(report, corrupted):
    assert report.keys() == {
        "model",
        "instances",
        "features",
        "labels",
        "c",
        "c_estimated",
        "cost",
        "step",
        "epochs",
        "expected_micro_f1",
        "expected_micro_f1_by_level",
        "thresholds",
        "seconds",
    }
    assert report["model"] == str(corrupted / "part.mpu")
    assert (report["instances"], report["labels"]) == (867, 18)
    assert report["c_estimated"] is True
    assert report["c"] == pytest.approx(0.4, abs=0.05)
    assert len(report["expected_micro_f1_by_level"]) == 2
    assert report["thresholds"].keys() == {str(label) for label in range(1, 19)}
    assert {"read", "estimate c", "choose C", "level 0", "level 1", "thresholds", "write"} <= report["seconds"].keys()


def test_the_model_has_what_was_reported(report):
    model = bundle.load(Path(report["model"]))
    assert model.label_ids.tolist() == list(range(1, 19))
    assert set(model.c.tolist()) == {report["c"]}
    assert model.stacked.thresholds.tolist() == list(report["thresholds"].values())
    assert int(model.known.sum()) == report["features"]
    assert model.options["cost"] == report["cost"]


def test_the_expected_f1_is_that_of_complete_labels_not_trained_on(run, report, corrupted, tmp_path):
    predictions = tmp_path / "predictions.txt"
    run("predict", report["model"], corrupted / "rest.svm", "-o", predictions)
    real = json.loads(run("evaluate", corrupted / "rest.svm", predictions, "--json").stdout)["micro_f1"]
    assert real > 0.85
    assert report["expected_micro_f1"] == pytest.approx(real, abs=0.05)


def test_c_one_predicts_less_and_worse(run, report, corrupted, tmp_path):
    naive = tmp_path / "naive.mpu"
    run("train", corrupted / "part.svm", "-o", naive, "--c", 1, "--cost", 30, "--threshold", 0.5)
    run("predict", naive, corrupted / "rest.svm", "-o", tmp_path / "naive.txt")
    run("predict", report["model"], corrupted / "rest.svm", "-o", tmp_path / "ours.txt")
    f1 = [
        json.loads(run("evaluate", corrupted / "rest.svm", tmp_path / name, "--json").stdout)["micro_f1"]
        for name in ("naive.txt", "ours.txt")
    ]
    assert f1[0] < f1[1] - 0.2


def test_the_readable_report(run, tiny):
    result = run("train", tiny, *QUICK)
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        "data",
        "c",
        "C",
        "threshold",
        "expected",
        "model",
    ]
    assert "5 instances, 3 features, 3 labels" in result.stdout
    assert "0.500, given: 50.0% of the true labels are missing" in result.stdout
    assert "C            30, step 1, 2 epochs" in result.stdout


def test_messages_go_to_standard_error(run, tiny):
    result = run("train", tiny, *QUICK, "--json")
    json.loads(result.stdout)
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
        "read",
        "level 0",
        "level 0, out of fold",
        "thresholds",
        "write",
    ]


def test_quiet_prints_nothing(run, tiny):
    result = run("train", tiny, *QUICK, "-q")
    assert (result.stdout, result.stderr) == ("", "")
    assert run("train", tiny, *QUICK, "-q", "--json").stdout.startswith("{")


def test_verbose_says_where_the_time_went(run, tiny):
    assert "seconds: read " in run("train", tiny, *QUICK, "-v").stderr


@pytest.mark.parametrize("options", [(), ("--threshold", "per-label", "--levels", 3)])
def test_the_same_seed_is_the_same_bytes_on_any_number_of_threads(run, corrupted, tmp_path, options):
    names = {"one": (1, 0), "two": (2, 0), "other": (2, 1)}
    for name, (jobs, seed) in names.items():
        run("train", corrupted / "part.svm", "-o", tmp_path / name, "-j", jobs, "--seed", seed, "--cost", 10, *options)
    one, two, other = (contents(tmp_path / name) for name in names)
    assert one == two
    assert not {name for name in one if name.startswith("level")} & other.keys()


def test_training_again_replaces_the_model(run, tiny):
    model = tiny.with_suffix(".mpu")
    run("train", tiny, *QUICK[:-1], 3)
    before = contents(model)
    run("train", tiny, *QUICK, "--epochs", 3)
    after = contents(model)
    assert len(before) == 4
    assert len(after) == 2
    assert not {name for name in after if name.startswith("level")} & before.keys()


@pytest.mark.parametrize(
    ("source", "model"),
    [
        ("news.svm", "news.mpu"),
        ("news.svm.gz", "news.mpu"),
        ("news.svm.bz2", "news.mpu"),
        ("in/news.v2.txt.xz", "in/news.v2.mpu"),
        ("news", "news.mpu"),
        ("news.gz", "news.mpu"),
        (".hidden", ".hidden.mpu"),
    ],
)
def test_the_model_is_named_after_the_data(source, model):
    assert default_model(source) == Path(model)


def test_compressed_data(run, tmp_path):
    (tmp_path / "tiny.svm.gz").write_bytes(gzip.compress(TINY.encode()))
    assert run("train", tmp_path / "tiny.svm.gz", *QUICK).exit_code == 0
    assert bundle.load(tmp_path / "tiny.mpu").label_ids.tolist() == [1, 2, 3]


def test_standard_input(run, tmp_path, tiny):
    assert run("train", "-", "-o", tmp_path / "piped.mpu", *QUICK, stdin=TINY.encode()).exit_code == 0
    run("train", tiny, *QUICK)
    assert contents(tmp_path / "piped.mpu") == contents(tmp_path / "tiny.mpu")


def test_standard_input_has_no_name(run):
    result = run("train", "-", *QUICK, stdin=TINY.encode())
    assert result.exit_code == 2
    assert "give -o MODEL" in result.stderr


def test_a_model_does_not_go_to_standard_output(run, tiny, monkeypatch):
    monkeypatch.chdir(tiny.parent)
    result = run("train", tiny, "-o", "-", *QUICK)
    assert result.exit_code == 2
    assert [entry.name for entry in tiny.parent.iterdir()] == ["tiny.svm"]


@pytest.mark.parametrize("source", [".", "..", "/", ""])
def test_a_directory_is_not_data(run, source, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    assert "Is a directory" in message(run("train", source, *QUICK))


def test_names_that_are_not_text(run, tmp_path):
    source = os.fsencode(tmp_path) + b"/caf\xe9 \xe2\x98\x83.svm"
    Path(os.fsdecode(source)).write_text(TINY)
    result = run("train", os.fsdecode(source), *QUICK)
    assert result.exit_code == 0
    assert "\u2603.mpu" in result.stdout


# Options


def test_c_from_a_file(run, tiny, tmp_path):
    file = tmp_path / "c.txt"
    file.write_text("1 0.5\n2 1\n3 0.25\n")
    result = run("train", tiny, *QUICK[2:], "--c", file)
    assert "0.250 to 1.000, one a label" in result.stdout
    assert bundle.load(tiny.with_suffix(".mpu")).c.tolist() == [0.5, 1, 0.25]


def test_c_one(run, tiny):
    assert json.loads(run("train", tiny, *QUICK[2:], "--c", 1, "--json").stdout)["c"] == 1


def test_a_file_of_c_without_a_label_of_the_data(run, tiny, tmp_path):
    file = tmp_path / "c.txt"
    file.write_text("1 0.5\n2 1\n")
    assert message(run("train", tiny, "--c", file)).startswith(f"error: {file}: there is no line for label 3")
    assert not tiny.with_suffix(".mpu").exists()


def test_a_malformed_file_of_c(run, tiny, tmp_path):
    file = tmp_path / "c.txt"
    file.write_text("1 0.5\n2 nan\n")
    assert message(run("train", tiny, "--c", file)).startswith(f"error: {file}:2: expected a label")


def test_a_missing_file_of_c(run, tiny):
    assert message(run("train", tiny, "--c", "0,4")) == "error: 0,4: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("--c", value) for value in ("0", "1.5", "-1", "nan", "inf")],
        *[("--cost", value) for value in ("0", "-1", "nan", "inf", "much")],
        *[("--epochs", value) for value in ("0", "-1", "1.5", "many")],
        *[("--threshold", value) for value in ("-0.1", "1.1", "nan", "best")],
        *[("--stack-scale", value) for value in ("0", "-1", "nan", "inf")],
        *[("--levels", value) for value in ("0", "-1", "two")],
        *[("--folds", value) for value in ("1", "0", "x")],
        *[("--jobs", value) for value in ("0", "-2")],
        *[("--seed", value) for value in ("-1", "x")],
        ("--sample", "0"),
    ],
)
def test_values_that_an_option_does_not_take(run, tiny, option, value):
    result = run("train", tiny, option, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.stderr.replace("'-j' / '--jobs'", "'--jobs'")
    assert not tiny.with_suffix(".mpu").exists()


@pytest.mark.parametrize("options", [("--cost", "3"), ("--cost", "auto", "--epochs", "3"), ("--epochs", "auto")])
def test_settings_given_are_kept_and_others_chosen(run, tiny, options):
    report = json.loads(run("train", tiny, *options, "--levels", 1, "--json").stdout)
    if "3" in options:
        assert report[options[options.index("3") - 1].removeprefix("--")] == 3
    assert report["cost"] > 0
    assert report["epochs"] > 0


def test_a_threshold_given_is_the_models(run, tiny):
    report = json.loads(run("train", tiny, *QUICK, "--threshold", 0.5, "--json").stdout)
    assert report["thresholds"] == {"1": 0.5, "2": 0.5, "3": 0.5}


def test_thresholds_a_label(run, corrupted, tmp_path):
    result = run("train", corrupted / "part.svm", "-o", tmp_path / "m", *QUICK, "--threshold", "per-label", "--json")
    assert len(set(json.loads(result.stdout)["thresholds"].values())) > 9


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_levels(run, tiny, levels):
    report = json.loads(run("train", tiny, *QUICK[:-1], levels, "--json").stdout)
    assert len(report["expected_micro_f1_by_level"]) == levels
    assert len(bundle.load(tiny.with_suffix(".mpu")).stacked.levels) == levels


def test_the_scale_of_stacked_features_matters(run, tiny, tmp_path):
    for scale in ("0.1", "0.6"):
        run("train", tiny, "-o", tmp_path / scale, *QUICK[:-1], 2, "--stack-scale", scale)
    small, large = (bundle.load(tmp_path / scale).stacked.scale for scale in ("0.1", "0.6"))
    assert large == pytest.approx(6 * small)


def test_more_threads_than_a_system_has(run, tiny):
    assert run("train", tiny, *QUICK, "-j", 10_000_000).exit_code == 0


# Edge cases of data

EDGE_CASES = {
    "one instance": "1 1:1\n",
    "one instance without features": "1\n",
    "one label": "1 1:1\n 2:1\n1 1:2\n 2:2\n",
    "a label on every instance": "".join(f"1{',2' * (i % 2)} {i % 3}:1\n" for i in range(12)),
    "every label on every instance": "1,2 1:1\n" * 12,
    "instances without features": "1 1:1\n2\n\n1,2 2:1\n",
    "no features at all": "1\n2\n1,2\n\n",
    "all features zero": "1 1:0\n2 1:0 2:0\n1 2:0\n",
    "fewer instances than folds": "1 1:1\n2 2:1\n",
    "labels far apart": "0,2147483646 1:1\n77 2:1\n 1:1\n",
    "header": "2 3 3\n1 1:1\n2 2:1\n",
    "comments only at the end": "1 1:1\n2 2:1\n# end",
}


@pytest.mark.parametrize("options", [(), ("--levels", 3, "--threshold", "per-label", "--folds", 2)])
@pytest.mark.parametrize("text", EDGE_CASES.values(), ids=EDGE_CASES.keys())
def test_edge_cases_train_and_predict(run, tmp_path, text, options):
    source = tmp_path / "edge.svm"
    source.write_text(text)
    result = run("train", source, "--json", "-q", *options)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert 0 <= report["expected_micro_f1"] <= 1
    assert 0 < report["c"] <= 1
    lines = run("predict", tmp_path / "edge.mpu", source, "--format", "scores").stdout.splitlines()
    assert len(lines) == report["instances"]
    for line in lines:
        values = [float(pair.partition(":")[2]) for pair in line.split()]
        assert len(values) == report["labels"]
        assert np.all((np.array(values) >= 0) & (np.array(values) <= 1))


@pytest.mark.parametrize("text", [" 1:1\n 2:1\n", "\n\n", "1:1\n"])
def test_data_without_a_label(run, tmp_path, text):
    source = tmp_path / "unlabelled.svm"
    source.write_text(text)
    assert message(run("train", source)) == f"error: {source}: no instance has a label, so there is nothing to learn"
    assert [entry.name for entry in tmp_path.iterdir()] == ["unlabelled.svm"]


def test_an_index_that_makes_the_model_too_large(run, tmp_path):
    source = tmp_path / "wide.svm"
    # 100 labels, so that no machine's memory will do.
    source.write_text(",".join(map(str, range(100))) + " 2147483646:1\n1 1:1\n")
    line = message(run("train", source))
    assert "2,147,483,647 features" in line
    assert "1,718.0 GB" in line  # 4 bytes x 100 labels x 2^31 features x 2 levels
    assert "renumber the features" in line
    assert [entry.name for entry in tmp_path.iterdir()] == ["wide.svm"]


def test_implicit_values(run, tmp_path):
    source = tmp_path / "implicit.svm"
    source.write_text("1 3 5 6\n2 4\n")
    assert f"error: {source}:1:" in message(run("train", source, *QUICK))
    assert run("train", source, *QUICK, "--implicit-values").exit_code == 0


def test_bad_data_name_file_and_line_and_leave_no_model(run, tmp_path):
    source = tmp_path / "bad.svm"
    source.write_text("1 1:1\n2 1:x\n")
    assert message(run("train", source)).startswith(f"error: {source}:2: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.svm"]


def test_noise_is_warned_of_and_c_given_is_not(run, tmp_path):
    rng = np.random.default_rng(0)
    source = tmp_path / "noise.svm"
    source.write_text(
        "".join(f"{rng.integers(3)} " + " ".join(f"{j}:{rng.normal():.3f}" for j in range(5)) + "\n" for _ in range(90))
    )
    options = ("--cost", 1, "--epochs", 2, "-q")
    assert run("train", source, *options).stderr.startswith("warning: c = ")
    assert run("train", source, *options, "--c", 0.5).stderr == ""


# Targets, refused before anything is trained


@pytest.fixture
def no_training(monkeypatch):
    def train(*_):
        raise AssertionError("training has begun")

    monkeypatch.setattr(training, "train", train)


@pytest.mark.usefixtures("no_training")
def test_targets_that_are_no_models_are_refused_first(run, tiny, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    assert "holds other files (mine.txt)" in message(run("train", tiny, "-o", tmp_path / "folder"))
    assert "is not a directory" in message(run("train", tiny, "-o", tiny))
    assert "make it first" in message(run("train", tiny, "-o", tmp_path / "none" / "model"))
    assert (tmp_path / "folder" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "error: out of memory"),
        (MemoryError("7 GiB"), "error: out of memory: 7 GiB"),
        (OSError(errno.EIO, "Input/output error", "disk"), "error: disk: Input/output error"),
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device"),
    ],
)
def test_failures_of_the_machine_are_one_line(run, tiny, monkeypatch, error, line):
    def train(*_):
        raise error

    monkeypatch.setattr(training, "train", train)
    assert message(run("train", tiny, "-q")) == line
    assert [entry.name for entry in tiny.parent.iterdir()] == ["tiny.svm"]


def test_interrupted(run, tiny, monkeypatch):
    def train(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", train)
    result = run("train", tiny, "-q")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")
    assert [entry.name for entry in tiny.parent.iterdir()] == ["tiny.svm"]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_bar_on_a_terminal(tiny, quiet):
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (25, 80))
    command = [sys.executable, "-m", "mpu_cli", "train", str(tiny), "--c", "0.5", "--epochs", "2", "--json"]
    command += ["-q"] * quiet
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while data := os.read(controller, 4096):
            shown += data
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(controller)
    stdout, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(stdout)["instances"] == 5
    if quiet:
        assert shown == b""
    else:
        assert b"level 1, out of fold: 100%" in shown
