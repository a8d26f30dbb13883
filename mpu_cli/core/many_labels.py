"""Negative sampling: the instances that each group of labels is learned from (`core.negative_sampling`)."""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features, unit_rows
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.negative_sampling import (
    LabelGroups,
    NegativeSample,
    centroids,
    is_worthwhile,
    joined_cells,
    labels_to_group,
    rows_of,
)
from mpu_cli.core.predictions import FEW_LABELS, LEAST, Top
from mpu_cli.core.sample import Instances
from mpu_cli.core.selection import HyperParameters
from mpu_cli.core.sgd import Settings, TrainingSet, train_linear
from mpu_cli.core.side_information import Prior, SideInformation
from mpu_cli.core.work import Work

# The share of the groups that an instance is near to, times the square root of the number of instances; and random
# groups that learn from it, by those.
_NEAREST, _RANDOM = 15.0, 1.0
# Labels to whose instances an instance is the most similar.
_SIMILAR = 20


def sample_negatives(
    features: Features,
    labels: csr_array,
    frequency: LabelFrequency,
    settings: Settings,
    prune: float | None,
    run: Work,
    prior: Prior | None = None,
) -> NegativeSample:
    """Find the groups of labels, and the instances to learn each from; there are more labels than are in a group.

    `settings` and `prune` are for the model of groups. With a prior, labels are also like instances that have
    features of their own.
    """
    n, q = labels.shape
    positives = frequency.positives(labels)
    grouped = labels_to_group(np.bincount(positives.indices, minlength=q))
    directions = centroids(features, positives[:, grouped])
    if prior is not None:
        directions = unit_rows(directions + csr_array(prior.vectors[:, grouped].T))
    groups = LabelGroups.of(directions, grouped, q, run.seed)
    annotated = groups.annotated(positives)[:, 1:]
    data = TrainingSet(features, annotated, np.arange(n), run)
    model = train_linear(data, LabelFrequency.of(1.0, annotated.shape), settings, prune=prune)
    n_groups = len(groups)
    no_bias = np.zeros(len(groups.grouped), np.float32)
    similar = kernel(run).top_scores(features.as_sparse(), groups.by_feature, no_bias, Top(_SIMILAR, 0.5))
    similar.eliminate_zeros()
    most = int(np.ceil(min(_NEAREST / np.sqrt(n), 1.0) * (n_groups - 1)))
    nearest = model.top(features, Top(most, LEAST), run)
    at_random = groups.rng.integers(1, n_groups, (n, int(np.ceil(_RANDOM * most))), np.int32)

    group_of = groups.group_of
    cells = [
        (np.zeros(n, np.int32), np.arange(n, dtype=np.int32)),
        (group_of[positives.indices], rows_of(positives)),
        (group_of[groups.grouped[similar.indices]], rows_of(similar)),
        (nearest.indices + 1, rows_of(nearest)),
        (at_random.ravel(), np.repeat(np.arange(n, dtype=np.int32), at_random.shape[1])),
    ]
    if frequency.verified is not None:
        cells.append((group_of[frequency.verified.cells.indices], rows_of(frequency.verified.cells)))
    return NegativeSample(group_of, joined_cells((n_groups, n), cells))


def side_information(instances: Instances, chosen: HyperParameters, run: Work) -> SideInformation:
    """Return the prior and the negative sample of level 0."""
    settings, features, (n, q) = chosen.settings, instances.features, instances.labels.shape
    prior = None
    if settings.prior and instances.label_features is not None:
        prior = Prior.of(features, instances.label_features)
        if q > FEW_LABELS and not instances.positives_of_labels().all():
            prior = prior.sparing(features, instances.positives)
    if not is_worthwhile(n, q):
        return SideInformation(prior)
    frequency = instances.frequency(chosen.rates)
    with run.step("shortlist"):
        negatives = sample_negatives(features, instances.labels, frequency, settings, chosen.prune, run, prior)
    return SideInformation(prior, negatives)
