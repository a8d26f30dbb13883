import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import precision_recall_fscore_support

from mpu_cli.commands.evaluation import build_report, metric_names, per_label_report, read_label_names
from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.compare import Comparison
from mpu_cli.evaluation.metrics import LabelSetMetrics


@pytest.fixture
def indicators():
    return np.random.default_rng(0).random((2, 50, 4)) < 0.4


@pytest.fixture
def counts(indicators):
    counts = LabelSetMetrics()
    counts.add(*map(csr_array, indicators))
    return counts


def test_report_of_label_sets(counts):
    report = build_report(Comparison(counts))
    assert list(report) == ["instances", "labels", *counts.results()]
    assert (report["instances"], report["labels"]) == (50, 4)


def test_only_the_metrics_asked_for_in_that_order(counts):
    report = build_report(Comparison(counts), ["macro_f1", "hamming_loss", "micro_f1"], c=0.9)
    assert list(report) == ["instances", "labels", "c", "macro_f1", "hamming_loss", "micro_f1", "corrected"]
    assert list(report["corrected"]) == ["macro_f1", "micro_f1", "clipped", "clipped_labels"]


def test_ranking_of_label_sets_is_refused(counts):
    with pytest.raises(MpuError, match="ndcg_at_3 needs scores"):
        build_report(Comparison(counts), ["micro_f1", "ndcg_at_3"])


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


def test_label_names(tmp_path):
    path = tmp_path / "names"
    path.write_text("one\ntwo words\nzwölf\n", encoding="utf-8")
    assert read_label_names(path, [2, 3]) == ["two words", "zwölf"]
    for label, lines in ((0, "from 1"), (4, "of 3 lines")):
        with pytest.raises(InputError, match=f"no name for label {label}: line k names label k, {lines}"):
            read_label_names(path, [1, label])


def test_label_names_that_are_not_text(tmp_path):
    path = tmp_path / "names"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_label_names(path, [1])
