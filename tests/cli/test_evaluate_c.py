"""`evaluate --c FILE`: a label frequency for each label."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import corrected_metrics, ranking_metrics
from tests.cli.test_evaluate import label_lines, score_lines

RNG = np.random.default_rng(0)
Y = RNG.random((300, 4)) < 0.4
S = Y & (RNG.random(Y.shape) < [0.3, 0.5, 0.8, 1])
SCORES = np.round(np.where(Y, 0.7, 0.3) + RNG.uniform(-0.3, 0.3, Y.shape), 3)
C = np.array([0.3, 0.5, 0.8, 1])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.svm").write_text("".join(f"{line} 1:1\n" for line in label_lines(S).splitlines()))
    (tmp_path / "scores").write_text(score_lines(SCORES))
    (tmp_path / "other").write_text(score_lines(1 - SCORES))
    (tmp_path / "c").write_text("1 0.3\n2 0.5  # economy\n3 0.8\n4 1\n9 0.1\n")


def evaluated(run, *options) -> dict:
    return run.json("evaluate", "truth.svm", "scores", "--k", "1,2", *options)


def test_metrics_are_those_of_python(run, files):
    report = evaluated(run, "--c", "c", "--per-label")
    predicted = SCORES >= 0.5
    ranking = ranking_metrics(S, csr_array(SCORES), k=(1, 2), c=C)
    expected = corrected_metrics(S, predicted, C)
    names = ("precision_at_1", "precision_at_2", "ndcg_at_1", "ndcg_at_2")
    assert report["corrected"] == pytest.approx(expected | {name: ranking[f"corrected_{name}"] for name in names})
    assert report["c"] == pytest.approx(S.sum() / (S / C).sum())
    assert [row["corrected"]["precision"] for row in report["per_label"]] == pytest.approx(
        np.minimum((S & predicted).sum(axis=0) / C / predicted.sum(axis=0), 1)
    )


def test_a_file_of_the_same_c_is_that_c(run, files, tmp_path):
    (tmp_path / "same").write_text("".join(f"{label} 0.6\n" for label in range(1, 5)))
    assert evaluated(run, "--c", "same", "--calibration") == evaluated(run, "--c", "0.6", "--calibration")


def test_calibration_counts_each_annotation_by_its_c(run, files):
    calibration = evaluated(run, "--c", "c", "--calibration")["calibration"]
    assert calibration["true"] == pytest.approx((S / C).sum())
    assert calibration["true"] == pytest.approx(Y.sum(), rel=0.1)
    assert sum(row["true"] * row["scores"] for row in calibration["bins"]) == pytest.approx(calibration["true"])
    assert all(row["low"] <= row["true"] <= row["high"] for row in calibration["bins"] if row["scores"])


def test_several_predictions(run, files):
    report = evaluated(run, "other", "--c", "c")
    micro = [corrected_metrics(S, predicted, C)["micro_f1"] for predicted in (SCORES >= 0.5, 1 - SCORES >= 0.5)]
    assert [one["micro_f1"] for one in report["evaluated"]] == pytest.approx(micro)
    assert report["c"] == pytest.approx(S.sum() / (S / C).sum())


def test_names_of_labels(run, files, tmp_path):
    (tmp_path / "names").write_text("art\neconomy\nlaw\nsports\n")
    (tmp_path / "named").write_text("art 0.3\neconomy 0.5\nlaw 0.8\nsports 1\n")
    assert evaluated(run, "--c", "named", "--labels", "names") == evaluated(run, "--c", "c")
