from itertools import pairwise

import numpy as np
import pytest

from benchmarks import topics


@pytest.mark.parametrize("labels", [1, 3, 4, 20, 101, 808])
def test_a_path_leads_to_a_topic_without_a_parent(labels):
    tree = topics.grow(labels, np.random.default_rng(1))
    assert tree.paths.shape == (labels, topics.MAX_DEPTH)
    np.testing.assert_array_equal(tree.paths[:, 0], np.arange(labels))
    for topic, depth in enumerate(tree.depths):
        path = tree.paths[topic, :depth]
        assert len(set(path)) == depth
        assert set(tree.paths[topic, depth:]) <= {path[-1]}
        assert tree.depths[path[-1]] == 1
        for child, parent in pairwise(path):
            assert tree.paths[child, 1] == parent


@pytest.mark.parametrize("labels", [1, 3, 101])
def test_shares_sum_to_1(labels):
    assert topics.grow(labels, np.random.default_rng(0)).shares.sum() == pytest.approx(1)


def test_a_tenth_of_a_topic_stays_with_it_where_it_has_children():
    """Of a topic and all below it together."""
    tree = topics.grow(101, np.random.default_rng(0))
    on_path = np.arange(topics.MAX_DEPTH) < tree.depths[:, None]
    below = np.bincount(tree.paths[on_path], np.repeat(tree.shares, tree.depths), minlength=101)
    is_parent = np.isin(np.arange(101), tree.paths[tree.depths > 1, 1])
    assert is_parent.any()
    np.testing.assert_allclose(below[:4], [0.41, 0.25, 0.20, 0.14])
    np.testing.assert_allclose(tree.shares[is_parent], 0.1 * below[is_parent])
    np.testing.assert_array_equal(tree.shares[~is_parent], below[~is_parent])
