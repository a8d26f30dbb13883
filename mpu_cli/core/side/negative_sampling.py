"""Negative sampling with many labels: a label is learned from the instances near it, and from a few of the others.

One-vs-rest learns each of q labels from all n instances, most of which have nothing to do with it. So labels that
belong to similar instances are put into groups, each as large as a block of labels that are learned together. A model
of the groups, which are annotated where one of their labels is, tells the groups that an instance is nearest to. A
group is learned from the instances

- that are annotated with one of its labels, or have a verdict on one,
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

from mpu_cli.core.data.predictions import FEW_LABELS, STACKED_FROM, Block, at_least
from mpu_cli.core.data.weights import WeightRows
from mpu_cli.core.side.clustering import cluster
from mpu_cli.runtime.checkpoints import Checkpoint, packed, unpacked

# Labels of a group: as many as are learned together by the compiled kernel.
SIZE = 64
# Of fewer instances, each is needed: docs/choices/many-labels.md, "Many labels".
_FEWEST_INSTANCES = 20_000


@dataclass(frozen=True)
class NegativeSample:
    """The instances that each group of labels is learned from.

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

    def widened(self, predictions: csr_array) -> "NegativeSample":
        """Return the same, where groups also learn from the instances for which one of their labels was predicted.

        Parameters
        ----------
        predictions : csr_array of float32, shape (n, q)
            By models that have not seen the instances; those that are features of the next level count.
        """
        features = at_least(predictions, STACKED_FROM)
        cells = [
            (rows_of(self.instances), self.instances.indices),
            (self.group_of[features.indices], rows_of(features)),
        ]
        return NegativeSample(self.group_of, joined_cells(self.instances.shape, cells))

    def to_arrays(self) -> Checkpoint:
        """Return the arrays that it is made of, by name."""
        return packed("instances", self.instances) | {"group of": self.group_of}

    @classmethod
    def from_arrays(cls, arrays: Checkpoint) -> "NegativeSample":
        """Return the sample that `to_arrays` has taken apart."""
        return cls(arrays["group of"], unpacked("instances", arrays))


def is_worthwhile(n: int, q: int) -> bool:
    """Whether labels and instances are enough for negative sampling."""
    return q > FEW_LABELS and n >= _FEWEST_INSTANCES


@dataclass(frozen=True)
class LabelGroups:
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
    def of(cls, directions: csr_array, grouped: np.ndarray, q: int, seed: int) -> "LabelGroups":
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
        return joined_cells(shape, [(rows_of(positives), self.group_of[positives.indices])])


def labels_to_group(annotations: np.ndarray) -> np.ndarray:
    """Return the labels that are put into groups, ascending: all but the most annotated ones, which are a group."""
    return np.sort(np.argsort(-annotations, kind="stable")[SIZE:])


def rows_of(matrix: csr_array) -> np.ndarray:
    """Return the row of each entry."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))


def joined_cells(shape: tuple[int, int], cells: list[tuple[np.ndarray, np.ndarray]]) -> csr_array:
    """Return a matrix that is true in the cells of these lists of rows and columns."""
    rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)
