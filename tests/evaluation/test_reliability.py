import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import brier_score_loss, log_loss

from mpu_cli.errors import MpuError
from mpu_cli.evaluation.metrics import Reliability
from tests.evaluation.comparing import measured
from tests.golden import refused


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
    expected = [loss(truth.toarray().ravel(), scores.toarray().ravel()) for loss in (brier_score_loss, log_loss)]
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


@pytest.mark.parametrize("score", [-0.1, 1.1, 30.0])
def test_a_score_that_is_no_probability_is_an_error(score):
    with refused(MpuError):
        Reliability().add(csr_array(np.ones((1, 1), bool)), csr_array(np.array([[score]], np.float32)))
