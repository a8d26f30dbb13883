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
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Features, unit_rows
from mpu_cli.core.data.predictions import FEW_LABELS, LEAST, STACKED_FROM, Block, Top, at_least
from mpu_cli.core.data.weight_rows import WeightRows
from mpu_cli.core.frequency.known_labels import KnownLabels
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.side.clustering import centroids, cluster
from mpu_cli.core.side.prior import Prior
from mpu_cli.core.solver.sgd import LinearModel, Settings, TrainingSet, train_linear
from mpu_cli.runtime.journal import Found, packed, unpacked
from mpu_cli.runtime.run import Run

# Labels of a group: as many as are learned together by the compiled kernel.
SIZE = 64
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


@dataclass(frozen=True)
class Groups:
    """Labels in groups, and what tells which of them an instance is like.

    Attributes
    ----------
    group_of : ndarray of int32, shape (q,)
        The group of each label. That of the most annotated labels is 0.
    grouped : ndarray of int, shape (m,)
        The other labels, ascending.
    by_feature : WeightRows, of D features and m labels
        The directions of these labels.
    state : dict
        Of the generator of random numbers that has made them.
    """

    group_of: np.ndarray
    grouped: np.ndarray
    by_feature: WeightRows
    state: dict[str, Any]

    def __len__(self) -> int:
        return int(self.group_of.max()) + 1

    @classmethod
    def of(cls, directions: csr_array, grouped: np.ndarray, q: int, seed: int) -> "Groups":
        """Group labels (m of q) by their directions (m x D)."""
        rng = np.random.default_rng(seed)
        group_of = np.zeros(q, np.int32)
        group_of[grouped] = 1 + cluster(directions, SIZE, rng)
        return cls(group_of, grouped, WeightRows.of(csr_array(directions.T)), dict(rng.bit_generator.state))

    def generator(self) -> np.random.Generator:
        """Return the generator that goes on where it has made them."""
        rng = np.random.default_rng(0)
        rng.bit_generator.state = self.state
        return rng

    def annotated(self, positives: csr_array) -> csr_array:
        """Return where an instance has a label of a group: csr_array of bool, shape (n, groups)."""
        shape = positives.shape[0], len(self)
        return _joined(shape, [(_rows(positives), self.group_of[positives.indices])])


def labels_to_group(annotations: np.ndarray) -> np.ndarray:
    """Return the labels that are put into groups, ascending: all but the most annotated ones, which are a group."""
    return np.sort(np.argsort(-annotations, kind="stable")[SIZE:])


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
    positives = frequency.positives(labels)
    grouped = labels_to_group(np.bincount(positives.indices, minlength=q))
    directions = centroids(features, positives[:, grouped])
    if prior is not None:
        directions = unit_rows(directions + csr_array(prior.vectors[:, grouped].T))
    groups = Groups.of(directions, grouped, q, run.seed)
    annotated = groups.annotated(positives)[:, 1:]
    data = TrainingSet(features, annotated, np.arange(n), run)
    model = train_linear(data, LabelFrequency.of(1.0, annotated.shape), settings, prune=prune)
    return list_instances(features, positives, groups, model, n, groups.generator(), run, frequency.known)


def list_instances(
    features: Features,
    positives: csr_array,
    groups: Groups,
    model: LinearModel,
    of: int,
    rng: np.random.Generator,
    run: Run,
    known: KnownLabels | None = None,
) -> Shortlist:
    """Find the instances to learn each group from.

    Parameters
    ----------
    features : Features, n instances
    positives : csr_array of bool, shape (n, q)
        Their annotated labels, corrected by what is known.
    groups : Groups
    model : LinearModel
        Of the groups but the first.
    of : int
        How many instances there are in all.
    rng : numpy.random.Generator
        Draws the random groups of an instance.
    run : Run
    known : KnownLabels, optional
        What is known of the instances.
    """
    n, n_groups = len(features), len(groups)
    no_bias = np.zeros(len(groups.grouped), np.float32)
    similar = kernel(run).top_scores(features.as_sparse(), groups.by_feature, no_bias, Top(_SIMILAR, 0.5))
    similar.eliminate_zeros()
    most = int(np.ceil(min(_NEAREST / np.sqrt(of), 1.0) * (n_groups - 1)))
    nearest = model.top(features, Top(most, LEAST), run)
    at_random = rng.integers(1, n_groups, (n, int(np.ceil(_RANDOM * most))), np.int32)

    group_of = groups.group_of
    cells = [
        (np.zeros(n, np.int32), np.arange(n, dtype=np.int32)),
        (group_of[positives.indices], _rows(positives)),
        (group_of[groups.grouped[similar.indices]], _rows(similar)),
        (nearest.indices + 1, _rows(nearest)),
        (at_random.ravel(), np.repeat(np.arange(n, dtype=np.int32), at_random.shape[1])),
    ]
    if known is not None:
        cells.append((group_of[known.cells.indices], _rows(known.cells)))
    return Shortlist(group_of, _joined((n_groups, n), cells))


def _rows(matrix: csr_array) -> np.ndarray:
    """Return the row of each entry."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))


def _joined(shape: tuple[int, int], cells: list[tuple[np.ndarray, np.ndarray]]) -> csr_array:
    """Return a matrix that is true in some cells, given by lists of their rows and columns."""
    rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)
