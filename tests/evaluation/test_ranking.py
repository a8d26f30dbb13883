"""Ranking metrics, plain and by propensities, as scikit-learn and their definitions have them."""

import math
from collections.abc import Iterator
from itertools import groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.metrics import coverage_error, label_ranking_average_precision_score, ndcg_score

from mpu_cli.evaluation.metrics import RankingMetrics
from tests.evaluation.comparing import measured

KS = (1, 3, 5)
LABELS = 5
few_scores = st.integers(0, 4).map(lambda i: i / 4)  # many ties


def arrays(rows, columns):
    """Truth, scores with ties, and which of them are listed: often all."""
    shapes = st.tuples(rows, columns)
    return shapes.flatmap(
        lambda shape: st.tuples(
            hnp.arrays(bool, shape),
            hnp.arrays(np.float32, shape, elements=few_scores),
            st.just(np.ones(shape, bool)) | hnp.arrays(bool, shape),
        )
    )


few_rows = arrays(st.integers(1, 6), st.just(LABELS))
cut_points = st.lists(st.integers(0, 10), max_size=4).map(sorted)


def score_lists(scores, listed) -> csr_array:
    """Score lists that name the labels in `listed`, zeros too."""
    _, columns = np.nonzero(listed)
    return csr_array((scores[listed], columns, np.append(0, listed.sum(axis=1).cumsum())), shape=scores.shape)


def rank(truth, scores: csr_array, *cuts, ks=KS) -> dict[str, float]:
    return measured(RankingMetrics(ks), truth, scores, *(min(cut, len(truth)) for cut in cuts)).results()


def rankings(scores: dict[int, float]) -> Iterator[list[int]]:
    """Give each order of the labels by descending score, ties in every order; labels not in `scores` are in none."""
    ordered = sorted(scores, key=scores.get, reverse=True)
    groups = [list(group) for _, group in groupby(ordered, key=scores.get)]
    for parts in product(*(permutations(group) for group in groups)):
        yield [label for part in parts for label in part]


def listed_scores(scores, listed) -> list[dict[int, float]]:
    return [
        dict(zip(np.flatnonzero(which).tolist(), row[which].tolist(), strict=True))
        for row, which in zip(scores, listed, strict=True)
    ]


@given(arrays(st.integers(1, 10), st.integers(2, 8)), cut_points)
def test_agrees_with_scikit_learn_where_unlisted_labels_rank_last(example, cuts):
    truth, scores, listed = example
    results = rank(truth, score_lists(scores, listed), *cuts)
    # q counts the labels that occur; the other columns are as if they were not there. SciPy from 1.18 on ranks, and
    # scikit-learn then averages, in the precision of scores.
    occurs = (truth | listed).any(axis=0)
    truth, dense = truth[:, occurs], np.where(listed, scores.astype(float), -1)[:, occurs]
    expected = {}
    if occurs.sum() > 1:
        expected["label_ranking_average_precision"] = label_ranking_average_precision_score(truth, dense)
        expected["coverage_error"] = coverage_error(truth, dense)
    if listed.all():
        expected |= {f"ndcg_at_{k}": ndcg_score(truth.astype(int), dense, k=k) for k in KS}
    assert {name: results[name] for name in expected} == pytest.approx(expected, rel=0, abs=1e-12)


@given(few_rows)
def test_precision_recall_and_coverage_by_their_definition_in_every_order_of_ties(example):
    truth, scores, listed = example
    results = rank(truth, score_lists(scores, listed))
    sets = [set(np.flatnonzero(row).tolist()) for row in truth]
    for k in KS:
        sizes, recalls, covered = [], [], set()
        for true, ranks in zip(sets, listed_scores(scores, listed), strict=True):
            found = [true.intersection(order[:k]) for order in rankings(ranks)]
            sizes.append(np.mean([len(labels) for labels in found]))
            recalls.append(sizes[-1] / max(len(true), 1))
            covered.update(set.intersection(*found))
        assert results[f"precision_at_{k}"] == pytest.approx(np.mean(sizes) / k, rel=0, abs=1e-12)
        assert results[f"recall_at_{k}"] == pytest.approx(np.mean(recalls), rel=0, abs=1e-12)
        share = len(covered) / max(len(set().union(*sets)), 1)
        assert results[f"coverage_at_{k}"] == pytest.approx(share, rel=0, abs=1e-12)
    assert results["one_error"] == pytest.approx(1 - results["precision_at_1"], rel=0, abs=1e-12)


def propensity_scored(truth, scores, listed, propensities) -> dict[str, float]:
    """The definitions, instance by instance and order by order."""
    results = {}
    for k in KS:
        sums = np.zeros((2, 2))  # gained and possible, of precision and of nDCG
        for true, lists in zip(truth, listed_scores(scores, listed), strict=True):
            labels = set(np.flatnonzero(true).tolist())
            normalizer = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(labels)) + 1))

            def gains(order, labels=labels, k=k):
                ranks = ((rank, 1 / propensities[j]) for rank, j in enumerate(order[:k], 1) if j in labels)
                return np.sum([(gain, gain / math.log2(rank + 1)) for rank, gain in ranks] or [(0, 0)], axis=0)

            for i, ranks in enumerate((lists, {j: 1 / propensities[j] for j in labels})):
                sums[:, i] += np.mean([gains(order) for order in rankings(ranks)], axis=0) / [1, normalizer or 1]
        for name, (gained, possible) in zip(("psp", "psndcg"), sums, strict=True):
            results[f"{name}_at_{k}"] = gained / possible if possible else 0
    return results


@given(few_rows, hnp.arrays(float, LABELS, elements=st.sampled_from([0.1, 0.25, 0.5, 1])), cut_points)
def test_metrics_by_propensities_are_as_they_are_defined(example, propensities, cuts):
    truth, scores, listed = example
    lists, cuts = score_lists(scores, listed), (min(cut, len(truth)) for cut in cuts)
    found = measured(RankingMetrics(KS), truth, lists, *cuts, by_propensity=truth / propensities)
    assert found.propensity_scored() == pytest.approx(propensity_scored(*example, propensities), rel=0, abs=1e-12)


def test_no_scores_and_no_labels():
    results = rank(np.zeros((2, 3), bool), csr_array((2, 3), dtype=np.float32))
    assert results["label_ranking_average_precision"] == results["one_error"] == 1
    assert results["coverage_error"] == results["precision_at_1"] == results["ndcg_at_5"] == 0
    assert results["recall_at_5"] == results["coverage_at_5"] == 0


def test_a_cutoff_beyond_all_labels_takes_no_memory():
    results = rank(np.array([[1, 0]], bool), csr_array(np.array([[0.2, 0.7]], np.float32)), ks=(10**12,))
    assert results["ndcg_at_1000000000000"] == pytest.approx(1 / np.log2(3))
    assert results["precision_at_1000000000000"] == pytest.approx(1e-12, rel=1e-9)
