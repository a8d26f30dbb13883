from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.metrics import f1_score

from mpu_cli.core.calibration import HeldOut
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.thresholds import (
    estimated_macro_f1,
    expected_f1,
    label_thresholds,
    macro_thresholds,
    pooled_threshold,
    uncalibrated_macro_thresholds,
)
from tests.core.simulated import as_labels


def held(P, S, c) -> HeldOut:
    return HeldOut(P, as_labels(S), LabelFrequency.of(c, S.shape))


def micro_f1(truth, predicted) -> float:
    cells = truth.sum() + predicted.sum()
    return 2 * (truth & predicted).sum() / cells if cells else 0.0


def simulated(n=4000, q=5, c=0.4, seed=0):
    """True probabilities, complete labels, and a share c of them."""
    rng = np.random.default_rng(seed)
    P = expit(rng.normal(-1.5, 2.5, (n, q))).astype(np.float32)
    Y = rng.random((n, q)) < P
    return P, Y, Y & (rng.random((n, q)) < c)


@given(st.floats(1e-6, 0.99))
def test_candidates_part_probabilities_a_thousandth_apart(p):
    assert pooled_threshold(held(np.float32([[p], [p * 1.001]]), np.array([[0], [1]]), 1.0))[1] == 1


@given(st.floats(2**-10, 0.4375), st.floats(0.5, 1))
def test_the_threshold_is_in_the_middle_between_what_is_predicted_and_what_is_not(low, high):
    threshold, f1 = pooled_threshold(held(np.float32([[high], [low]]), np.array([[1], [0]]), 1.0))
    assert (f1, threshold) == (1, pytest.approx((low + high) / 2, rel=1e-3))


@pytest.mark.parametrize("error", [0.0, 0.05])
def test_the_interval_covers_the_f1_of_complete_labels(error):
    """By the sampling of 150 instances, and by an estimate of c with this standard error."""
    c, t = 0.4, np.full(5, 0.3, np.float32)
    P, Y, _ = simulated(n=50_000, c=c)
    truth = micro_f1(Y, t <= P)
    rng = np.random.default_rng(1)
    covered, wide = [], []
    for _ in range(300):
        rows = rng.integers(len(P), size=150)
        estimate = c + error * rng.normal()
        S = Y[rows] & (rng.random((150, 5)) < c)
        expected = expected_f1(held(P[rows], S, estimate), t)
        ends = estimate - 1.645 * error, estimate + 1.645 * error
        low, high = expected.interval(tuple(np.divide(ends, estimate))) if error else expected.interval()
        covered.append(low <= truth <= high)
        wide.append(high - low)
    assert 0.84 <= np.mean(covered) <= 0.96  # of 300, where 0.9 are to be covered
    assert np.mean(wide) < 0.25


def test_one_instance_tells_little():
    one = np.ones((1, 1), np.float32)
    expected = expected_f1(held(one, one, 1.0), np.float32([0.5]))
    assert (expected.f1, expected.interval()) == (1, (0, 1))


def test_no_annotation_is_no_f1():
    nothing = held(np.full((4, 2), 0.3, np.float32), np.zeros((4, 2)), 1.0)
    threshold, f1 = pooled_threshold(nothing)
    assert (0 <= threshold <= 1, f1, estimated_macro_f1(nothing)) == (True, 0, 0)
    assert_array_equal(label_thresholds(nothing, 0.25), [0.25, 0.25])
    assert_array_equal(uncalibrated_macro_thresholds(nothing, 0.25), [0.25, 0.25])


@pytest.mark.parametrize("probability", [0.0, 1e-30, 1.0])
def test_certain_probabilities(probability):
    P = np.full((4, 2), probability, np.float32)
    threshold, f1 = pooled_threshold(held(P, np.ones((4, 2)), 1.0))
    assert (threshold <= P).all()
    assert f1 == 1


@pytest.mark.parametrize("c", [1.0, 0.4, np.array([0.2, 0.4, 0.6, 0.8, 1.0])], ids=str)
@pytest.mark.parametrize("start", [0.0, 0.35, 0.5, 0.9])
def test_label_thresholds_are_not_worse_than_their_start(start, c):
    P, _, S = simulated(n=800, c=c)
    P[:, 1] **= 3  # two labels whose best threshold is another
    P[:, 2] **= np.float32(0.3)
    held_out = held(P, S, c)
    thresholds = label_thresholds(held_out, start)
    assert thresholds.dtype == np.float32
    assert expected_f1(held_out, thresholds).f1 > expected_f1(held_out, np.full(5, start, np.float32)).f1 + 0.01


def test_rare_labels_keep_the_pooled_threshold():
    P, _, S = simulated(n=400, c=1)
    for k, annotations in ((1, 19), (3, 20)):
        S[np.flatnonzero(S[:, k])[annotations:], k] = False
    thresholds = label_thresholds(held(P, S, 1.0), 0.123)
    assert (thresholds == np.float32(0.123)).tolist() == [False, True, False, False, False]


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(0, 64)))
def test_macro_thresholds_maximise_the_expected_f1_of_each_label(sixty_fourths):
    """On the edges of candidate thresholds, where the search is exact."""
    P = np.maximum(sixty_fourths / 64, 1e-3).astype(np.float32)
    thresholds = macro_thresholds(P, 0.3)

    def expected_f1(k: int, t: float) -> float:
        predicted = P[:, k] >= t
        return 2 * P[predicted, k].sum(dtype=float) / (predicted.sum() + P[:, k].sum(dtype=float))

    for k, threshold in enumerate(thresholds):
        best = max(expected_f1(k, t) for t in np.unique(P[:, k]))
        assert (threshold, expected_f1(k, threshold)) == (pytest.approx(best / 2), pytest.approx(best))


def test_macro_thresholds_of_predictions_of_which_some_are_kept():
    P, _, _ = simulated(n=300)
    P[P < 0.2] = 0
    P[:, 2] = 0
    thresholds = macro_thresholds(P, 0.3)
    assert (thresholds.dtype, thresholds[2]) == (np.float32, np.float32(0.3))  # nothing is known of the last
    assert_allclose(macro_thresholds(csr_array(P), 0.3), thresholds, rtol=1e-6)


@pytest.mark.parametrize("c", [1.0, 0.4, np.array([0.2, 0.4, 0.6, 0.8, 1.0])], ids=str)
def test_estimated_macro_f1_is_that_of_complete_labels(c):
    P, Y, S = simulated(n=20_000, c=c)
    P **= 2  # they are no probabilities any more
    held_out = held(P, S, c)
    thresholds = uncalibrated_macro_thresholds(held_out, 0.5)
    assert estimated_macro_f1(held_out) == pytest.approx(f1_score(Y, thresholds <= P, average="macro"), abs=0.02)
    of_first = estimated_macro_f1(replace(held_out, weights=np.array([1.0, 0, 0, 0, 0])))
    assert of_first == pytest.approx(f1_score(Y[:, 0], (thresholds <= P)[:, 0]), abs=0.03)
