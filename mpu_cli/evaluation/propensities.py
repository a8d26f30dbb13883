"""Propensities: for each label, the probability that it is annotated where it is true.

A propensity model computes them. That of Jain et al. depends on the number of annotations alone::

    propensity = 1 / (1 + C (annotations + B)^-A)        C = (log instances - 1) (B + 1)^A

A and B were fitted to two collections, Wikipedia's categories and Amazon's related products. For other collections they
are an assumption that their own data cannot confirm. Schultheis et al. discuss the consequences for metrics.

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
        Number of training instances with each label; 0 is allowed.
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
    """Propensities of a set of labels.

    Attributes
    ----------
    labels : ndarray, shape (q,), int64
        Ascending.
    values : ndarray, shape (q,), float64
        In (0, 1].
    others : float or None
        Propensity of all other labels; None if unknown.
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
        """Compute the propensities of labels from their annotations by the model of Jain et al.

        Parameters
        ----------
        chunks : iterable of csr_array of bool, shapes (n, Q)
            Annotated labels of the training instances, in chunks.
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
        """Return 1 / propensity of each label.

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
        listed = place < len(self.labels)
        listed[listed] = self.labels[place[listed]] == labels[listed]
        if self.others is None and not listed.all():
            absent = labels[~listed].min()
            raise InputError(self.source, None, f"there is no line for label {absent}; each label of TRUTH needs one")
        values = np.full(len(labels), self.others if self.others is not None else np.nan)
        values[listed] = self.values[place[listed]]
        return 1 / values
