import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from scipy.stats import binom

from mpu_cli.core.frequency import review_frequency
from mpu_cli.core.frequency.estimators import FrequencyEstimate
from mpu_cli.core.frequency.review_frequency import from_review, from_second_file, instances_to_review
from mpu_cli.core.problem import VerifiedLabels
from tests.core.simulated import as_labels
from tests.core.verified import complete_review
from tests.slow import slow


def reviewed(Y, S, automatic=None):
    """Review the first of many instances; the others have no annotations."""
    rows, others = np.arange(len(Y)), np.zeros((9 * len(Y), Y.shape[1]), bool)
    Y, S = np.vstack([Y, others]), np.vstack([S, others])
    return from_review(as_labels(S), complete_review(Y, rows), rows, automatic)


def of_counts(a, n, without=0, automatic=None):
    """One label an instance: n_k of these have label k, a_k of which is annotated; the last have no label."""
    Y = np.repeat(np.eye(len(n), dtype=bool), n, axis=0)
    S = np.concatenate([np.arange(size) < kept for kept, size in zip(a, n, strict=True)])[:, None] & Y
    nothing = np.zeros((without, len(n)), bool)
    return reviewed(np.vstack([Y, nothing]), np.vstack([S, nothing]), automatic)


def assert_possible(found):
    """Frequencies are above 0, and intervals from 0 to 1."""
    for c, (low, high) in [(found.c, found.interval), *zip(found.rates, found.intervals, strict=True)]:
        assert 0 < c <= 1
        assert 0 <= low <= high <= 1


def drawn(c, n, share, seed):
    rng = np.random.default_rng(seed)
    Y = rng.random((n, len(c))) < share
    return Y, Y & (rng.random(Y.shape) < c)


@pytest.mark.parametrize(("a", "n"), [([3], [5]), ([0, 4, 2], [2, 4, 9]), ([1, 0, 0, 7], [1, 1, 0, 30])])
@pytest.mark.parametrize("automatic", [None, 0.2])
def test_rates_are_the_means_of_normal_log_odds(a, n, automatic):
    """By drawing mu, tau and log odds; with so many annotations, the share annotated is the frequency."""
    a, n, rng = np.array(a), np.array(n), np.random.default_rng(0)
    mu, tau = rng.normal(logit(automatic or 0.5), 1.5, (400_000, 1)), rng.choice(np.geomspace(0.06, 2, 6), (400_000, 1))
    c = expit(rng.normal(mu, tau, (400_000, len(a))))
    weight = binom.pmf(a, n, c).prod(axis=1)
    found = review_frequency.of_labels(np.stack([a, n], 1), np.full(len(a), 1e9), review_frequency.binomial, automatic)
    assert_allclose(found.mean(), weight @ c / weight.sum(), atol=0.01)


def test_overall_c_of_a_review_is_a_beta_posterior():
    found = of_counts([30], [50])
    assert found.c == pytest.approx(31 / 52, abs=1e-3)
    assert_allclose(found.interval, [0.4836, 0.7050], atol=2e-3)  # quantiles of Beta(31, 21)
    assert found.instances == 50
    assert_array_equal(found.true, [50])


def test_a_review_that_finds_no_missing_label_leaves_open_that_none_is():
    Y = np.random.default_rng(0).random((50, 3)) < 0.4
    found = reviewed(Y, Y)
    assert (found.interval[1], found.limits[1]) == (1, 1)
    assert (found.intervals[:, 1] == 1).all()
    assert 0.9 < found.interval[0] < found.c < 1


@pytest.mark.parametrize("automatic", [None, 0.3, 1.0, 1e-6])
@pytest.mark.parametrize(("a", "n"), [([0], [0]), ([0, 0], [0, 5]), ([10, 3], [10, 3]), ([1], [1]), ([0], [1])])
def test_small_reviews_give_frequencies_above_zero_up_to_one(a, n, automatic):
    assert_possible(of_counts(a, n, without=10, automatic=automatic))


def test_without_a_label_the_automatic_estimate_stays():
    nothing = np.zeros((10, 3), bool)
    assert reviewed(nothing, nothing, automatic=0.7).c == pytest.approx(0.7, abs=1e-3)
    assert reviewed(nothing, nothing).c == pytest.approx(0.5, abs=1e-3)


def test_the_automatic_estimate_counts_for_two_labels():
    Y = np.ones((48, 1), bool)
    S = np.arange(48)[:, None] < 24
    assert reviewed(Y, S, automatic=0.9).c == pytest.approx((24 + 1.8) / 50, abs=1e-3)


def prior_draw(rng, q):
    """Frequencies of q labels as the model expects them."""
    return expit(rng.normal(rng.normal(0, 1.5), rng.choice(np.geomspace(0.06, 2, 6)), q))


