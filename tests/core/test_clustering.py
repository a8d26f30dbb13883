import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.many_labels import centroids, cluster


def blobs(groups: int, size: int, seed: int = 0) -> tuple[csr_array, np.ndarray]:
    """Draw vectors of unit length around as many directions, in random order."""
    rng = np.random.default_rng(seed)
    of = rng.permutation(np.repeat(np.arange(groups), size))
    vectors = np.eye(groups, dtype=np.float32)[of] + 0.02 * rng.random((len(of), groups), dtype=np.float32)
    return csr_array(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)), of


@pytest.mark.parametrize("m", [1, 7, 8, 9, 16, 43])
def test_groups_are_full_but_one(m):
    vectors = csr_array(np.random.default_rng(m).random((m, 5), dtype=np.float32))
    sizes = np.sort(np.bincount(cluster(vectors, 8, np.random.default_rng(0))))[::-1]
    assert sizes.tolist() == [8] * (m // 8) + [m % 8] * (m % 8 > 0)


def test_vectors_that_are_alike_come_together():
    vectors, of = blobs(groups=2, size=16)
    groups = cluster(vectors, 16, np.random.default_rng(1))
    assert len(np.unique(groups[of == 0])) == len(np.unique(groups[of == 1])) == 1


@pytest.mark.parametrize("dense", [False, True])
def test_centroids_are_means_of_directions(dense):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 9)).astype(np.float32) * (rng.random((30, 9)) < (1 if dense else 0.2))
    Y = rng.random((30, 6)) < 0.3
    Y[:, 4] = False
    X[3] = 0
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    means = Y.T.astype(float) @ np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    expected = means / np.where((norms := np.linalg.norm(means, axis=1, keepdims=True)) > 0, norms, 1)
    found = centroids(Features.of(csr_array(X)), csr_array(Y))
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-6)
