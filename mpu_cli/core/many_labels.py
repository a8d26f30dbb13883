"""Negative sampling with many labels: a label is learned from the instances near it, and from a few of the others.

One-vs-rest learns each of q labels from all n instances, though most are unrelated to it. So labels that belong to
similar instances are put into groups, each as large as a block of labels that are learned together. A model of the
groups, which are annotated if one of their labels is, predicts the groups that are nearest to an instance. A group is
learned from the instances

- that are annotated with one of its labels, or have a verdict on one,
- that are nearest to it, or most similar to instances with one of its labels: negatives that are hard to distinguish,
- for which the level before predicts one of its labels,
- and from a random share of the others, which keeps the scores of distant instances low.

The most frequent labels are a separate group, learned from all instances. The instances left out would have changed
weights little: the gradient of a distant instance is nearly zero. The result is still one model of all labels.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from mpu_cli.core.features import Features, entry_rows, only_entries, unit_rows
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.predictions import LEAST, Top
from mpu_cli.core.sgd import LearningTask, Split
from mpu_cli.core.side_information import NegativeSample, joined_cells
from mpu_cli.core.validation import train_splits

# A label is described by at most this many instances and features: more change little.
_INSTANCES, _FEATURES = 100, 64
_LABELS = 512  # at a time
# Rounds of 2-means, which nearly always converges earlier.
_ROUNDS = 10


def cluster(vectors: csr_array, size: int, rng: np.random.Generator) -> np.ndarray:
    """Put m vectors of unit length into groups by repeated balanced spherical 2-means.

    `vectors`: float32, shape (m, D).
    `size`: of each group; one is smaller, unless the number of vectors is a multiple of it.
    Returns: int32, shape (m,): the group number of each vector, from 0.

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
    """Split vectors into two clusters by spherical 2-means; return the mask of the first, which has this size."""
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
    """Return the direction of each label: the mean of its instances, scaled to unit length, in its largest features.

    Returns: float32, shape (q, D): rows of unit length; zero for labels without instances.
    """
    q = positives.shape[1]
    by_label = csc_array(positives)
    blocks = (by_label[:, k : k + _LABELS] for k in range(0, q, _LABELS))
    return csr_array(vstack([_directions_of(_sums_of_instances(features, block)) for block in blocks], format="csr"))


def _sums_of_instances(features: Features, positives: csc_array) -> csr_array:
    """Sum each label's instances, scaled to unit length, up to a maximum number of them: float32, shape (q, D)."""
    X = features.as_sparse()
    lengths = np.sqrt(features.squared_norms)
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    members = csr_array(positives.T)
    sizes = np.diff(members.indptr)
    kept = np.minimum(sizes, _INSTANCES)
    numbers = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)  # 0, 1, ... for each label
    places = numbers * np.repeat(sizes, kept) // np.repeat(kept, kept) + np.repeat(members.indptr[:-1], kept)
    instances = members.indices[places]
    of_labels = csr_array((scale[instances], instances, np.append(0, np.cumsum(kept))), shape=members.shape)
    return csr_array(of_labels @ X)


def _directions_of(sums: csr_array) -> csr_array:
    """Keep the largest features of each row, and scale it to unit length."""
    kept = np.zeros(sums.nnz, bool)
    size = np.abs(sums.data)
    for first, end in pairwise(sums.indptr):
        kept[first:end] = True
        if end - first > _FEATURES:
            kept[first + np.argpartition(size[first:end], end - first - _FEATURES)[: end - first - _FEATURES]] = False
    return unit_rows(only_entries(sums, kept))


# The number of labels in a group: as many as the compiled kernel learns together.
SIZE = 64
# With fewer instances, all are needed: docs/choices/many-labels.md, "Many labels".
FEWEST_INSTANCES = 20_000
# The share of the groups that an instance is near to, times the square root of the number of instances; and the number
# of random groups that learn from it, relative to the number of near ones.
_NEAREST, _RANDOM = 15.0, 1.0
# The most labels with instances similar to an instance.
_SIMILAR = 20


def sample_negatives(task: LearningTask) -> NegativeSample:
    """Find the groups of labels, and the instances to learn each group from; q exceeds the size of a group.

    With a prior, labels are also similar to instances that have the label features.
    """
    features, positives, run, (n, q) = task.features, task.positives, task.run, task.labels.shape
    # All labels except the most annotated ones, which are group 0.
    grouped = np.sort(np.argsort(-np.bincount(positives.indices, minlength=q), kind="stable")[SIZE:])
    directions = centroids(features, positives[:, grouped])
    if task.prior is not None:
        directions = unit_rows(directions + csr_array(task.prior.vectors[:, grouped].T))
    rng = np.random.default_rng(run.seed)
    group_of = np.zeros(q, np.int32)
    group_of[grouped] = 1 + cluster(directions, SIZE, rng)
    n_groups = int(group_of.max()) + 1
    annotated = joined_cells((n, n_groups), [(entry_rows(positives), group_of[positives.indices])])[:, 1:]
    by_feature, no_bias = csr_array(directions.T), np.zeros(len(grouped), np.float32)
    similar = kernel(run).top_scores(features.as_sparse(), by_feature, no_bias, Top(_SIMILAR, 0.5))
    similar.eliminate_zeros()
    most = int(np.ceil(min(_NEAREST / np.sqrt(n), 1.0) * (n_groups - 1)))
    of_groups = LabelFrequency.of(1.0, annotated.shape)
    task_of_groups = replace(task, labels=annotated, frequency=of_groups, prior=None, top=Top(most, LEAST))
    nearest: csr_array = train_splits([Split(task_of_groups, (np.arange(n),), np.arange(n))])[1].probabilities
    at_random = rng.integers(1, n_groups, (n, int(np.ceil(_RANDOM * most))), np.int32)

    cells = [
        (np.zeros(n, np.int32), np.arange(n, dtype=np.int32)),
        (group_of[positives.indices], entry_rows(positives)),
        (group_of[grouped[similar.indices]], entry_rows(similar)),
        (nearest.indices + 1, entry_rows(nearest)),
        (at_random.ravel(), np.repeat(np.arange(n, dtype=np.int32), at_random.shape[1])),
    ]
    if (verified := task.frequency.verified) is not None:
        cells.append((group_of[verified.cells.indices], entry_rows(verified.cells)))
    return NegativeSample(group_of, joined_cells((n_groups, n), cells))
