import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, precision_score, recall_score

from mpu_cli.evaluation.compare import Counts, compare
from mpu_cli.evaluation.metrics import precision_recall_f1
from tests.hypotheses import examples

Q = 5


def counts(truth, predicted, cuts=(3,), **more):
    parts = [part for part in np.split(np.arange(len(truth)), cuts) if len(part)]
    return Counts([(csr_array(truth[part]), csr_array(predicted[part])) for part in parts], **more)


def draw(rng, n, recall=0.8):
    truth = rng.random((n, Q)) < 0.4
    return truth, np.where(truth, rng.random((n, Q)) < recall, rng.random((n, Q)) < 0.1)


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_metrics_agree_with_scikit_learn_on_the_labels_of_the_truth(seed, n):
    truth, predicted = draw(np.random.default_rng(seed), n)
    truth[:, 0] = False  # a label that is true nowhere
    found = compare([counts(truth, predicted)])[0][0]
    there = truth.any(axis=0)
    scored = {"precision": precision_score, "recall": recall_score, "f1": f1_score}
    for name, score in scored.items():
        assert found[f"micro_{name}"] == pytest.approx(score(truth, predicted, average="micro", zero_division=0))
        labels = np.flatnonzero(there)
        macro = score(truth, predicted, labels=labels, average="macro", zero_division=0) if len(labels) else 0
        assert found[f"macro_{name}"] == pytest.approx(macro)
    assert found["samples_f1"] == pytest.approx(f1_score(truth, predicted, average="samples", zero_division=0))


def test_with_c_they_are_estimates_on_complete_labels():
    truth, predicted = draw(np.random.default_rng(2), 60, recall=0.9)
    found = compare([counts(truth / 0.8, predicted, incomplete=True)])[0][0]
    expected = precision_recall_f1((truth & predicted).sum(), predicted.sum(), truth.sum(), 0.8)
    assert found["micro_f1"] == pytest.approx(float(expected.f1))
    assert "samples_f1" not in found and "precision_at_1" not in found


@pytest.mark.slow  # 60 bootstraps
def test_intervals_cover_the_difference_of_all_instances():
    """Both are right where the truth is, with chances that differ by 0.1; so recall differs by that."""
    rng = np.random.default_rng(3)
    covered = 0
    for seed in range(60):
        truth = rng.random((100, Q)) < 0.4
        hard = rng.random((100, 1))  # instances are easy or hard for both
        one, other = (truth & (hard + level > rng.random((100, Q))) for level in (0.0, 0.2))
        expected = np.mean([np.clip(h + 0.2, 0, 1) - h for h in np.linspace(0, 1, 1001)])
        (difference,) = compare([counts(truth, one), counts(truth, other)], seed=seed)[1]
        covered += difference["micro_recall"].low <= expected <= difference["micro_recall"].high
    assert 52 <= covered <= 60


def test_the_difference_is_paired():
    """Of predictions that are nearly the same, it is far more certain than the metrics themselves."""
    rng = np.random.default_rng(4)
    truth, predicted = draw(rng, 200, recall=0.5)
    better = predicted | (truth & (rng.random(truth.shape) < 0.05))
    nothing = np.zeros_like(truth)
    (paired,) = compare([counts(truth, predicted), counts(truth, better)])[1]
    (alone,) = compare([counts(truth, nothing), counts(truth, better)])[1]
    width = [one["micro_f1"].high - one["micro_f1"].low for one in (paired, alone)]
    assert width[0] < width[1] / 2
    assert paired["micro_f1"].is_sure and paired["micro_f1"].low > 0


def test_no_interval_goes_beyond_the_largest_difference():
    truth = np.eye(3, Q, dtype=bool)
    (difference,) = compare([counts(truth, truth & False), counts(truth, truth & (np.arange(3) < 2)[:, None])])[1]
    assert difference["micro_f1"].low > 0 and difference["micro_f1"].high == 1


def test_the_same_seed_gives_the_same_intervals_and_no_difference_is_none():
    truth, predicted = draw(np.random.default_rng(5), 30)
    pair = [counts(truth, predicted), counts(truth, draw(np.random.default_rng(6), 30)[1])]
    assert compare(pair, seed=1) == compare(pair, seed=1) != compare(pair, seed=2)
    (same,) = compare([pair[0], pair[0]])[1]
    assert all((one.value, one.low, one.high) == (0, 0, 0) and not one.is_sure for one in same.values())
