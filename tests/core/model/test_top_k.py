"""Decisions of k labels: held to every decision that there is, and to xCOLUMNs."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.metrics import f1_score

from mpu_cli.core.model.top_k import TopK, best_top_k
from mpu_cli.core.options import AIMS


def probabilities(n: int, q: int, seed: int = 0) -> np.ndarray:
    """Labels of which each is rarer than the one before."""
    rng = np.random.default_rng(seed)
    return expit(2 * rng.normal(size=(n, q)) - np.linspace(0, 4, q)).astype(np.float32)


def decided(rule: TopK, p) -> np.ndarray:
    chosen = rule.chosen(p)
    rows = np.repeat(np.arange(p.shape[0]), np.diff(chosen.indptr))
    decisions = np.zeros(p.shape, bool)
    decisions[rows, chosen.indices] = True
    return decisions


def reached(decisions: np.ndarray, p: np.ndarray, k: int, aim: str) -> tuple[float, float]:
    """Precision at k and the aim, of expected counts."""
    p = p.astype(float)
    right = (p * decisions).sum(axis=0)
    if aim == "coverage":
        return right.sum() / k / len(p), float(np.mean(1 - np.exp(-right)))
    return right.sum() / k / len(p), float(np.mean(2 * right / (decisions.sum(axis=0) + p.sum(axis=0))))


@pytest.mark.parametrize("aim", AIMS)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 2))
def test_the_sum_is_between_that_of_the_most_probable_labels_and_the_largest_that_there_is(aim, seed, k):
    p = probabilities(4, 3, seed)
    rule, expected = best_top_k(p, k, aim)
    decisions = decided(rule, p)
    assert (decisions.sum(axis=1) == k).all()
    assert (expected.precision, expected.aim) == pytest.approx(reached(decisions, p, k, aim))
    most_probable = np.argsort(np.argsort(-p, axis=1), axis=1) < k
    first = (expected.precision_by_probability, expected.aim_by_probability)
    assert first == pytest.approx(reached(most_probable, p, k, aim))
    rows = [np.isin(np.arange(3), choice) for choice in combinations(range(3), k)]
    largest = max(sum(reached(np.array(d), p, k, aim)) for d in product(rows, repeat=4))
    assert sum(first) - 1e-9 <= expected.precision + expected.aim <= largest + 1e-9


@pytest.mark.parametrize("k", [1, 3, 5])
def test_as_good_as_the_steps_of_xcolumns(k):
    xcolumns = pytest.importorskip("xcolumns.frank_wolfe")  # extra oracle: it brings numba, which tests are run without
    from xcolumns.metrics import macro_f1_score_on_conf_matrix

    p = probabilities(500, 20)

    def both(tp, fp, fn, tn):
        return macro_f1_score_on_conf_matrix(tp, fp, fn, tn) + tp.sum() / k

    exact = p.astype(float)
    search = {"init_classifier": "top", "max_iters": 40, "alpha_uniform_search_step": 0.01}
    found, meta = xcolumns.find_classifier_using_fw(exact, exact, both, k, **search, return_meta=True)
    rule, expected = best_top_k(p, k, "macro-f1")
    assert expected.precision + expected.aim == pytest.approx(max(meta["classifiers_utilities"]), abs=2e-3)
    theirs, ours = found.predict(exact, seed=0) > 0, decided(rule, p)
    new = np.random.default_rng(1).random(p.shape) < p
    scores = [f1_score(new, d, average="macro") + (new & d).sum() / d.sum() for d in (ours, theirs)]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)


@pytest.mark.parametrize(("aim", "n"), list(zip(AIMS, (2000, 100), strict=True)))
def test_rare_labels_gain_more_than_precision_loses(aim, n):
    learned, new = probabilities(n, 30), probabilities(n, 30, seed=1)
    rule, _ = best_top_k(learned, 2, aim)
    decisions = decided(rule, new), decided(TopK(2, aim, np.ones(30), np.zeros(30)), new)
    lost = gained = 0.0
    rng = np.random.default_rng(2)
    for true in (rng.random(new.shape) < new for _ in range(20)):
        of_rule, of_most_probable = ((true & d).sum() / d.sum() for d in decisions)
        lost += of_most_probable - of_rule
        of_rule, of_most_probable = (
            f1_score(true, d, average="macro", zero_division=0) if aim == "macro-f1" else (true & d).any(axis=0).mean()
            for d in decisions
        )
        gained += of_rule - of_most_probable
    assert 0 < lost < gained


@pytest.mark.parametrize("aim", AIMS)
def test_sparse_predictions_are_decided_as_dense_ones(aim):
    p = probabilities(200, 12)
    (dense, expected), (sparse, of_sparse) = (best_top_k(x, 3, aim) for x in (p, csr_array(p)))
    np.testing.assert_allclose(sparse.weights, dense.weights, rtol=1e-5)
    assert vars(of_sparse) == pytest.approx(vars(expected))
    np.testing.assert_array_equal(decided(dense, csr_array(p)), decided(dense, p))


def test_only_allowed_labels_and_those_that_are_stored_are_chosen():
    rule = TopK(2, "coverage", np.ones(4, np.float32), np.array([0, 0, -1, 0], np.float32))
    p = np.array([[0.9, 0.5, 0.8, 0.1], [0.2, 0.3, 0.9, 0.4]], np.float32)
    assert decided(rule, p).tolist() == [[True, True, False, False], [False, True, False, True]]
    allowed = np.array([False, True, True, True])
    assert rule.chosen(p, allowed).indices.tolist() == [1, 3, 1, 3]
    few = csr_array(np.array([[0, 0, 0.8, 0], [0.2, 0.3, 0.9, 0.4]], np.float32))
    assert np.diff(rule.chosen(few).indptr).tolist() == [1, 2]


@pytest.mark.parametrize("aim", AIMS)
def test_more_labels_than_there_are(aim):
    p = probabilities(5, 3)
    rule, expected = best_top_k(p, 9, aim)
    assert rule.k == 3
    assert decided(rule, p).all()
    assert expected.precision == expected.precision_by_probability


@pytest.mark.parametrize("aim", AIMS)
def test_a_label_that_is_expected_nowhere_is_not_chosen(aim):
    p = probabilities(50, 4) * np.array([1, 1, 1, 0], np.float32)
    rule, expected = best_top_k(p, 2, aim)
    assert np.isfinite([*rule.weights, *rule.offsets, *vars(expected).values()]).all()
    assert not decided(rule, p)[:, 3].any()
