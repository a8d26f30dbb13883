import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn import metrics as reference

from mpu_cli.evaluation.metrics import LabelSetMetrics
from tests.evaluation.comparing import measured

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
    assert counts.labels.tolist() == [5, 7, largest]
    assert counts.true_positives.tolist() == [0, 0, 1]
    assert counts.predicted.tolist() == [0, 1, 2]
    assert counts.support.tolist() == [1, 0, 2]
