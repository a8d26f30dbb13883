import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.problem import VerifiedLabels
from mpu_cli.people.posteriors import Evidence
from mpu_cli.people.suggestions import given_other_labels
from mpu_cli.runtime.run import Run

N, C = 20_000, 0.5
# Of the first two labels one makes the other likely, the third depends on nothing. No feature says anything.
FIRST, SECOND_GIVEN, THIRD = 0.3, (0.1, 0.8), 0.25
RATES = np.array([FIRST, FIRST * SECOND_GIVEN[1] + (1 - FIRST) * SECOND_GIVEN[0], THIRD], np.float32)
PREDICTED = np.tile(RATES, (N, 1))


def joint(*labels):
    """Return how probable it is that an instance has just these labels."""
    first, second, third = labels
    of_second = SECOND_GIVEN[first] if second else 1 - SECOND_GIVEN[first]
    return (FIRST if first else 1 - FIRST) * of_second * (THIRD if third else 1 - THIRD)


def true_posterior(k, others):
    """Return Pr(y_k=1 | annotations of the two other labels), by summing over all label sets."""
    by_value = np.zeros(2)
    for y in np.ndindex(2, 2, 2):
        chance = joint(*y)
        for j, s in others.items():
            chance *= (C if s else 1 - C) if y[j] else float(not s)
        by_value[y[k]] += chance
    return by_value[1] / by_value.sum()


@pytest.fixture(scope="module")
def annotated():
    rng = np.random.default_rng(1)
    first = rng.random(N) < FIRST
    second = rng.random(N) < np.where(first, SECOND_GIVEN[1], SECOND_GIVEN[0])
    return np.stack([first, second, rng.random(N) < THIRD], axis=1) & (rng.random((N, 3)) < C)


def learned(annotated, verified=None, predicted=PREDICTED, seed=0):
    frequency = LabelFrequency.of(C, annotated.shape, verified)
    return given_other_labels(Evidence(predicted, frequency), csr_array(annotated), Run(seed=seed))


@pytest.fixture(scope="module")
def found(annotated):
    """What is learned of it."""
    return learned(annotated)


def test_the_posterior_of_a_known_distribution(annotated, found):
    for k in range(3):
        others = [j for j in range(3) if j != k]
        for s in np.ndindex(2, 2):
            rows = (annotated[:, others] == s).all(axis=1)
            assert found[rows, k].mean() == pytest.approx(
                true_posterior(k, dict(zip(others, s, strict=True))), abs=0.05
            )


def test_labels_that_say_nothing_of_each_other_change_nothing():
    independent = np.random.default_rng(2).random((N, 3)) < C * THIRD
    found = learned(independent, predicted=np.full((N, 3), THIRD, np.float32))
    assert np.abs(found - THIRD).max() < 0.05


def test_where_one_label_of_each_instance_is_annotated_predictions_stay(annotated):
    first_only = annotated & (annotated.cumsum(axis=1) == 1)
    assert learned(first_only) is PREDICTED


def test_an_annotation_never_speaks_against_another_label(annotated):
    exclusive = annotated.copy()
    exclusive[exclusive[:, 0], 1:] = False
    found = learned(exclusive)
    first = exclusive[:, 0] & ~exclusive[:, 2]
    neither = ~exclusive[:, 0] & ~exclusive[:, 2]
    assert found[first, 1].mean() == pytest.approx(found[neither, 1].mean(), abs=0.01)


def test_an_instance_is_not_predicted_by_its_own_annotation(annotated, found):
    i = int(np.flatnonzero(annotated[:, 0] & ~annotated[:, 1])[0])
    changed = annotated.copy()
    changed[i, 1] = True
    again = learned(changed)
    assert again[i, 1] == pytest.approx(found[i, 1], abs=0.01)
    assert again[i, 0] > found[i, 0] + 0.1


def test_what_was_found_false_says_nothing_and_what_was_found_true_does(annotated):
    at_all = np.flatnonzero(~annotated.any(axis=1))
    refuted = np.flatnonzero(annotated[:, 0] & ~annotated[:, 1:].any(axis=1))[:50]
    confirmed = at_all[:50]
    first = np.zeros(50, int)
    verified = VerifiedLabels.of(annotated.shape, true=(confirmed, first), false=(refuted, first))
    found = learned(annotated, verified)
    nothing = found[at_all[50:], 1].mean()
    assert found[refuted, 1].mean() == pytest.approx(nothing, abs=0.02)
    assert found[confirmed, 1].mean() > nothing + 0.3


def test_nothing_is_learned_of_a_label_that_is_never_annotated(annotated):
    assert np.ptp(learned(annotated & [True, True, False])[:, 2]) == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_a_run_decides_by_its_seed(annotated, found):
    assert (learned(annotated) == found).all()
    assert (learned(annotated, seed=1) != found).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (4, 2), (7, 2), "sure"])
def test_little_data_and_sure_predictions(annotated, shape):
    predicted = annotated.astype(np.float32)
    if shape != "sure":
        annotated, predicted = np.arange(shape[0])[:, None] == np.zeros(shape), np.full(shape, 0.4, np.float32)
    found = learned(annotated, predicted=predicted)
    assert ((found >= 0) & (found <= 1)).all()


def test_of_many_labels_predictions_stay(annotated):
    sparse = csr_array(PREDICTED)
    frequency = LabelFrequency.of(C, annotated.shape)
    assert given_other_labels(Evidence(sparse, frequency), csr_array(annotated)) is sparse
