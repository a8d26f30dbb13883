"""Labels in groups of equal size, such that labels of a group belong to instances that are alike."""

from itertools import pairwise

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from mpu_cli.core.data.features import Features

# Instances by which a label is known, at most, and features of a label: more change little.
INSTANCES, _FEATURES = 100, 64
_LABELS = 512  # at a time
# Rounds of 2-means; it is nearly always at rest before.
_ROUNDS = 10


def cluster(vectors: csr_array, size: int, rng: np.random.Generator) -> np.ndarray:
    """Put m vectors of unit length into groups by balanced spherical 2-means, again and again.

    Parameters
    ----------
    vectors : csr_array of float32, shape (m, D)
    size : int
        Of each group; one is smaller, unless the number of vectors is a multiple of it.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (m,)
        The number of each one's group, from 0.

    Examples
    --------
    >>> vectors = csr_array(np.float32([[1, 0], [0, 1], [0.9, 0.1], [0.1, 0.9]]))
    >>> groups = cluster(vectors, 2, np.random.default_rng(0))
    >>> bool(groups[0] == groups[2] != groups[1] == groups[3])
    True
    """
    group_of = np.zeros(vectors.shape[0], np.int32)
    waiting, done = [np.arange(vectors.shape[0])], 0
    while waiting:
        members = waiting.pop()
        n_groups = -(-len(members) // size)
        if n_groups > 1:
            first = _first_half(vectors[members], n_groups // 2 * size, rng)
            waiting += [members[~first], members[first]]
        else:
            group_of[members] = done
            done += 1
    return group_of


def _first_half(vectors: csr_array, size: int, rng: np.random.Generator) -> np.ndarray:
    """Part vectors by spherical 2-means into so many and the others: a mask of the former."""
    m = vectors.shape[0]
    means = vectors[np.sort(rng.choice(m, 2, replace=False))].toarray()
    first = np.zeros(m, bool)
    for _ in range(_ROUNDS):
        before, first = first, np.zeros(m, bool)
        first[np.argsort(-(vectors @ (means[0] - means[1])), kind="stable")[:size]] = True
        if (first == before).all():
            break
        means = np.stack([vectors.T @ side.astype(np.float32) for side in (first, ~first)])
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return first


def centroids(features: Features, positives: csr_array) -> csr_array:
    """Return the direction of each label: the mean of its instances, of unit length each, in its largest features.

    Parameters
    ----------
    features : Features, n instances
    positives : csr_array, shape (n, q)

    Returns
    -------
    csr_array of float32, shape (q, D)
        Rows of unit length; zero where a label has no instance.
    """
    q = positives.shape[1]
    by_label = csc_array(positives)
    blocks = (by_label[:, k : k + _LABELS] for k in range(0, q, _LABELS))
    return csr_array(vstack([directions_of(sums_of_instances(features, block)) for block in blocks], format="csr"))


def sums_of_instances(features: Features, positives: csc_array, most: int = INSTANCES) -> csr_array:
    """Sum up the instances of each label, at most so many, of unit length each: float32, shape (q, D)."""
    X = features.as_sparse()
    lengths = np.sqrt(features.squared_norms)
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    members = csr_array(positives.T)
    sizes = np.diff(members.indptr)
    kept = np.minimum(sizes, most)
    places = _numbers(kept) * np.repeat(sizes, kept) // np.repeat(kept, kept) + np.repeat(members.indptr[:-1], kept)
    instances = members.indices[places]
    of_labels = csr_array((scale[instances], instances, np.append(0, np.cumsum(kept))), shape=members.shape)
    return csr_array(of_labels @ X)


def directions_of(sums: csr_array) -> csr_array:
    """Keep the largest features of each row, and make it of unit length."""
    kept = np.zeros(sums.nnz, bool)
    size = np.abs(sums.data)
    for first, end in pairwise(sums.indptr):
        kept[first:end] = True
        if end - first > _FEATURES:
            kept[first + np.argpartition(size[first:end], end - first - _FEATURES)[: end - first - _FEATURES]] = False
    indptr = np.append(0, np.cumsum(kept))[sums.indptr]
    of_row = np.repeat(np.arange(sums.shape[0]), np.diff(indptr))
    values = sums.data[kept]
    lengths = np.sqrt(np.bincount(of_row, np.square(values, dtype=np.float64), sums.shape[0]))[of_row]
    scaled = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0, casting="unsafe")
    return csr_array((scaled, sums.indices[kept], indptr), shape=sums.shape)


def _numbers(sizes: np.ndarray) -> np.ndarray:
    """Return 0, 1, ... again for each of some runs of these lengths."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
