import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.metrics import coverage_error, label_ranking_average_precision_score, ndcg_score

from mpu_cli.evaluation.metrics import RankingMetrics
from tests.evaluation.orders import mean_over_rankings, rankings

KS = (1, 3, 5)
shapes = st.tuples(st.integers(1, 10), st.integers(2, 8))
few_scores = st.integers(0, 4).map(lambda i: i / 4)  # many ties
truth_and_scores = shapes.flatmap(
    lambda shape: st.tuples(hnp.arrays(bool, shape), hnp.arrays(np.float32, shape, elements=few_scores))
)


def score_lists(scores, listed=None) -> csr_array:
    """Score lists that name the labels in `listed` (default all), zeros too."""
    listed = np.ones(scores.shape, bool) if listed is None else listed
    rows, columns = np.nonzero(listed)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(scores)))])
    return csr_array((scores[listed], columns, indptr), shape=scores.shape)


def rank(truth, scores: csr_array, *cuts, ks=KS) -> dict[str, float]:
    """Rank in chunks that end at `cuts`."""
    ranking = RankingMetrics(ks)
    for start, stop in zip([0, *cuts], [*cuts, len(truth)], strict=True):
        ranking.add(csr_array(truth[start:stop]), scores[start:stop])
    return ranking.results()


@given(truth_and_scores, st.data())
def test_agrees_with_scikit_learn_ties_included(matrices, data):
    truth, scores = matrices
    results = rank(truth, score_lists(scores), *sorted(data.draw(st.lists(st.integers(0, len(truth)), max_size=4))))
    scores = scores.astype(
        float
    )  # SciPy from 1.18 on ranks, and scikit-learn then averages, in the precision of scores
    expected = {
        "label_ranking_average_precision": label_ranking_average_precision_score(truth, scores),
        "coverage_error": coverage_error(truth, scores),
        **{f"ndcg_at_{k}": ndcg_score(truth.astype(int), scores, k=k) for k in KS},
    }
    assert {name: results[name] for name in expected} == pytest.approx(expected, rel=0, abs=1e-12)


@given(truth_and_scores, st.data())
def test_unlisted_labels_rank_last(matrices, data):
    truth, scores = matrices
    listed = data.draw(hnp.arrays(bool, scores.shape))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(truth)), max_size=4)))
    results = rank(truth, score_lists(scores, listed), *cuts)
    # q counts the labels that occur; the other columns are as if they were not there.
    occurs = (truth | listed).any(axis=0)
    truth, dense = truth[:, occurs], np.where(listed, scores.astype(float), -1)[:, occurs]
    if occurs.sum() > 1:
        expected = label_ranking_average_precision_score(truth, dense)
        assert results["label_ranking_average_precision"] == pytest.approx(expected, rel=0, abs=1e-12)
        assert results["coverage_error"] == pytest.approx(coverage_error(truth, dense), rel=0, abs=1e-12)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            hnp.arrays(bool, (n, 5)), hnp.arrays(np.float32, (n, 5), elements=few_scores), hnp.arrays(bool, (n, 5))
        )
    )
)
def test_recall_and_coverage_by_their_definition_in_every_order_of_ties(example):
    truth, scores, listed = example
    results = rank(truth, score_lists(scores, listed))
    sets = [set(np.flatnonzero(row).tolist()) for row in truth]
    lists = [
        {j: float(row[j]) for j in np.flatnonzero(which).tolist()} for row, which in zip(scores, listed, strict=True)
    ]
    for k in KS:
        recalls = [
            mean_over_rankings(ranks, lambda order, true=true, k=k: len(true & set(order[:k])) / len(true))
            if true
            else 0
            for true, ranks in zip(sets, lists, strict=True)
        ]
        always = [
            true.intersection(*(order[:k] for order in rankings(ranks)))
            for true, ranks in zip(sets, lists, strict=True)
        ]
        occurring, covered = set().union(*sets), set().union(*always)
        assert results[f"recall_at_{k}"] == pytest.approx(sum(recalls) / len(truth), rel=0, abs=1e-12)
        assert results[f"coverage_at_{k}"] == pytest.approx(len(covered) / max(len(occurring), 1), rel=0, abs=1e-12)


def test_unlisted_labels_are_never_retrieved():
    truth = np.array([[1, 1, 1, 0]], bool)
    lists = score_lists(np.array([[0.9, 0, 0, 0.5]], np.float32), np.array([[1, 0, 0, 1]], bool))
    results = rank(truth, lists)
    assert results["precision_at_3"] == pytest.approx(1 / 3)
    assert results["ndcg_at_3"] == pytest.approx(1 / (1 + 1 / np.log2(3) + 1 / 2))
    assert results["coverage_error"] == 4
    assert results["recall_at_3"] == results["coverage_at_3"] == pytest.approx(1 / 3)


def test_no_scores_and_no_labels():
    results = rank(np.zeros((2, 3), bool), csr_array((2, 3), dtype=np.float32))
    assert results["label_ranking_average_precision"] == results["one_error"] == 1
    assert results["coverage_error"] == results["precision_at_1"] == results["ndcg_at_5"] == 0
    assert results["recall_at_5"] == results["coverage_at_5"] == 0


def test_a_cutoff_beyond_all_labels_takes_no_memory():
    truth, lists = np.array([[1, 0]], bool), score_lists(np.array([[0.2, 0.7]], np.float32))
    results = rank(truth, lists, ks=(10**12,))
    assert results["ndcg_at_1000000000000"] == pytest.approx(1 / np.log2(3))
    assert results["precision_at_1000000000000"] == pytest.approx(1e-12, rel=1e-9)
