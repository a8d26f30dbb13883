import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import precision_recall_fscore_support

from mpu_cli.commands.evaluate import DetailedMetrics, build_report, evaluate, metric_names, per_label_report
from mpu_cli.errors import MpuError
from mpu_cli.evaluation.compare import Comparison
from mpu_cli.evaluation.metrics import LabelSetMetrics
from mpu_cli.names import Naming
from mpu_cli.runtime.report import as_json
from tests.golden import refused


@pytest.fixture
def indicators():
    return np.random.default_rng(0).random((2, 50, 4)) < 0.4


@pytest.fixture
def counts(indicators):
    counts = LabelSetMetrics()
    counts.add(*map(csr_array, indicators))
    return counts


def test_report_of_label_sets(counts):
    report = as_json(build_report(Comparison(counts)))
    assert list(report) == ["instances", "labels", *counts.results()]
    assert (report["instances"], report["labels"]) == (50, 4)


def test_only_the_metrics_asked_for_in_that_order(counts):
    report = as_json(build_report(Comparison(counts), ["macro_f1", "hamming_loss", "micro_f1"], c=0.9))
    assert list(report) == ["instances", "labels", "c", "macro_f1", "hamming_loss", "micro_f1", "corrected"]
    assert list(report["corrected"]) == ["macro_f1", "micro_f1", "clipped", "clipped_labels"]


def test_ranking_of_label_sets_is_refused(counts):
    with refused(MpuError):
        build_report(Comparison(counts), ["micro_f1", "ndcg_at_3"])


def test_a_file_and_its_labels(tmp_path):
    truth, predictions, names = tmp_path / "truth.svm", tmp_path / "tags.txt", tmp_path / "names"
    truth.write_text("1,2 1:1\n2 1:1\n")
    predictions.write_text("1\n1\n")
    names.write_text("one\ntwo\n")
    metrics = DetailedMetrics(names=["micro_precision"], per_label=True, naming=Naming(names), c=0.5)
    report = evaluate(str(truth), str(predictions), metrics)
    assert (report.instances, report.labels, report.true_labels) == (2, 2, 3)
    assert report.metrics == {"micro_precision": 0.5}
    assert report.corrected == {"micro_precision": 1.0, "clipped": False, "clipped_labels": 0}
    assert [(row["name"], row["support"], row["precision"]) for row in report.per_label] == [
        ("one", 1, 0.5),
        ("two", 2, 0),
    ]


@pytest.mark.parametrize(
    ("metrics", "per_label", "expected"),
    [(None, False, True), (["one_error"], False, False), (["one_error"], True, True), (["micro_f1"], False, True)],
)
def test_what_uses_label_sets(metrics, per_label, expected, tmp_path):
    truth, scores = tmp_path / "truth.svm", tmp_path / "scores.txt"
    truth.write_text("1,2 1:1\n2 1:1\n")
    scores.write_text("1:0.9\n2:0.6\n")
    report = evaluate(str(truth), str(scores), DetailedMetrics(names=metrics, per_label=per_label))
    assert report.uses_label_sets is expected


def test_metric_names_follow_the_cutoffs():
    names = metric_names((2,))
    assert {"micro_f1", "precision_at_2", "ndcg_at_2", "one_error"} <= set(names)
    assert "precision_at_1" not in names


def test_each_label_agrees_with_scikit_learn(counts, indicators):
    rows = per_label_report(counts, c=0.9, names=["a", "b", "c", "d"])
    expected = precision_recall_fscore_support(*indicators, zero_division=0)
    for name, values in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        assert [row[name] for row in rows] == pytest.approx(values, rel=1e-12)
    assert [row["name"] for row in rows] == ["a", "b", "c", "d"]
    for row in rows:
        assert row["corrected"]["precision"] == pytest.approx(row["precision"] / 0.9)
        assert row["corrected"]["recall"] == row["recall"]
