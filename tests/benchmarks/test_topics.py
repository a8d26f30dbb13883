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
def test_shares_sum_to_1_at_every_level(labels):
    tree = topics.grow(labels, np.random.default_rng(0))
    assert tree.shares.sum() == pytest.approx(1)
    assert tree.subtree_shares()[tree.depths == 1].sum() == pytest.approx(1)


def test_a_subtree_share_sums_over_all_below():
    paths = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0], [3, 3, 3, 3]])
    tree = topics.TopicTree(paths, np.array([1, 2, 3, 1]), np.array([0.1, 0.2, 0.3, 0.4]))
    np.testing.assert_allclose(tree.subtree_shares(), [0.6, 0.5, 0.3, 0.4])
