"""Propensities: the probability that a label is annotated where it is true.

A propensity model gives one to each label. That of Jain et al. takes it from the number of annotations alone::

    propensity = 1 / (1 + C (annotations + B)^-A)        C = (log instances - 1) (B + 1)^A

A and B were fitted to two collections, Wikipedia's categories and Amazon's related products. Other collections borrow
them: nothing of their own data says that a label with so many annotations misses so many. What this means for metrics
is in Schultheis et al.

References
----------
Jain, Prabhu, Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking and Other Missing Label
Applications", KDD 2016, Section 4.
Schultheis, Wydmuch, Babbar, Dembczyński, "On Missing Labels, Long-tails and Propensities in Extreme Multi-label
Classification", KDD 2022.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.metrics import LabelSetMetrics
from mpu_cli.runtime.options import PROPENSITY_A, PROPENSITY_B

FEWEST_INSTANCES = 3  # below, C is negative and a propensity would exceed 1


def jain_propensities(
    annotations: ArrayLike, instances: int, a: float = PROPENSITY_A, b: float = PROPENSITY_B
) -> np.ndarray:
    """Return the propensity of labels by the model of Jain et al., which grows with the number of annotations.

    Parameters
    ----------
    annotations : array_like of int, shape (q,)
        In how many training instances each label is annotated; 0 is allowed.
    instances : int
        Number of training instances, at least 3.
    a, b : float
        Constants A and B of the model: not negative, and positive.

    Returns
    -------
    ndarray, shape (q,), float64
        In (0, 1].

    Raises
    ------
    MpuError
        There are fewer than 3 instances.

    Examples
    --------
    >>> jain_propensities([0, 1, 100], instances=10_000).round(3)
    array([0.084, 0.109, 0.483])
    """
    if instances < FEWEST_INSTANCES:
        raise MpuError(f"the propensity model needs at least {FEWEST_INSTANCES} training instances, not {instances}")
    scale = (np.log(instances) - 1) * (b + 1) ** a
    return 1 / (1 + scale * (np.asarray(annotations, float) + b) ** -a)


@dataclass(frozen=True)
class Propensities:
    """Propensities of some labels.

    Attributes
    ----------
    labels : ndarray, shape (q,), int64
        Ascending.
    values : ndarray, shape (q,), float64
        In (0, 1].
    others : float or None
        That of all other labels; None where it is unknown.
    source : str
        The file that they were read from, for messages.
    """

    labels: np.ndarray
    values: np.ndarray
    others: float | None = None
    source: str = ""

    @classmethod
    def of_annotations(
        cls, chunks: Iterable[csr_array], a: float = PROPENSITY_A, b: float = PROPENSITY_B
    ) -> "Propensities":
        """Count the annotations of each label, and take its propensity from that by the model of Jain et al.

        Parameters
        ----------
        chunks : iterable of csr_array of bool, shapes (n, Q)
            Annotated labels of the training instances, some instances at a time.
        a, b : float
            As for `jain_propensities`.

        Raises
        ------
        MpuError
            There are fewer than 3 instances.
        """
        counts = LabelSetMetrics()
        for annotated in chunks:
            counts.add(annotated, csr_array(annotated.shape, dtype=bool))
        of_labels, others = (jain_propensities(x, counts.instances, a, b) for x in (counts.support, 0))
        return cls(counts.labels, of_labels, float(others))

    def inverse(self, labels: np.ndarray) -> np.ndarray:
        """Return 1 / propensity of each of some labels.

        Parameters
        ----------
        labels : ndarray of int, shape (m,)

        Returns
        -------
        ndarray, shape (m,), float64

        Raises
        ------
        InputError
            The propensity of one of the labels is unknown.
        """
        place = np.searchsorted(self.labels, labels)
        known = place < len(self.labels)
        known[known] = self.labels[place[known]] == labels[known]
        if self.others is None and not known.all():
            absent = labels[~known].min()
            raise InputError(self.source, None, f"there is no line for label {absent}; each label of TRUTH needs one")
        found = np.full(len(labels), self.others if self.others is not None else np.nan)
        found[known] = self.values[place[known]]
        return 1 / found
