import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.special import expit

from mpu_cli.core.frequency.common_frequency import CommonFrequency, compare
from mpu_cli.core.frequency.known_labels import KnownLabels
from tests.core.simulated import as_labels
from tests.hypotheses import examples


def annotated(c, n=1500, seed=0):
    """Labels that a score tells well, annotated with probability c; predictions on another scale, as from a model."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-2, 4, (n, len(c)))
    return expit(0.7 * z - 0.5).astype(np.float32), as_labels(rng.random(z.shape) < c * expit(z))


def own_rates(q, seed):
    return np.random.default_rng(1000 + seed).uniform(0.1, 0.9, q)


@pytest.mark.parametrize("c", [0.3, 0.6, 1.0])
def test_one_frequency_is_tenable_where_there_is_one(c):
    """No more than one in twenty false alarms by name; 40 labels give none in 20 samples."""
    found = [compare(*annotated(np.full(40, c), seed=seed)) for seed in range(20)]
    assert all(one.tenable for one in found)
    assert np.mean([one.c for one in found]) == pytest.approx(c, rel=0.08)
    assert np.mean([one.agreeing for one in found]) > 0.9


def test_one_frequency_is_tenable_where_half_of_the_labels_have_it_and_others_are_never_sure():
    mistaken = 0
    for seed in range(20):
        c = np.where(np.arange(40) < 20, 0.6, 0.6 * np.random.default_rng(seed).random(40))
        mistaken += not compare(*annotated(c, seed=seed)).tenable
    assert mistaken <= 3


@pytest.mark.parametrize(("q", "at_least"), [(12, 5), (40, 14), (80, 18)])
def test_one_frequency_is_not_tenable_where_each_label_has_its_own(q, at_least):
    assert sum(not compare(*annotated(own_rates(q, seed), seed=seed)).tenable for seed in range(20)) >= at_least


def test_at_least_half_of_the_labels_must_agree():
    for share, tenable in ((1 / 3, False), (2 / 3, True)):
        c = np.where(np.arange(60) < 60 * share, 0.9, 0.2 + 0.01 * np.arange(60))
        assert compare(*annotated(c, 4000)).tenable is tenable


def test_p_value_is_that_of_a_test():
    assert CommonFrequency(0.05, 0.5, 1.0, np.arange(3)).tenable
    assert not CommonFrequency(0.0499, 0.5, 1.0, np.arange(3)).tenable


def test_labels_with_few_annotations_are_left_out():
    P, S = annotated(np.full(6, 0.5))
    few = S.toarray()
    few[np.cumsum(few[:, 1]) > 49, 1] = False
    few[:, 4] = False
    found = compare(P, as_labels(few))
    assert_array_equal(found.labels, [0, 2, 3, 5])
    nothing = compare(P[:20], as_labels(few[:20]))
    assert (nothing.p_value, len(nothing.labels)) == (1.0, 0)
    assert nothing.tenable


def test_a_single_label_has_a_frequency_in_common_with_itself():
    assert compare(*annotated(np.array([0.4]))).p_value == 1


def test_complete_instances_tell_nothing():
    """Where every second instance is completely labelled, the frequency is that of the others."""
    P, S = annotated(np.full(20, 0.4), 3000)
    complete = np.arange(0, 3000, 2)
    mixed = S.toarray()
    mixed[complete] = P[complete] > 0.5
    known = KnownLabels.of(mixed.shape, complete=complete)
    others = np.setdiff1d(np.arange(3000), complete)
    found, alone = compare(P, as_labels(mixed), known), compare(P[others], as_labels(mixed[others]))
    assert (found.p_value, found.c, found.agreeing) == (alone.p_value, alone.c, alone.agreeing)
    assert found.c == pytest.approx(0.4, rel=0.15)


def test_more_labels_than_are_compared():
    P, S = annotated(np.full(450, 0.5), 400)
    assert len(compare(P, S).labels) <= 400


@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=examples(30))
def test_any_scores(seed, q, share):
    """Scores that say nothing, all alike, or 0 and 1; labels that all have."""
    rng = np.random.default_rng(seed)
    P = rng.choice(np.array([0, 0.3, 1], np.float32), (120, q)) if seed % 2 else np.full((120, q), 0.5, np.float32)
    found = compare(P, as_labels(rng.random((120, q)) < max(share, 0.6)))
    assert 0 <= found.p_value <= 1
    assert 0 < found.c <= 1
    assert 0 <= found.agreeing <= 1
