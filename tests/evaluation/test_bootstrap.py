import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.evaluation.bootstrap import micro_intervals


def draw(rng, n):
    """Label sets of which 80 % are predicted, with some wrong ones; instances are alike."""
    truth = rng.random((n, 4)) < 0.4
    predicted = np.where(truth, rng.random((n, 4)) < 0.8, rng.random((n, 4)) < 0.1)
    return csr_array(truth), csr_array(predicted)


def test_intervals_cover_what_is_true_of_all_instances():
    rng = np.random.default_rng(0)
    recalls = [micro_intervals(*draw(rng, 80), seed)["micro_recall"] for seed in range(100)]
    assert 80 <= sum(low <= 0.8 <= high for low, high in recalls) <= 98


def test_larger_samples_have_narrower_intervals():
    rng = np.random.default_rng(1)
    widths = [high - low for n in (50, 800) for low, high in [micro_intervals(*draw(rng, n))["micro_f1"]]]
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.3)


def test_the_same_seed_gives_the_same_intervals():
    pair = draw(np.random.default_rng(2), 50)
    assert micro_intervals(*pair, 3) == micro_intervals(*pair, 3) != micro_intervals(*pair, 4)


def test_nothing_is_predicted_and_nothing_is_true():
    empty = csr_array((5, 3), dtype=bool)
    assert micro_intervals(empty, empty)["micro_f1"] == (0.0, 0.0)
