"""A label frequency that is given, by a number or a file: what was known of it is said again, and nonsense refused."""

import json

import numpy as np
import pytest

from tests.svm import write

QUICK = ("--cost", 3, "--epochs", 2, "--levels", 1)


@pytest.fixture
def noise(tmp_path):
    """Labels that have nothing to do with the features, some instances with two."""
    rng = np.random.default_rng(0)
    return write(tmp_path / "noise.svm", rng.normal(size=(300, 5)), rng.random((300, 4)) < 0.4, form="g")


def test_a_file_of_an_estimate_keeps_its_interval_and_its_warnings(run, noise, tmp_path):
    """Every command that takes it repeats these."""
    c, scores = tmp_path / "c.txt", tmp_path / "scores.txt"
    estimated = run.json("estimate-c", noise, "-o", c, "--features", "linear")  # as QUICK
    (warning,) = estimated["warnings"]
    assert warning in run("suggest", noise, "--c", c, *QUICK, "-o", tmp_path / "missing.tsv").stderr
    result = run("train", noise, "--c", c, *QUICK, "--json", "--oof", scores)
    assert warning in run("evaluate", noise, scores, "--c", c).stderr
    trained = json.loads(result.stdout)
    assert trained["warnings"] == [warning]
    assert f"warning: {warning}" in result.stderr
    assert trained["c_estimated"] is True
    assert trained["c"] == pytest.approx(estimated["c"], rel=1e-5)
    assert trained["c_interval"] == pytest.approx(estimated["interval"], rel=1e-4)
    by_itself = run.json("train", noise, *QUICK)
    assert trained["expected_micro_f1_interval"] == pytest.approx(by_itself["expected_micro_f1_interval"], rel=1e-4)
    printed = run("train", noise, "--c", c, *QUICK).stdout
    assert "set by the user" not in printed
    assert "whose interval is included" in printed


@pytest.mark.parametrize("given", ["0.6", "file"])
def test_no_interval_is_claimed_of_what_the_user_says(run, noise, tmp_path, given):
    if given == "file":
        given = tmp_path / "c.txt"
        given.write_text("# what I think\n" + "".join(f"{k} 0.6\n" for k in range(1, 5)))
    result = run("train", noise, "--c", given, *QUICK)
    assert "set by the user" in result.stdout
    assert "whose interval" not in result.stdout


@pytest.mark.parametrize("how", ["number", "file"])
@pytest.mark.parametrize("command", [("train", *QUICK), ("suggest", *QUICK)])
def test_a_c_that_annotations_refute_is_refused(run, tmp_path, command, how):
    rng = np.random.default_rng(1)
    Y = rng.random((475, 3)) < 0.2
    Y[:, 1] = rng.permutation(475) < 375
    data = write(tmp_path / "frequent.svm", rng.normal(size=(475, 5)), Y, form="g")
    (tmp_path / "c.txt").write_text("1 0.5\n2 0.5\n3 0.5\n")
    c = tmp_path / "c.txt" if how == "file" else 0.5
    result = run(*command, data, "--c", c, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "label 2 is annotated in 375 of 475 instances (79%)" in result.stderr
    least = float(result.stderr.split("at least ")[1].split(";")[0])
    assert 0.5 < least <= 0.79
    assert not (tmp_path / "out").exists()
    run.ok(*command, data, "--c", least, "-o", tmp_path / "out")


def test_a_label_of_all_instances_does_not_decide_c(run, tmp_path):
    """Of the other labels, .6 are annotated."""
    rng = np.random.default_rng(2)
    Y = rng.random((1500, 5)) < 0.2
    X, S = Y + 0.05 * rng.normal(size=Y.shape), Y & (rng.random(Y.shape) < 0.6)
    data = write(tmp_path / "all.svm", X, np.column_stack([S, np.ones(1500, bool)]), form="g")
    estimated = run.json("estimate-c", data, "--features", "linear", "--per-label")
    assert estimated["c"] == pytest.approx(0.6, abs=0.05)
    *others, last = (row["missing"] for row in estimated["per_label"])
    assert (last, sum(others)) == (0, pytest.approx(estimated["missing"]))
    trained = run.json("train", data, *QUICK)
    for report in (estimated, trained):
        assert "label 6, which gives no information about c" in report["warnings"][0]
    assert trained["c"][:5] == [pytest.approx(estimated["c"])] * 5
    assert trained["c"][5] == 1  # of what all instances have, nothing is missing
    assert estimated["missing"] == pytest.approx(S.sum() * (1 / estimated["c"] - 1))
