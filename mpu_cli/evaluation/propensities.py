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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mpu_cli.errors import MpuError

A, B = 0.55, 1.5  # of Jain et al. for all collections but those of Amazon (0.6, 2.6) and Wikipedia (0.5, 0.4)
_FEWEST_INSTANCES = 3  # below, C is negative and a propensity would exceed 1


def jain_propensities(annotations: ArrayLike, instances: int, a: float = A, b: float = B) -> np.ndarray:
    """Return the propensity of labels by the model of Jain et al., which grows with the number of annotations.

    Parameters
    ----------
    annotations : array_like of int, shape (q,)
        In how many training instances each label is annotated; 0 is allowed.
    instances : int
        Number of training instances, at least 3.
    a, b : float
        Constants A and B of the model, A >= 0 and B > 0.

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
    array([0.085, 0.109, 0.485])
    """
    if instances < _FEWEST_INSTANCES:
        raise MpuError(f"the propensity model needs at least {_FEWEST_INSTANCES} training instances, not {instances}")
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
    """

    labels: np.ndarray
    values: np.ndarray
    others: float | None = None

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
        MpuError
            The propensity of one of the labels is unknown.
        """
        place = np.searchsorted(self.labels, labels)
        known = place < len(self.labels)
        known[known] = self.labels[place[known]] == labels[known]
        if self.others is None and not known.all():
            raise MpuError(f"label {labels[~known].min()} has no propensity; give one for each label of the truth")
        found = np.full(len(labels), self.others if self.others is not None else np.nan)
        found[known] = self.values[place[known]]
        return 1 / found
