import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit

from mpu_cli.core.frequency.estimators import METHODS
from tests.core.frequency.cells import estimate
from tests.core.simulated import as_labels
from tests.slow import slow


def separable(n: int, q: int, c: float, seed: int = 0, share: float = 0.2):
    """Scores that nearly tell which instances have a label; a share c of those is annotated."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, q)) < share
    S = Y & (rng.random((n, q)) < c)
    P = c * expit(np.where(Y, 5, -5) + rng.normal(0, 1.5, (n, q)))
    return P.astype(np.float32), as_labels(S)


def noise(n: int, q: int, share: float, seed: int = 0):
    """Scores that say nothing."""
    rng = np.random.default_rng(seed)
    return rng.random((n, q), dtype=np.float32), as_labels(rng.random((n, q)) < share)


def beside(*problems):
    """The labels of several problems, side by side."""
    return np.hstack([P for P, _ in problems]), as_labels(np.hstack([S.toarray() for _, S in problems]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("q", [1, 8])
@pytest.mark.parametrize("c", [1.0, 0.7, 0.4])
def test_best_bin_finds_c_of_separable_labels(c, q, seed):
    found = estimate(*separable(3000, q, c, seed))
    assert found.c == pytest.approx(c, abs=0.05)
    assert found.predictable
    assert found.interval[0] <= c <= found.interval[1]
    assert set(found.labels) <= set(range(q))


def test_best_bin_rests_on_the_predictable_labels():
    found = estimate(*beside(noise(3000, 2, 0), noise(3000, 4, 0.15), separable(3000, 2, 0.6), noise(3000, 4, 0.3)))
    assert found.c == pytest.approx(0.6, abs=0.05)
    assert len(found.labels)
    assert set(found.labels) <= {6, 7}


def test_elkan_and_noto_by_hand():
    P = np.array([[0.5, 0.25], [0.125, 0.75], [0.25, 0.0], [0.0, 0.125]], np.float32)
    S = as_labels([[True, False], [False, True], [True, False], [False, False]])
    assert estimate(P, S, "e1").c == pytest.approx((0.5 + 0.75 + 0.25) / 3)
    assert (estimate(P, S, "e2").c, estimate(P, S, "e3").c) == (pytest.approx((0.5 + 0.75 + 0.25) / 2.0), 0.75)
    assert_array_equal(estimate(P, S, "e1").labels, [0, 1])
    [first, second] = [estimate(P[:, [k]], S[:, [k]], "e1").c for k in range(2)]
    assert (first, second) == (0.5, 0.75)  # e1 of the first is 0.375, and half of its instances are annotated


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("c", [1.0, 0.7, 0.4])
def test_labels_that_go_together_tell_c_where_scores_do_not(c, seed):
    rng = np.random.default_rng(seed)
    Y = np.repeat(rng.random((3000, 2)) < 0.3, 2, axis=1)  # pairs of labels that are true together
    P, S = rng.random((3000, 4), dtype=np.float32), as_labels(Y & (rng.random(Y.shape) < c))
    assert estimate(P, S).c == pytest.approx(c, abs=0.05)
    assert isinstance(estimate(P, S).predictable, bool)  # not NumPy's, which JSON cannot contain
    assert not estimate(P[:, ::2], S[:, ::2]).predictable  # without their partners


def test_labels_that_go_together_count_only_where_scores_do_not_tell_c():
    """Annotations of one instance may be missing together, as of those whom nobody cared for."""
    P, S = separable(3000, 3, 0.5)
    cared_for = np.random.default_rng(1).random((3000, 1)) < 0.5
    pairs = as_labels((np.random.default_rng(2).random((3000, 1)) < 0.4) & cared_for & np.ones(2, bool))
    both = beside((P, S), (np.random.default_rng(3).random((3000, 2), dtype=np.float32), pairs))
    assert estimate(*both).c == pytest.approx(estimate(P, S).c, abs=0.01)
    assert estimate(both[0][:, 3:], pairs).c == 1


@pytest.mark.parametrize("q", [1, 10])
@pytest.mark.parametrize(
    ("n", "share"),
    [(100, 0.05), (2000, 0.005), (2000, 0.6), *slow((2000, 0.002), (2000, 0.02), (2000, 0.1), (2000, 0.3))],
)
def test_noise_is_not_predictable(n, share, q):
    mistaken = [estimate(*noise(n, q, share, seed)).predictable for seed in range(10)]
    assert sum(mistaken) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_weakly_predictable_labels_are_not_trusted(seed):
    """At best one and a half times as likely as on the whole."""
    rng = np.random.default_rng(seed)
    P = rng.uniform(0.2, 0.6, (3000, 5)).astype(np.float32)
    found = estimate(P, as_labels(rng.random(P.shape) < P * 0.5))
    assert not found.predictable
    assert found.c < 0.5


@pytest.mark.parametrize(("n", "c", "share"), [(200, 0.3, 0.2), (2000, 0.6, 0.6)], ids=["few", "frequent"])
def test_a_caution_does_not_say_that_separable_labels_cannot_be_predicted(n, c, share):
    """Scores part instances with and without a label well, but no bin is surely twice as rich as the whole."""
    for seed in range(5):
        found = estimate(*separable(n, 1, c, seed, share))
        assert not found.predictable
        assert found.interval[0] <= c <= found.interval[1]
        assert "labels are too frequent or annotated at different rates" in found.caution


@pytest.mark.parametrize("c", [0.4, 0.8])
def test_where_features_tell_nothing_c_may_be_anything_and_lies_in_the_middle(c):
    """The share in the best bins is then that of all instances."""
    P, S = noise(2000, 3, 0.2 * c, seed=0)
    found = estimate(P, S)
    assert found.interval == (pytest.approx(0.2 * c, abs=0.03), 1.0)
    assert found.c == pytest.approx(0.4, abs=0.1)


def test_nearly_always_annotated_labels_are_trusted():
    """Three quarters of the instances have the label: no bin can be twice as rich."""
    assert estimate(*separable(3000, 1, 1.0, share=0.75)).predictable


def test_interval_holds_the_estimate_and_its_lower_end_nears_it_with_n():
    below = []
    for n in (500, 8000):
        found = estimate(*separable(n, 3, 0.5), seed=1)
        low, high = found.interval
        assert 0 < low <= found.c <= high <= 1
        below.append(0.5 - low)
    assert 0.005 < below[1] < below[0] / 2


@pytest.mark.parametrize("c", [0.7, 0.4])
@pytest.mark.parametrize(("n", "q", "per"), [(1500, 200, 20), (1000, 60, 40)])
def test_many_small_labels_do_not_push_c_up(n, q, per, c):
    """Of many bins of few instances the best are so by chance, and their share is larger than c."""
    rng = np.random.default_rng(0)
    Y = np.zeros((n, q), bool)
    for k in range(q):
        Y[rng.choice(n, per, replace=False), k] = True
    S = Y & (rng.random(Y.shape) < c)
    P = expit(np.where(Y, 2, -3) + rng.normal(0, 1.2, Y.shape)).astype(np.float32)
    found = estimate(P, as_labels(S))
    assert found.interval[0] <= c <= found.interval[1]
    assert found.c <= c * 1.15


def test_interval_allows_for_bins_in_which_a_quarter_is_false():
    rng = np.random.default_rng(0)
    for c in (0.7, 0.4):
        seems = rng.random((2000, 10)) < 0.2
        Y = seems & (rng.random(seems.shape) < 0.75)
        S = Y & (rng.random(Y.shape) < c)
        P = expit(np.where(seems, 4, -4) + rng.normal(0, 1, Y.shape)).astype(np.float32)
        low, high = estimate(P, as_labels(S)).interval
        assert low <= 0.75 * c < c <= high


@pytest.mark.parametrize("c", [0.8, 0.5])
def test_few_instances_that_surely_have_a_label_show_that_the_best_bin_lacks_purity(c):
    rng = np.random.default_rng(0)
    chance = rng.choice([1.0, 0.45, 0.05], (20_000, 4), p=[0.002, 0.2, 0.798])
    S = rng.random(chance.shape) < c * chance
    found = estimate((chance + rng.normal(0, 1e-3, chance.shape)).astype(np.float32), as_labels(S))
    assert 0.7 * c <= found.c <= c <= found.interval[1]


@pytest.mark.parametrize("c", [0.8, 0.5])
def test_where_the_share_annotated_still_rises_at_the_highest_scores_c_may_be_higher(c):
    P = c * expit(np.random.default_rng(0).normal(-4, 1, (3000, 10)))
    low, high = estimate(P, as_labels(np.random.default_rng(1).random(P.shape) < P), is_linear=True).interval
    assert low <= c <= high


@pytest.mark.parametrize("c", [0.8, 0.5, 0.25])
def test_log_odds_of_given_scores_may_end_at_those_of_c(c):
    P = c * expit(np.random.default_rng(0).normal(-2, 4, (6000, 5)))
    found = estimate(P, as_labels(np.random.default_rng(1).random(P.shape) < P))
    assert found.predictable
    assert found.c == pytest.approx(c, rel=0.1)


def test_interval_is_that_of_the_seed():
    problem = separable(600, 2, 0.5)
    first, again, other = (estimate(*problem, seed=seed).interval for seed in (1, 1, 2))
    assert first == again != other
    assert 0 < first[0] <= first[1] <= 1


@pytest.mark.parametrize("method", ["e1", "e2", "e3"])
def test_an_estimator_of_elkan_and_noto_has_the_interval_of_best_bins_as_far_as_its_estimate(method):
    problem = separable(600, 2, 0.5)
    found, (low, high) = estimate(*problem, method), estimate(*problem).interval
    assert found.interval == (min(low, found.c), max(high, found.c))


def test_best_bin_goes_by_the_order_of_scores_of_each_label_alone():
    P, S = separable(2000, 4, 0.6)
    expected = estimate(P, S)
    other = P.astype(float)
    other[:, 0], other[:, 1], other[:, 2] = np.sqrt(other[:, 0]), np.exp(3 * other[:, 1]), other[:, 2] ** 3 - 5
    for order in ([0, 1, 2, 3], [1, 2, 3, 0], [3, 1, 0, 2]):
        found = estimate(other[:, order], S[:, order])
        assert (found.c, found.interval, found.predictable) == (expected.c, expected.interval, expected.predictable)


@pytest.mark.parametrize("method", METHODS)
def test_order_of_instances_does_not_matter_even_with_ties(method):
    P, S = separable(1000, 3, 0.6)
    P = np.round(P, 1)
    expected = estimate(P, S, method)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(1000)
        found = estimate(P[order], S[order], method)
        assert found.c == pytest.approx(expected.c, rel=1e-12)
        assert_array_equal(found.labels, expected.labels)


def test_equal_scores_are_one_bin():
    P = np.repeat(np.float32([0.3, 0.1]), [400, 2000])[:, None]
    assert estimate(P, as_labels(np.arange(2400)[:, None] < 100)).c == 0.25


@pytest.mark.parametrize("method", METHODS)
def test_within_zero_and_one(method):
    for scores, annotated in (([[0.3]], [[True]]), (np.zeros((5, 2)), np.eye(5, 2))):
        assert 0 < estimate(np.float32(scores), as_labels(annotated), method).c <= 1


@pytest.mark.parametrize("most", [2, 3])
def test_as_many_annotations_as_allowed_tell_nothing_of_what_is_missing(most):
    """The labels are annotated that are drawn first, or the first ones; uniformly missing labels look different."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.8, 1.2, (2000, 8))
    true = rng.random(p.shape) < p

    def estimated(annotated):
        known = (p * annotated.sum() / p.sum()).astype(np.float32)
        return estimate(known, as_labels(annotated), calibrated=known)

    for places in (np.arange(8), rng.permuted(np.tile(np.arange(8), (2000, 1)), axis=1)):
        order = np.argsort(np.where(true, places, 8), axis=1)
        found = estimated(true & (np.argsort(order, axis=1) < most))
        assert found.label_cap == most
        assert f"more than {most} labels" in found.caution
        assert f"more than {most} labels" in found.assumption
    for kept in (1.0, 0.7, 0.4):
        assert estimated(true & (rng.random(true.shape) < kept)).label_cap is None


def test_one_annotation_each_tells_nothing_of_what_is_missing():
    P, S = separable(1000, 2, 1.0, share=0.5)
    both = S.toarray()
    assert both.all(axis=1).any()
    first = both & ~np.column_stack([np.zeros(len(both), bool), both[:, 0]])  # of both labels, the second is lost
    annotated = first.any(axis=1)
    found = estimate(P[annotated], as_labels(first[annotated]))
    assert found.label_cap == 1
    nearly = np.vstack([first[annotated], np.ones((5, 2), bool)])  # 5 of about 750 have both
    assert estimate(np.vstack([P[annotated], P[:5]]), as_labels(nearly)).label_cap == 1
    assert "more than 1 label" in found.caution
    assert estimate(P, S).label_cap is None
    assert estimate(P[:, :1], S[:, :1]).label_cap is None  # of a single label, no instance can have two
    few = np.arange(1000)[:, None] // 20 == [0, 1]  # that none of 20 and 20 has both may be chance
    assert estimate(P, as_labels(few)).label_cap is None
