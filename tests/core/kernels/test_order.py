import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mpu_cli.core.kernels import shuffled, visited
from tests.hypotheses import examples

BATCH_SIZE = 32


@settings(max_examples=examples(20))
@given(st.integers(1, 500_000), st.integers(0, 9))
def test_every_instance_has_a_place_and_every_batch_a_visit(n, seed):
    rows = 3 * np.arange(n)
    assert_array_equal(np.sort(shuffled(rows, BATCH_SIZE, seed)), rows)
    n_batches = -(-n // BATCH_SIZE)
    assert_array_equal(np.sort(visited(n_batches, BATCH_SIZE, np.random.default_rng(seed))), np.arange(n_batches))


def test_many_instances_are_visited_in_groups_of_blocks_from_everywhere():
    n = 1_000_003
    rows = shuffled(np.arange(n), BATCH_SIZE, 0)
    batches = visited(-(-n // BATCH_SIZE), BATCH_SIZE, np.random.default_rng(0))
    for group in np.array_split(batches, 8):
        of_group = np.concatenate([rows[b * BATCH_SIZE : (b + 1) * BATCH_SIZE] for b in group])
        blocks = np.unique(of_group // 32)
        assert len(of_group) > 0.8 * 32 * len(blocks)  # but for the few that two groups share
        spread = np.bincount(blocks * 10 // (n // 32 + 1), minlength=10)
        assert spread.min() > 0.5 * spread.mean()
    assert (np.abs(np.diff(rows[: 60 * BATCH_SIZE])) > 32).mean() > 0.9