@pytest.mark.parametrize("size", slow(1, 4, 60))
def test_nine_in_ten_labels_drawn_from_the_model_lie_in_their_intervals(size):
    """720 of 800; the standard deviation is about 13, as labels of a draw may be missed together."""
    inside = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        c, n = prior_draw(rng, 10), rng.poisson(size, 10)
        counts = np.column_stack([rng.binomial(n, c), n])
        found = review_frequency.of_labels(counts, np.full(10, 1e9), review_frequency.binomial).interval(0.1)
        inside += ((found[:, 0] <= c) & (c <= found[:, 1])).sum()
    assert 680 <= inside <= 755


def test_labels_that_go_missing_together_widen_the_interval():
    """Either all ten labels of an instance are annotated or none: as much is learned as from one."""
    covered, widths = 0, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Y = np.ones((100, 10), bool)
        S = Y & (rng.random(100) < 0.5)[:, None]
        low, high = reviewed(Y, S).interval
        covered += low <= 0.5 <= high
        widths.append(high - low)
    assert covered >= 46
    assert np.mean(widths) > 0.14


def test_what_a_review_settles_otherwise_tells_nothing():
    """Ignored cells and annotations found to be false are neither true nor kept."""
    S = np.array([[1, 1, 1], [1, 0, 1]], bool)
    verified = VerifiedLabels.of((2, 3), true=([1], [1]), false=([0], [2]), ignored=([1], [2]), complete=[0, 1])
    assert_array_equal(from_review(as_labels(S), verified, np.array([0, 1])).true, [2, 2, 0])


def test_only_the_sampled_instances_count_each_once():
    Y = np.ones((6, 1), bool)
    S = np.arange(6)[:, None] < 3
    verified = complete_review(Y, np.arange(6))
    once = from_review(as_labels(S), verified, np.array([0, 1]))
    assert from_review(as_labels(S), verified, np.array([1, 0, 1])).rates == once.rates
    assert_array_equal(once.true, [2])
    assert once.c > from_review(as_labels(S), verified, np.array([4, 5])).c


def test_contradiction_is_outside_of_the_interval_that_leaves_out_one_percent():
    found = of_counts([50], [100])
    low, high = found.limits
    assert low < found.interval[0] < found.interval[1] < high
    for c, contradicts in ((low + 0.001, False), (low - 0.001, True), (high - 0.001, False), (high + 0.001, True)):
        for separable in (False, True):
            other = FrequencyEstimate(c, (c, c), np.zeros(1, int), separable)
            assert bool(found.contradiction(other)) == (contradicts and separable)
    assert found.contradiction(None) is None


def of_two_files(S, Y):
    both, second = np.vstack([S, Y]), len(S) + np.arange(len(Y))
    return from_second_file(as_labels(both), VerifiedLabels.of(both.shape, complete=second), second)


@pytest.mark.parametrize("c", [0.3, 0.6, 1.0])
def test_two_files_give_c(c):
    Y, _ = drawn(np.full(5, c), 4000, 0.3, 1)
    _, S = drawn(np.full(5, c), 4000, 0.3, 2)
    found = of_two_files(S, Y)
    assert found.c == pytest.approx(c, abs=0.03)
    assert_allclose(found.rates, c, atol=0.06)
    assert found.instances == 4000


@pytest.mark.parametrize("share", [0.02, *slow(0.3)])
def test_overall_interval_of_two_files_covers_nine_in_ten(share):
    c, inside = np.linspace(0.2, 0.8, 10), 0
    for seed in range(40):
        _, S = drawn(c, 1500, share, seed)
        Y, _ = drawn(c, 600, share, 1000 + seed)
        low, high = of_two_files(S, Y).interval
        inside += low <= 0.5 <= high
    assert inside >= 30


@pytest.mark.parametrize(("here", "there"), [(0, 0), (0, 5), (5, 0), (10, 10), (10, 1)])
def test_two_files_with_few_labels_or_only_full_ones(here, there):
    S, Y = np.arange(10)[:, None] < here, np.arange(10)[:, None] < there
    assert_possible(of_two_files(S, Y))


@pytest.mark.parametrize("c", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("width", [0.2, 0.05])
def test_a_planned_review_has_the_width_asked_for(c, width):
    m = instances_to_review(width, c, labels_per_instance=2)
    n = 2 * m
    low, high = of_counts([round(c * n)], [n]).interval
    assert high - low == pytest.approx(width, rel=0.1)
    assert instances_to_review(width, c, labels_per_instance=4) == pytest.approx(m / 2, abs=2)


def test_plans_ask_for_at_least_one_instance():
    assert instances_to_review(1.0, 0.5, 3) == 1
    assert instances_to_review(0.01, 1.0, 3) > 1
