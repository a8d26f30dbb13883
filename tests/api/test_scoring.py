"""Metrics for people with arrays, and what they and `choose_thresholds` refuse."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from sklearn.metrics import coverage_error, ndcg_score

from mpu_cli import choose_thresholds, corrected_metrics, jain_propensities, ranking_metrics
from mpu_cli.evaluation import metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics
from tests.golden import refused
from tests.slow import slow

TRUTH = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
SCORES = np.array([[0.9, 0.2, 0.1, 0], [0.7, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]])


def test_dense_scores_list_all_labels():
    found = ranking_metrics(TRUTH, SCORES, k=(1, 2))
    assert found["precision_at_1"] == pytest.approx(1 / 3)
    assert found["ndcg_at_2"] == pytest.approx(ndcg_score(TRUTH, SCORES, k=2))
    assert found["coverage_error"] == pytest.approx(coverage_error(TRUTH, SCORES))
    assert found["recall_at_2"] == pytest.approx((1 / 2 + 1) / 3)
    assert found["coverage_at_2"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("close", [lambda s: 1 - (1 - s) * 1e-9, lambda s: s * 1e-50, lambda s: 1e9 + s])
def test_scores_that_are_close_to_each_other_do_not_tie(close):
    assert ranking_metrics(TRUTH, close(SCORES)) == ranking_metrics(TRUTH, SCORES)
    assert ranking_metrics(TRUTH, csr_array(close(SCORES))) == ranking_metrics(TRUTH, csr_array(SCORES))


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, coo_array])
def test_sparse_scores_list_what_is_stored(kind):
    found = ranking_metrics(kind(TRUTH), kind(np.where(SCORES >= 0.25, SCORES, 0)), k=[2])
    assert found["recall_at_2"] == pytest.approx((1 / 2 + 1) / 3)
    assert found["ndcg_at_2"] == pytest.approx((1 / (1 + 1 / np.log2(3)) + 1 / np.log2(3)) / 3)
    assert found["coverage_error"] == pytest.approx((3 + 2 + 0) / 3)  # unlisted: rank 3, the last of those that occur


def test_a_stored_zero_is_listed():
    listed = csr_array((np.array([0.5, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert ranking_metrics([[0, 1]], listed, k=[2])["recall_at_2"] == 1
    assert ranking_metrics([[0, 1]], csr_array([[0.5, 0.0]]), k=[2])["recall_at_2"] == 0


def test_propensities_of_an_indicator_matrix():
    for y, constants in (TRUTH, {}), (csr_array(TRUTH), {"a": 0.6, "b": 2.6}):
        expected = metrics.jain_propensities([1, 1, 1, 0], 3, **constants)
        np.testing.assert_allclose(jain_propensities(y, **constants), expected)


@pytest.mark.parametrize(
    ("function", "arguments", "options"),
    [
        (ranking_metrics, ([[1, 0]], [[1]]), {}),
        (ranking_metrics, ([[2]], [[1]]), {}),
        (ranking_metrics, ([[1]], [[np.nan]]), {}),
        (ranking_metrics, ([[1]], [[1]]), {"k": [0]}),
        (ranking_metrics, ([[1]], [[1]]), {"propensities": [0]}),
        (ranking_metrics, ([[1]], [[1]]), {"propensities": [np.nan]}),
        (jain_propensities, ([[1], [1]],), {}),
        (jain_propensities, ([[1], [1], [1]],), {"a": -1}),
        (jain_propensities, ([[1], [1], [1]],), {"b": 0}),
        (jain_propensities, ([[1], [1], [0.5]],), {}),
        (ranking_metrics, ([["a"], []], [[1, 0], [0, 1]]), {}),
        (choose_thresholds, ([[0.5]], [[1, 0]], 0.5), {}),
        (choose_thresholds, ([[0.5]], [[0]], 0.5), {}),
        (choose_thresholds, ([[0.5]], [[1]], 0.5, "f1"), {}),
        (corrected_metrics, ([[1]], [[0.5]], 0.5), {}),
        (corrected_metrics, ([[1]], [[1]], 0), {}),
        (corrected_metrics, ([[1]], [[1]], "auto"), {}),
        (ranking_metrics, ([[1]], [[1]]), {"k": 1.5}),
        (ranking_metrics, ([[1]], [[1]]), {"k": []}),
    ],
)
def test_what_is_refused(function, arguments, options):
    with refused(ValueError):
        function(*arguments, **options)


RNG = np.random.default_rng(0)
Y = RNG.random((400, 5)) < 0.3
PREDICTED = Y ^ (RNG.random(Y.shape) < 0.15)
RATES = {
    "one": 0.6,
    "labels": np.array([0.3, 0.5, 0.7, 0.9, 1.0]),
    "instances": RNG.uniform(0.3, 1, (400, 1)),
    "cells": RNG.uniform(0.3, 1, Y.shape),
}


def on_complete_labels() -> dict[str, float]:
    counts = LabelSetMetrics()
    counts.add(csr_array(Y), csr_array(PREDICTED))
    return counts.results()


@pytest.mark.parametrize("kind", ["cells", *slow("one", "labels", "instances")])
def test_c_of_labels_instances_or_cells(kind):
    """The mean over draws of what is annotated is that of complete labels; with the mean c it is not."""
    rng, c = np.random.default_rng(1), RATES[kind]
    draws = [Y & (rng.random(Y.shape) < c) for _ in range(60)]
    actual = on_complete_labels()
    found = [corrected_metrics(S, PREDICTED, c) for S in draws]
    for name in ("micro_precision", "micro_recall", "micro_f1", "macro_precision", "macro_recall", "macro_f1"):
        assert np.mean([one[name] for one in found]) == pytest.approx(actual[name], abs=0.01)
    ranked = [ranking_metrics(S, PREDICTED + 0.1, k=[1], c=c)["corrected_precision_at_1"] for S in draws]
    expected = ranking_metrics(Y, PREDICTED + 0.1, k=[1])["precision_at_1"]
    assert abs(np.mean(ranked) - expected) < 4 * np.std(ranked) / np.sqrt(60)


def test_intervals_cover_the_metrics_of_the_population():
    """Of instances without end, 80 are drawn, and 0.6 of their labels are annotated."""
    rng = np.random.default_rng(2)
    actual, covered = on_complete_labels(), dict.fromkeys(("micro_precision", "micro_f1", "macro_f1"), 0)
    for _ in range(60):
        rows = rng.integers(400, size=80)
        S = Y[rows] & (rng.random((80, 5)) < 0.6)
        intervals = corrected_metrics(S, PREDICTED[rows], 0.6, intervals=True)["intervals"]
        for name in covered:
            low, high = intervals[name]
            covered[name] += low <= actual[name] <= high
    assert all(47 <= times <= 60 for times in covered.values()), covered  # 54 are expected


@pytest.mark.parametrize("c", [[0.5, 0.5], [[0.5, 0.0, 1, 1, 1]], np.ones((5, 400)), np.ones((2, 400, 5))])
def test_c_of_other_shapes_or_values(c):
    for measure in (corrected_metrics, ranking_metrics):
        with refused(ValueError):
            measure(Y, PREDICTED, c=c)
