"""Which instances a label is learned from, where labels are many: those near it, and a few of the others.

One-vs-rest learns each of q labels from all n instances, most of which have nothing to do with it. So labels that
belong to similar instances are put into groups, each as large as a block of labels that are learned together. A model
of the groups, which are annotated where one of their labels is, tells the groups that an instance is nearest to. A
group is learned from the instances

- that are annotated with one of its labels, or of which something is known of one,
- that are nearest to it, or most similar to those of one of its labels: negatives that are hard to tell from them,
- that the level before predicts to have one of its labels,
- and from a random share of the others, which keep the scores of instances far away low.

The most frequent labels are a group of their own, learned from all instances. What is left out would have changed
weights little: the gradient of an instance far away is nearly zero. The model is one of all labels as before.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.clustering import centroids, cluster
from mpu_cli.core.features import Features, unit_rows
from mpu_cli.core.kernels import kernel
from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.core.predictions import FEW_LABELS, LEAST, STACKED_FROM, Block, Top, at_least
from mpu_cli.core.prior import Prior
from mpu_cli.core.sgd import Settings, TrainingSet, train_linear
from mpu_cli.core.weight_rows import WeightRows
from mpu_cli.runtime.journal import Found, packed, unpacked
from mpu_cli.runtime.run import Run

# Labels of a group: as many as are learned together by the compiled kernel.
_SIZE = 64
# Of fewer instances, each is needed: docs/choices.md, "Many labels".
_FEWEST_INSTANCES = 20_000
# The share of the groups that an instance is near to, times the square root of the number of instances; and random
# groups that learn from it, by those.
_NEAREST, _RANDOM = 15.0, 1.0
# Labels to whose instances an instance is the most similar.
_SIMILAR = 20


@dataclass(frozen=True)
class Shortlist:
    """Labels in groups, and the instances that each group is learned from.

    Attributes
    ----------
    group_of : ndarray of int32, shape (q,)
        The group of each label, from 0.
    instances : csr_array of bool, shape (groups, n)
        Where a group is learned from an instance.
    """

    group_of: np.ndarray
    instances: csr_array

    def groups(self) -> list[np.ndarray]:
        """Return the labels of each group, ascending."""
        order = np.argsort(self.group_of, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.group_of))[:-1])

    def instances_of(self, labels: Block) -> np.ndarray:
        """Return the instances that some labels, all of one group, are learned from, ascending."""
        group = self.group_of[labels][0]
        return self.instances.indices[self.instances.indptr[group] : self.instances.indptr[group + 1]]

    def widened(self, predictions: csr_array) -> "Shortlist":
        """Return the same, where groups also learn from the instances for which one of their labels was predicted.

        Parameters
        ----------
        predictions : csr_array of float32, shape (n, q)
            By models that have not seen the instances; those that are features of the next level count.
        """
        features = at_least(predictions, STACKED_FROM)
        cells = [(_rows(self.instances), self.instances.indices), (self.group_of[features.indices], _rows(features))]
        return Shortlist(self.group_of, _joined(self.instances.shape, cells))

    def found(self) -> Found:
        """Return the arrays that it is made of, by name."""
        return packed("instances", self.instances) | {"group of": self.group_of}

    @classmethod
    def of_found(cls, found: Found) -> "Shortlist":
        """Return what `found` has taken apart."""
        return cls(found["group of"], unpacked("instances", found))


def is_worthwhile(n: int, q: int) -> bool:
    """Whether labels and instances are enough for a shortlist."""
    return q > FEW_LABELS and n >= _FEWEST_INSTANCES


def make_shortlist(
    features: Features,
    labels: csr_array,
    frequency: LabelFrequency,
    settings: Settings,
    prune: float | None,
    run: Run,
    prior: Prior | None = None,
) -> Shortlist:
    """Find the groups of labels, and the instances to learn each from.

    Parameters
    ----------
    features : Features, n instances
    labels : csr_array of bool, shape (n, q)
        Annotated labels; more than are in a group.
    frequency : LabelFrequency
        Of these instances and labels.
    settings : Settings
        Of the model of groups.
    prune : float or None
        The weights that it does without.
    run : Run
    prior : Prior, optional
        Labels are then also like instances that have features of their own.

    Returns
    -------
    Shortlist
    """
    n, q = labels.shape
    rng = np.random.default_rng(run.seed)
    positives = frequency.positives(labels)
    by_annotations = np.argsort(-np.bincount(positives.indices, minlength=q), kind="stable")
    others = np.sort(by_annotations[_SIZE:])
    directions = centroids(features, positives[:, others])
    if prior is not None:
        directions = unit_rows(directions + csr_array(prior.vectors[:, others].T))
    group_of = np.zeros(q, np.int32)
    group_of[others] = 1 + cluster(directions, _SIZE, rng)
    n_groups = int(group_of.max()) + 1

    annotated = _joined((n, n_groups), [(_rows(positives), group_of[positives.indices])])
    by_feature = WeightRows.of(csr_array(directions.T))
    no_bias = np.zeros(len(others), np.float32)
    similar = kernel(run).top_scores(features.as_sparse(), by_feature, no_bias, Top(_SIMILAR, 0.5))
    similar.eliminate_zeros()
    data = TrainingSet(features, annotated[:, 1:], np.arange(n), run)
    model = train_linear(data, LabelFrequency.of(1.0, (n, n_groups - 1)), settings, prune=prune)
    most = int(np.ceil(min(_NEAREST / np.sqrt(n), 1.0) * (n_groups - 1)))
    nearest = model.top(features, Top(most, LEAST), run)
    at_random = rng.integers(1, n_groups, (n, int(np.ceil(_RANDOM * most))), np.int32)

    cells = [
        (np.zeros(n, np.int32), np.arange(n, dtype=np.int32)),
        (annotated.indices, _rows(annotated)),
        (group_of[others[similar.indices]], _rows(similar)),
        (nearest.indices + 1, _rows(nearest)),
        (at_random.ravel(), np.repeat(np.arange(n, dtype=np.int32), at_random.shape[1])),
    ]
    if frequency.known is not None:
        cells.append((group_of[frequency.known.cells.indices], _rows(frequency.known.cells)))
    return Shortlist(group_of, _joined((n_groups, n), cells))


def _rows(matrix: csr_array) -> np.ndarray:
    """Return the row of each entry."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))


def _joined(shape: tuple[int, int], cells: list[tuple[np.ndarray, np.ndarray]]) -> csr_array:
    """Return a matrix that is true in some cells, given by lists of their rows and columns."""
    rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)
