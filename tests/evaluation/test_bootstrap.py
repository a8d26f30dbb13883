import numpy as np
from scipy.sparse import csr_array

from mpu_cli.evaluation.bootstrap import Counts, intervals


def draw(rng, n):
    """Label sets of which 80 % are predicted, with some wrong ones; instances are alike."""
    truth = rng.random((n, 4)) < 0.4
    predicted = np.where(truth, rng.random((n, 4)) < 0.8, rng.random((n, 4)) < 0.1)
    return Counts.of([(csr_array(truth), csr_array(predicted))])


def test_intervals_cover_what_is_true_of_all_instances():
    rng = np.random.default_rng(0)
    recalls = [intervals(draw(rng, 80), seed=seed)["micro_recall"] for seed in range(100)]
    assert 80 <= sum(low <= 0.8 <= high for low, high in recalls) <= 98


def test_the_same_seed_gives_the_same_intervals():
    counts = draw(np.random.default_rng(2), 50)
    assert intervals(counts, seed=3) == intervals(counts, seed=3) != intervals(counts, seed=4)
