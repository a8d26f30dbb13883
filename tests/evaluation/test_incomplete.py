import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import corrected_metrics as api_metrics
from mpu_cli.errors import InputError
from mpu_cli.evaluation.metrics import (
    LabelSetMetrics,
    Propensities,
    RankingMetrics,
    corrected_metrics,
    jain_propensities,
    precision_recall_f1,
)
from tests.evaluation.comparing import measured
from tests.golden import refused

C = 0.5
KS = (1, 3, 5)


def test_c_of_one_changes_nothing():
    annotated, predicted = np.random.default_rng(0).random((2, 600, 12)) < 0.3
    counts = measured(LabelSetMetrics(), annotated, predicted)
    naive = counts.results()
    estimates = corrected_metrics(counts.true_positives, counts.predicted, counts.support)
    assert not estimates.pop("clipped")
    assert estimates.pop("clipped_labels") == 0
    assert estimates == pytest.approx({name: naive[name] for name in estimates}, rel=1e-12)


def test_precision_above_one_is_cut():
    estimate = precision_recall_f1(np.array([3, 3]), np.array([4, 6]), np.array([6, 6]), c=0.5)
    assert (estimate.precision.tolist(), estimate.recall.tolist()) == ([1, 1], [0.5, 0.5])
    assert estimate.f1 == pytest.approx([2 / 3, 2 / 3])
    found = api_metrics([[1, 1], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]], c=0.5, intervals=True)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1 / 2) / 2)  # the mean of the F1 of labels
    assert sum(found["intervals"]["macro_f1"]) / 2 == pytest.approx(found["macro_f1"])


def test_macro_precision_is_without_bias_where_labels_are_rare():
    rng = np.random.default_rng(1)
    truth = rng.random((60, 40)) < 0.08
    predicted = (truth & (rng.random(truth.shape) < 0.7)) | (rng.random(truth.shape) < 0.02)
    predicted[:2] = True  # each label is predicted at least once, whatever is annotated
    drawn = (truth & (rng.random(truth.shape) < C) for _ in range(150))
    counts = (
        [(annotated & predicted).sum(axis=0), predicted.sum(axis=0), annotated.sum(axis=0)] for annotated in drawn
    )
    found = [corrected_metrics(*counted, C)["macro_precision"] for counted in counts]
    actual = measured(LabelSetMetrics(), truth, predicted).results()["macro_precision"]
    assert abs(np.mean(found) - actual) < 4 * np.std(found) / np.sqrt(150)
    hits, sizes = (truth & predicted).sum(axis=0), predicted.sum(axis=0)
    cut = [np.minimum(rng.binomial(hits, C) / C / sizes, 1).mean() for _ in range(150)]
    assert np.mean(cut) < actual - 0.01  # as it was with cuts


@pytest.fixture(scope="module")
def ranked():
    """True labels, of sizes that vary, and scores that know of them; with ties."""
    rng = np.random.default_rng(2)
    probabilities = rng.beta(0.5, 2, size=(2000, 12)) * rng.uniform(0.2, 1, (2000, 1))
    scores = np.round(probabilities + rng.normal(0, 0.1, probabilities.shape), 1)
    return rng.random(probabilities.shape) < probabilities, csr_array(scores.astype(np.float32) + 2)


def corrected_ranking(weighted, scores) -> dict[str, float]:
    return measured(RankingMetrics(KS), weighted, scores, 1, 700).corrected()


def test_rankings_of_complete_labels_are_the_plain_ones(ranked):
    truth, scores = ranked
    plain = measured(RankingMetrics(KS), truth, scores).results()
    found = corrected_ranking(truth.astype(float), scores)
    assert found == pytest.approx({name: plain[name] for name in found}, abs=1e-9)


def test_annotations_are_counted_over_all_chunks():
    annotated = np.array([[1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]], bool)
    whole, *parts = csr_array(annotated), csr_array(annotated[:1]), csr_array(annotated[1:, :3])
    for chunks in ([whole], parts):
        found = Propensities.of_annotations(chunks, a=0.6, b=2.6)
        np.testing.assert_array_equal(found.labels, [0, 2, 3])
        expected = jain_propensities([3, 0, 1, 1, 0], 4, 0.6, 2.6)
        np.testing.assert_allclose(found.of(np.arange(5)), expected)


def test_a_label_without_a_propensity_is_named_with_the_file():
    known = Propensities(np.array([2, 5]), np.array([0.5, 0.25]), source="c.txt")
    np.testing.assert_array_equal(known.of(np.array([5, 2, 5])), [0.25, 0.5, 0.25])
    with refused(InputError, "c.txt: "):
        known.of(np.array([2, 9, 3]))
