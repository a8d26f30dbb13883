"""Metrics for people with arrays: `ranking_metrics` and `jain_propensities`."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from sklearn.metrics import coverage_error, ndcg_score

from mpu_cli import jain_propensities, ranking_metrics
from mpu_cli.evaluation import propensities

TRUTH = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
SCORES = np.array([[0.9, 0.2, 0.1, 0], [0.7, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]])


def test_dense_scores_list_all_labels():
    found = ranking_metrics(TRUTH, SCORES, k=(1, 2))
    assert found["precision_at_1"] == pytest.approx(1 / 3)
    assert found["ndcg_at_2"] == pytest.approx(ndcg_score(TRUTH, SCORES, k=2))
    assert found["coverage_error"] == pytest.approx(coverage_error(TRUTH, SCORES))
    assert found["recall_at_2"] == pytest.approx((1 / 2 + 1) / 3)
    assert found["coverage_at_2"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, coo_array])
def test_sparse_scores_list_what_is_stored(kind):
    top = np.where(SCORES >= 0.25, SCORES, 0)
    found = ranking_metrics(kind(TRUTH), kind(top), k=[2])
    assert found["recall_at_2"] == pytest.approx((1 / 2 + 1) / 3)
    assert found["coverage_error"] == pytest.approx((3 + 2 + 0) / 3)  # unlisted: rank 3, the last of those that occur


def test_a_stored_zero_is_listed():
    listed = csr_array((np.array([0.5, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert ranking_metrics([[0, 1]], listed, k=[2])["recall_at_2"] == 1
    assert ranking_metrics([[0, 1]], csr_array([[0.5, 0.0]]), k=[2])["recall_at_2"] == 0


def test_propensities_weigh_labels():
    c = [1, 0.25, 1, 0.5]
    found = ranking_metrics(TRUTH, SCORES, k=[1], propensities=c)
    assert found["psp_at_1"] == pytest.approx(1 / (1 + 4))
    assert "psp_at_1" not in ranking_metrics(TRUTH, SCORES, k=[1])


def test_propensities_of_an_indicator_matrix():
    np.testing.assert_allclose(jain_propensities(TRUTH), propensities.jain_propensities([1, 1, 1, 0], 3))
    np.testing.assert_allclose(
        jain_propensities(csr_array(TRUTH), a=0.6, b=2.6), propensities.jain_propensities([1, 1, 1, 0], 3, 0.6, 2.6)
    )


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        (([[1, 0]], [[1]]), {}, r"y_true has shape \(1, 2\), and scores have \(1, 1\)"),
        (([[2]], [[1]]), {}, "y_true holds other values than 0, 1"),
        (([[1]], [[np.nan]]), {}, "scores contains NaN"),
        (([[1]], [[1]]), {"k": [0]}, "give whole numbers of labels, from 1"),
        (([[1]], [[1]]), {"k": [1.5]}, "give whole numbers of labels, from 1"),
        (([[1]], [[1]]), {"propensities": [0.5, 0.5]}, r"propensities have shape \(2,\), and y_true has 1 columns"),
        (([[1]], [[1]]), {"propensities": [0]}, "above 0 up to 1"),
        (([[1]], [[1]]), {"propensities": [np.nan]}, "above 0 up to 1"),
    ],
)
def test_rankings_are_refused_for_other_arrays(arguments, options, problem):
    with pytest.raises(ValueError, match=problem):
        ranking_metrics(*arguments, **options)


@pytest.mark.parametrize(
    ("y", "options", "problem"),
    [
        ([[1], [1]], {}, "y has 2 rows: the model needs 3 at least"),
        ([[1], [1], [1]], {"a": -1}, "a is -1"),
        ([[1], [1], [1]], {"b": 0}, "b is 0"),
        ([[1], [1], [0.5]], {}, "y holds other values than 0, 1"),
    ],
)
def test_propensities_are_refused_for_other_arguments(y, options, problem):
    with pytest.raises(ValueError, match=problem):
        jain_propensities(y, **options)
