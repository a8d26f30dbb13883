from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from mpu_cli.cli.actions import corrupt as command
from mpu_cli.cli.actions.corrupt import label_draw, uniform_draw
from mpu_cli.errors import MpuError
from mpu_cli.experiment.cells import remove_labels
from tests.core.simulated import as_labels
from tests.golden import refused

LABELS = as_labels(np.random.default_rng(0).random((30, 7)) < 0.4)


def assert_uniform(observed: Counter, n_outcomes: int) -> None:
    """Pearson's test at 1 in 1000; seeds are fixed, so that it passes always or never."""
    expected = sum(observed.values()) / n_outcomes
    statistic = sum((count - expected) ** 2 / expected for count in observed.values())
    statistic += (n_outcomes - len(observed)) * expected
    assert statistic < chi2.ppf(0.999, n_outcomes - 1)


@pytest.mark.parametrize("scheme", ["uniform", "label"])
def test_how_the_file_is_cut_does_not_matter(scheme):
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 6, 100_000)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    labels = 10 * (np.arange(len(rows)) - ends[rows]) + rng.integers(0, 10, len(rows))

    def draw_in_pieces(cuts):
        uniform = scheme == "uniform"
        draw = uniform_draw(len(labels), 0.3, seed=4) if uniform else label_draw(np.unique(labels), 0.3, seed=4)
        return np.concatenate([draw(labels[ends[i] : ends[j]], sizes[i:j]) for i, j in pairwise(cuts)])

    whole = draw_in_pieces([0, len(sizes)])
    assert np.array_equal(draw_in_pieces([0, 0, 1, 17, 70_000, len(sizes)]), whole)
    if scheme == "uniform":
        assert np.count_nonzero(whole) == round(0.3 * sizes.sum())


def test_rates_of_labels_are_uniform_about_the_missing_rate():
    """Of 1,000 instances, each with the labels 3 and 8."""
    draws = (label_draw(np.array([3, 8]), 0.3, seed) for seed in range(100))
    lost = [draw(np.tile([8, 3], 1000), np.full(1000, 2)).reshape(-1, 2) for draw in draws]
    rates = np.concatenate([of_seed.mean(axis=0) for of_seed in lost])
    assert rates.mean() == pytest.approx(0.3, abs=0.03)
    assert rates.std() == pytest.approx(0.24 / np.sqrt(3), abs=0.02)
    assert (rates.min(), rates.max()) == (pytest.approx(0.06, abs=0.05), pytest.approx(0.54, abs=0.05))


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_every_subset_is_equally_likely(monkeypatch, at_once):
    monkeypatch.setattr(command, "_DRAWN_AT_ONCE", at_once)
    observed = Counter()
    for seed in range(1000):
        drawn = uniform_draw(6, 0.5, seed)(np.arange(6), np.array([2, 0, 1, 3]))
        observed[tuple(np.flatnonzero(drawn))] += 1
    assert_uniform(observed, 20)  # 3 of 6


def test_more_labels_than_can_be_drawn_from():
    with refused(MpuError):
        uniform_draw(4 * 10**9, 0.5, 0)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 9))
def test_removed_labels_are_exactly_as_many_and_nested(a, b, seed):
    low, high = (remove_labels(LABELS, rate, (seed, 0)).toarray() for rate in sorted((a, b)))
    whole = LABELS.toarray()
    assert low.sum() == LABELS.nnz - round(min(a, b) * LABELS.nnz)
    assert (high <= low).all()
    assert (low <= whole).all()


def test_removed_labels_are_a_uniform_draw():
    kept = sum(remove_labels(LABELS, 0.3, (seed,)).toarray() for seed in range(400))[LABELS.toarray()]
    assert np.abs(kept / 400 - 0.7).max() < 5 * np.sqrt(0.3 * 0.7 / 400)
