"""Judges: the models that predict held-out instances, and how many annotations of each label they have learned from.

How far a prediction is right depends on that number. A label that was annotated once is judged where it is known to
occur, if its only annotation is held out: by a model that has never seen it. So labels are in strata, by the number of
annotations that their judge has learned from, and what is estimated out of fold is estimated in each stratum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

# The fewest annotations of the labels of each stratum. In the first one are the labels that the judge has never seen.
FEWEST = (0, 1, 2, 5, 20)
UNSEEN = 0


def strata_of(annotations: np.ndarray) -> np.ndarray:
    """Return the stratum of labels by how often they were annotated: int8, of the same shape."""
    return (np.searchsorted(FEWEST, annotations, side="right") - 1).astype(np.int8)


@dataclass(frozen=True)
class Judges:
    """Which model has predicted each of m instances, and what it had learned from.

    Attributes
    ----------
    of_instances : ndarray of int, shape (m,)
        The number of the model.
    annotations : ndarray of int, shape (models, q)
        How many annotations of each label it has learned from.
    """

    of_instances: np.ndarray
    annotations: np.ndarray

    @classmethod
    def of(cls, predicted: Sequence[np.ndarray], annotations: Sequence[np.ndarray]) -> "Judges":
        """Return those of instances in ascending order.

        Parameters
        ----------
        predicted : sequence of ndarray of int
            The instances that each model has predicted.
        annotations : sequence of ndarray of int, shape (q,)
            Those that each model has learned from.
        """
        numbers = np.repeat(np.arange(len(predicted)), [len(rows) for rows in predicted])
        return cls(numbers[np.argsort(np.concatenate(predicted), kind="stable")], np.array(annotations))

    @classmethod
    def learned(cls, predicted: Sequence[np.ndarray], learned: Sequence[np.ndarray], positives: csr_array) -> "Judges":
        """Return the same, from the instances that each model has learned from, and their positive labels."""
        return cls.of(predicted, [count_positives(positives[rows]) for rows in learned])

    @classmethod
    def joined(cls, judges: "Sequence[Judges]") -> "Judges | None":
        """Return the same models of instances of some parts, one after another; None of none."""
        if not judges:
            return None
        return cls(np.concatenate([of_part.of_instances for of_part in judges]), judges[0].annotations)

    @cached_property
    def strata(self) -> np.ndarray:
        """The stratum of each label, for each model: int8, shape (models, q)."""
        return strata_of(self.annotations)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the strata of a subset of the cells."""
        return self.strata[self.of_instances[rows], columns]

    def block(self, columns: np.ndarray) -> "Judges":
        """Return those of a subset of the labels."""
        return Judges(self.of_instances, self.annotations[:, columns])


def count_positives(positives: csr_array) -> np.ndarray:
    """Return how many instances have each label: ndarray of int, shape (q,)."""
    return np.bincount(positives.indices, weights=positives.data != 0, minlength=positives.shape[1]).astype(np.int64)
