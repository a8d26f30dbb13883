"""``--features``: models of the features of an RBF kernel on the command line."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def dense() -> str:
    """Data whose labels tell how far instances are from the middle."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3)) * [1, 20, 0.1]
    far = np.square(X / [1, 20, 0.1])[:, :2].sum(axis=1)
    labels = (",".join(["1"] * int(r > 2) + ["2"] * int(r < 1)) for r in far)
    rows = (" ".join(f"{j}:{value:.4g}" for j, value in enumerate(row, 1)) for row in X)
    return "".join(f"{of} {row}\n" for of, row in zip(labels, rows, strict=True))


@pytest.fixture
def trained(made, dense):
    def make(run, folder):
        (folder / "dense.svm").write_text(dense)
        assert run("train", folder / "dense.svm", "--features", "rbf").exit_code == 0
        assert run("train", folder / "dense.svm", "--features", "linear", "-o", folder / "linear.mpu").exit_code == 0

    return made(make)


def test_a_model_is_saved_with_the_features_that_it_was_learned_with(run, trained):
    evaluated = {}
    for model in ("dense.mpu", "linear.mpu"):
        result = run("evaluate", trained / "dense.svm", trained / model, "--json")
        evaluated[model] = json.loads(result.stdout)["micro_f1"]
    assert evaluated["dense.mpu"] > 0.9 > evaluated["linear.mpu"] + 0.1


def test_reports_tell_the_kernel(run, trained, tmp_path):
    result = run("train", trained / "dense.svm", "--features", "rbf", "-o", tmp_path / "again.mpu", "--json")
    report = json.loads(result.stdout)
    assert report["rbf_landmarks"] <= 120
    assert report["rbf_gamma"] > 0
    assert run("info", trained / "dense.mpu").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "--features", "rbf", "--cluster", "local:1"), "--features and --cluster exclude each other"),
        (("complete", "--features", "rbf", "--why"), "has no weights of these"),
        (("train", "--features", "rbf", "--method", "br"), "--features is an option of mpu, not of br"),
        (("train", "--features", "rbf", "--warm-start", "linear.mpu"), "choose linear features"),
        (("train", "--warm-start", "dense.mpu"), "has no weights of features of the data"),
    ],
)
def test_what_a_kernel_cannot_do_is_refused(run, trained, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(trained)
    command, *options = arguments
    target = ("-o", tmp_path / "out") if command == "train" else ()
    result = run(command, "dense.svm", *options, *target)
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert not (tmp_path / "out").exists()
