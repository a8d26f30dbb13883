"""``--features``: models of the features of an RBF kernel on the command line."""

import numpy as np
import pytest

from mpu_cli import estimate_c
from mpu_cli.errors import MpuWarning
from tests.core.test_features import rings
from tests.svm import write

QUICK = "--c", 1, "--cost", 30, "--epochs", 30, "--levels", 1


def test_a_model_is_saved_with_the_features_that_it_was_learned_with(run, tmp_path):
    """Of data whose labels tell how far instances are from the middle."""
    X = np.random.default_rng(0).standard_normal((120, 3))
    far = np.square(X)[:, :2].sum(axis=1)
    labels = np.column_stack([far > 2, far < 1])
    data = write(tmp_path / "dense.svm", X * [1, 20, 0.1], labels, form=".4g")
    f1 = {}
    for features in ("rbf", "linear"):
        run.ok("train", data, "--features", features, *QUICK, "-o", tmp_path / "a.mpu")
        f1[features] = run.json("evaluate", data, tmp_path / "a.mpu")["micro_f1"]
    assert f1["rbf"] > 0.9 > f1["linear"] + 0.1


def test_a_scaling_that_was_asked_for_is_not_explained_by_the_data(run, tiny):
    assert "each divided by its largest value\n" in run.ok("train", tiny, "--features", "largest", *QUICK).stdout


@pytest.mark.slow  # five choices of features
def test_every_command_says_the_same_of_dense_data(run, tmp_path):
    """`train`, `estimate-c` and `report` choose the same features, and so have the same c, where a kernel is better."""
    X, Y = rings(200)
    S = Y & (np.random.default_rng(1).random(Y.shape) < 0.6)
    data = write(tmp_path / "rings.svm", X, S, first=0, form=".9g")
    trained, estimated = run.json("train", data, "--levels", 1), run.json("estimate-c", data)
    reported = run.json("report", data, "-o", tmp_path / "rings.html")
    assert trained["rbf_landmarks"] > 0
    assert estimated["c"] == trained["c"] == reported["frequency"]["c"]
    assert estimated["interval"] == trained["c_interval"] == reported["frequency"]["interval"]
    assert reported["missing"]["missing"] == pytest.approx(estimated["missing"], rel=0.1)
    assert estimated["c"] == pytest.approx(S.sum() / Y.sum(), abs=0.12)
    linear = run.json("estimate-c", data, "--features", "linear")
    linearly = run.json("train", data, "--features", "linear", "--levels", 1)
    assert linear["c"] == linearly["c"] != trained["c"]
    with pytest.warns(MpuWarning, match="unreliable"):  # as the commands do: two features hardly tell the first label
        assert estimate_c(X, S).c == pytest.approx(estimated["c"], abs=1e-3)
    with pytest.warns(MpuWarning):
        assert estimate_c(X, S, features="linear").c == pytest.approx(linear["c"], abs=1e-3)
