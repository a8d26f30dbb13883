import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn import metrics as reference

from mpu_cli.errors import MpuError
from mpu_cli.evaluation.metrics import LabelSetMetrics, Reliability
from tests.evaluation.comparing import measured
from tests.golden import refused

shapes = st.tuples(st.integers(1, 12), st.integers(1, 8))
truth_and_predicted = shapes.flatmap(lambda shape: st.tuples(hnp.arrays(bool, shape), hnp.arrays(bool, shape)))


def sklearn_metrics(truth, predicted) -> dict[str, float]:
    """The same metrics by scikit-learn, on the labels that occur."""
    occurs = (truth | predicted).any(axis=0)
    truth, predicted = truth[:, occurs], predicted[:, occurs]
    expected = {}
    for average in ("micro", "macro", "samples"):
        values = reference.precision_recall_fscore_support(truth, predicted, average=average, zero_division=0)
        expected |= {f"{average}_{name}": x for name, x in zip(("precision", "recall", "f1"), values, strict=False)}
    expected["hamming_loss"] = reference.hamming_loss(truth, predicted)
    expected["subset_accuracy"] = reference.accuracy_score(truth, predicted)
    return expected


@given(truth_and_predicted, st.data())
def test_agrees_with_scikit_learn_however_it_is_cut(matrices, data):
    truth, predicted = matrices
    cuts = sorted(data.draw(st.lists(st.integers(0, len(truth)), max_size=4)))
    counts = measured(LabelSetMetrics(), truth, predicted, *cuts)
    for counted, expected in (("true_positives", truth & predicted), ("predicted", predicted), ("support", truth)):
        assert getattr(counts, counted).tolist() == expected.sum(axis=0)[(truth | predicted).any(axis=0)].tolist()
    assert counts.labels.tolist() == np.flatnonzero((truth | predicted).any(axis=0)).tolist()
    if len(counts.labels) > 1:  # scikit-learn reads a single column as a binary problem
        assert counts.results() == pytest.approx(sklearn_metrics(truth, predicted), rel=0, abs=1e-12)


def test_one_label():
    truth, predicted = np.array([[[1], [1], [0], [1]], [[1], [0], [0], [1]]], bool)
    results = measured(LabelSetMetrics(), truth, predicted).results()
    assert results["macro_f1"] == results["micro_f1"] == pytest.approx(0.8)
    assert results["samples_f1"] == pytest.approx(0.5)  # the empty sets agree and count 0, as in scikit-learn
    assert results["hamming_loss"] == pytest.approx(0.25)
    assert results["subset_accuracy"] == pytest.approx(0.75)


def test_largest_labels_take_no_memory():
    largest = 2**31 - 2
    ones, rows = np.ones(3, bool), [0, 1, 2]
    truth = csr_array((ones, (rows, [5, largest, largest])), shape=(3, largest + 1))
    predicted = csr_array((ones, (rows, [largest, 7, largest])), shape=(3, largest + 1))
    counts = LabelSetMetrics()
    counts.add(truth, predicted)
    assert (counts.labels.tolist(), counts.true_positives.tolist()) == ([5, 7, largest], [0, 0, 1])
    assert (counts.predicted.tolist(), counts.support.tolist()) == ([0, 1, 2], [1, 0, 2])


def simulated(n=20_000, q=4, c=1.0):
    rng = np.random.default_rng(0)
    scores = rng.random((n, q)).astype(np.float32)
    truth = (rng.random((n, q)) < scores) & (rng.random((n, q)) < c)
    return csr_array(truth), csr_array(scores)


@pytest.mark.parametrize("c", [0.3, 1.0])
def test_probabilities_that_are_true_are_found_to_be_so(c):
    truth, scores = simulated(c=c)
    reliability = measured(Reliability(), truth.toarray() / c, scores, *range(3000, 20_000, 3000))
    rows = reliability.rows()
    assert [row["from"] for row in rows] == pytest.approx(np.arange(10) / 10)
    assert sum(row["scores"] for row in rows) == scores.nnz
    for row in rows:
        assert row["from"] <= row["mean"] <= row["to"]
        assert row["low"] <= row["true"] <= row["high"]
        assert row["true"] == pytest.approx(row["mean"], abs=0.05)
    assert np.mean([row["low"] <= row["mean"] <= row["high"] for row in rows]) >= 0.7
    summary = reliability.summary()
    assert summary["error"] < 0.03
    assert summary["expected"] == pytest.approx(scores.sum(), rel=1e-6)
    assert summary["true"] == pytest.approx(truth.nnz / c)


def test_losses_are_those_of_scikit_learn_and_are_estimated_where_labels_are_missing():
    truth, scores = simulated(c=1.0)
    expected = [
        loss(truth.toarray().ravel(), scores.toarray().ravel())
        for loss in (reference.brier_score_loss, reference.log_loss)
    ]
    for c in (1.0, 0.4):
        annotated = truth.toarray() & (np.random.default_rng(1).random(truth.shape) < c)
        summary = measured(Reliability(), annotated / c, scores).summary()
        found = [summary["brier"], summary["log_loss"]]
        np.testing.assert_allclose(found, expected, rtol=1e-4 if c == 1 else 0.02)
        assert summary["ece"] < 0.01


def test_labels_without_a_score_are_not_counted():
    reliability = Reliability()
    listed = csr_array((np.array([0.0, 1.0], np.float32), [0, 3], [0, 2]), shape=(1, 4))  # a zero is listed
    reliability.add(csr_array(np.array([[0, 1, 0, 1]], bool)), listed)
    rows = [row for row in reliability.rows() if row["scores"]]
    assert [(row["scores"], row["true"]) for row in rows] == [(1, 0), (1, 1)]


def test_a_score_is_in_the_bin_of_its_decimal_number_and_an_empty_bin_has_no_shares():
    reliability = Reliability()
    scores = np.array([[*np.arange(11) / 10, 0.3, 0.6, 0.7]], np.float32)
    reliability.add(csr_array(scores.shape, dtype=bool), csr_array(scores))
    assert [row["scores"] for row in reliability.rows()] == [0, 1, 1, 2, 1, 1, 2, 2, 1, 2]
    assert all(np.isnan(reliability.rows()[0][name]) for name in ("mean", "true", "low", "high"))


@pytest.mark.parametrize("score", [-0.1, 1.1, 30.0])
def test_a_score_that_is_no_probability_is_an_error(score):
    with refused(MpuError):
        Reliability().add(csr_array(np.ones((1, 1), bool)), csr_array(np.array([[score]], np.float32)))
