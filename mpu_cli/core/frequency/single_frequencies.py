"""The label frequency of each label, from annotations alone: estimates, and intervals that cover.

Incomplete labels do not tell a label that is annotated rarely from one that the features do not make sure: both have a
low ceiling of annotations (`common_frequency`). So the ceiling of a label says how large its frequency is at least. How
large it is at most depends on whether all labels have one frequency in common, as far as their ceilings agree on one:

- the estimate of a label lies between its own and that of all labels, the nearer to the latter the more labels agree;
- its interval goes from the least that its ceiling allows, or that of all labels, to the most that its ceiling allows,
  or the interval of all labels, widened towards 1 by the share of the labels that do not agree. In both, chance decides
  how many of the label's own instances were annotated.

docs/choices.md, "One frequency for each label", has their coverage.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.frequency.common_frequency import CEILINGS, CommonFrequency, ceilings
from mpu_cli.core.frequency.known_labels import KnownLabels
from mpu_cli.core.frequency.propensity import Cells, FrequencyEstimate, estimate_per_label

# Of a normal distribution, outside which 10 % lie.
_STANDARD_ERRORS = 1.645
# Labels whose ceilings are found at a time.
_LABELS = 400
# A wider interval says little.
_WIDE = 0.5


@dataclass(frozen=True)
class SingleFrequencies:
    """The label frequency of each label.

    Attributes
    ----------
    c : ndarray of float64, shape (q,)
    intervals : ndarray of float64, shape (q, 2)
        90 %.
    pooled : ndarray of bool, shape (q,)
        Whether c is that of all labels, since the label has too few annotations.
    """

    c: np.ndarray
    intervals: np.ndarray
    pooled: np.ndarray

    def of_all(self, q: int, columns: np.ndarray | slice, c: float) -> "SingleFrequencies":
        """Return those of q labels, if these are some of them. Nothing is known of the others but c of all labels."""
        rates, intervals = np.full(q, c), np.tile([CEILINGS[0], 1.0], (q, 1))
        pooled = np.ones(q, bool)
        rates[columns], intervals[columns], pooled[columns] = self.c, self.intervals, self.pooled
        return SingleFrequencies(rates, intervals, pooled)

    @property
    def unreliable(self) -> np.ndarray:
        """Whether the interval of each label is wider than half of all that is possible: bool, shape (q,)."""
        wide: np.ndarray = self.intervals[:, 1] - self.intervals[:, 0] > _WIDE
        return wide


def missing(annotations: np.ndarray, c: np.ndarray, of_all: float) -> np.ndarray:
    """Estimate how many labels are missing of each: in proportion to what c of each says, as many as c of all says.

    Parameters
    ----------
    annotations : ndarray, shape (q,)
        Of each label.
    c : ndarray of float64, shape (q,)
    of_all : float
        c of all labels.

    Returns
    -------
    ndarray of float64, shape (q,)
    """
    each: np.ndarray = annotations * (1 / c - 1)
    total = annotations.sum() * (1 / of_all - 1)
    return each * (total / each.sum()) if each.sum() else np.full(len(c), total / len(c))


def estimate_singly(
    probabilities: np.ndarray,
    labels: csr_array,
    method: str,
    of_all: FrequencyEstimate,
    common: CommonFrequency,
    known: KnownLabels | None = None,
) -> SingleFrequencies:
    """Estimate the label frequency of each label.

    Parameters
    ----------
    probabilities : ndarray of float32, shape (n, q)
        Out-of-fold Pr(s=1 | x).
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    method : {"bbe", "e1", "e2", "e3"}
        How each label's own frequency is estimated (`propensity`).
    of_all : FrequencyEstimate
        Of all labels, with its interval.
    common : CommonFrequency
        How many labels agree on one.
    known : KnownLabels, optional
        What is known of these instances and labels.

    Returns
    -------
    SingleFrequencies
    """
    agreeing = 0.0 if np.isnan(common.agreeing) else common.agreeing
    alone = estimate_per_label(probabilities, labels, method, known=known)
    own = np.array([of_all.c if one is None else one.c for one in alone])
    c = own ** (1 - agreeing) * of_all.c**agreeing

    cells = Cells.of(probabilities, labels, known)
    at_least, at_most = _ends_of_ceilings(cells)
    low, high = (of_all.c, of_all.c) if of_all.interval is None else of_all.interval
    if not of_all.separable:
        high = 1.0
    high += (1 - agreeing) * (1 - high)
    true = np.maximum(cells.annotated.sum(axis=0), 1) / c
    ends = [np.minimum(at_least, low - _chance(low, true)), np.maximum(at_most, high + _chance(high, true))]
    intervals = np.transpose([np.minimum(ends[0], c), np.maximum(ends[1], c)]).clip(CEILINGS[0], 1)
    return SingleFrequencies(c, intervals, np.array([one is None for one in alone]))


def _ends_of_ceilings(cells: Cells) -> np.ndarray:
    """Return the ends of the 90 % intervals of the ceilings, all being equally probable before: shape (2, q)."""
    edges = np.append(np.sqrt(CEILINGS[:-1] * CEILINGS[1:]), 1.0)
    ends = []
    for start in range(0, cells.annotated.shape[1], _LABELS):
        some = range(start, min(start + _LABELS, cells.annotated.shape[1]))
        posterior = ceilings(cells, some) * CEILINGS[:, None]  # the grid is logarithmic
        below = np.cumsum(posterior / posterior.sum(axis=0), axis=0)
        ends += [np.interp([0.05, 0.95], of_label, edges) for of_label in below.T]
    return np.transpose(ends)


def _chance(c: float, true: np.ndarray) -> np.ndarray:
    """Return how far the share annotated of some true labels may be from its chance."""
    deviation: np.ndarray = _STANDARD_ERRORS * np.sqrt(c * (1 - c) / true)
    return deviation
