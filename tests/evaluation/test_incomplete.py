import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.evaluation.incomplete import corrected, corrected_metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, precision_recall_f1

C = 0.5


@pytest.fixture(scope="module")
def simulated():
    """True, annotated and predicted label sets: noisy predictions of labels with known probabilities."""
    rng = np.random.default_rng(0)
    probabilities = rng.beta(0.4, 1.2, size=(6000, 12))
    truth = rng.random(probabilities.shape) < probabilities
    annotated = truth & (rng.random(truth.shape) < C)
    return truth, annotated, probabilities >= 0.4


def counted(truth, predicted) -> LabelSetMetrics:
    counts = LabelSetMetrics()
    counts.add(csr_array(truth), csr_array(predicted))
    return counts


def test_estimates_are_near_the_values_on_complete_labels(simulated):
    truth, annotated, predicted = simulated
    actual, naive = counted(truth, predicted).results(), counted(annotated, predicted).results()
    estimates = corrected_metrics(counted(annotated, predicted), C)
    for name in ("micro_precision", "micro_recall", "micro_f1", "macro_precision", "macro_recall", "macro_f1"):
        assert estimates[name] == pytest.approx(actual[name], abs=0.02)
    assert actual["micro_f1"] - naive["micro_f1"] > 0.1
    assert not estimates["clipped"]


def test_c_of_one_changes_nothing(simulated):
    _, annotated, predicted = simulated
    counts = counted(annotated, predicted)
    naive = counts.results()
    estimates = corrected_metrics(counts, 1.0)
    assert not estimates.pop("clipped")
    assert estimates.pop("clipped_labels") == 0
    assert estimates == pytest.approx({name: naive[name] for name in estimates}, rel=1e-12)


def test_formulas_on_one_label():
    # 10 predicted and annotated stand for 20 predicted and true, 16 annotated for 32 true.
    assert corrected(10, 25, 16, c=0.5) == pytest.approx((20 / 25, 20 / 32, 2 * 20 / (25 + 32), False))


def test_precision_above_one_is_cut_and_said():
    estimate = corrected(np.array([3, 3]), np.array([4, 6]), np.array([6, 6]), c=0.5)
    assert estimate.clipped.tolist() == [True, False]
    assert estimate.precision.tolist() == [1, 1]
    assert estimate.recall.tolist() == [0.5, 0.5]
    assert estimate.f1 == pytest.approx([2 / 3, 2 / 3])


def test_a_label_frequency_for_each_label():
    hits, predicted, annotated = np.array([3, 3]), np.array([8, 8]), np.array([5, 5])
    estimate = corrected(hits, predicted, annotated, c=np.array([1, 0.5]))
    for i, c in enumerate((1, 0.5)):
        expected = [float(x) for x in precision_recall_f1(3 / c, 8, 5 / c)]
        assert (estimate.precision[i], estimate.recall[i], estimate.f1[i]) == pytest.approx(expected)


def test_nothing_annotated_or_nothing_predicted_is_zero():
    estimate = corrected([0, 0, 0], [0, 5, 0], [5, 0, 0], c=0.5)
    assert not np.any([estimate.precision, estimate.recall, estimate.f1, estimate.clipped])
