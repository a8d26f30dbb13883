"""Propensities, and the metrics that weigh labels by them: precision and nDCG, summed chunk by chunk.

The propensity of a label is the probability that it is annotated where it is true.

A propensity model computes them. That of Jain et al. depends on the number of annotations alone::

    propensity = 1 / (1 + C (annotations + B)^-A)        C = (log instances - 1) (B + 1)^A

A and B were fitted to two collections, Wikipedia's categories and Amazon's related products. For other collections they
are an assumption that their own data cannot confirm. Schultheis et al. discuss the consequences for metrics.

**Propensity-scored metrics.** A true label that is retrieved gains 1 / propensity in place of 1, so rare labels count
more. The sum over all instances is divided by the largest that any ranking can reach, which is that of the true labels
in descending order of their gain. Both are those of the Extreme Classification Repository, where PSnDCG@k divides the
gain of each instance by the sum of the discounts of the first min(k, true labels) ranks before that.

Ties and unlisted labels are treated as in `mpu_cli.evaluation.metrics`. Instances without true labels can gain
nothing, so they do not count.

References
----------
Jain, Prabhu, Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking and Other Missing Label
Applications", KDD 2016, Sections 4 and 6.
Schultheis, Wydmuch, Babbar, Dembczyński, "On Missing Labels, Long-tails and Propensities in Extreme Multi-label
Classification", KDD 2022.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from mpu_cli.core.predictions import values_at
from mpu_cli.errors import DataError, InputError
from mpu_cli.evaluation.metrics import LabelSetMetrics, divide, gains_at, ranked_hits
from mpu_cli.runtime.options import PROPENSITY_A, PROPENSITY_B

FEWEST_INSTANCES = 3  # below, C is negative and a propensity would exceed 1


def jain_propensities(
    annotations: ArrayLike, instances: int, a: float = PROPENSITY_A, b: float = PROPENSITY_B
) -> np.ndarray:
    """Return the propensity of labels by the model of Jain et al., which grows with the number of annotations.

    `annotations`: shape (q,): number of training instances with each label; 0 is allowed.
    `instances`: number of training instances; DataError where there are fewer than 3.
    `a`, `b`: constants A and B of the model: not negative, and positive.
    Returns: float64, shape (q,), in (0, 1].

    Examples
    --------
    >>> jain_propensities([0, 1, 100], instances=10_000).round(3)
    array([0.084, 0.109, 0.483])
    """
    if instances < FEWEST_INSTANCES:
        raise DataError(f"the propensity model needs at least {FEWEST_INSTANCES} training instances, not {instances}")
    scale = (np.log(instances) - 1) * (b + 1) ** a
    return 1 / (1 + scale * (np.asarray(annotations, float) + b) ** -a)


@dataclass(frozen=True)
class Propensities:
    """Propensities of a set of labels."""

    labels: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # shape (q,), ascending
    values: np.ndarray = field(default_factory=lambda: np.empty(0))  # float64, shape (q,), in (0, 1]
    others: float | None = None  # of all other labels; None if unknown
    source: str = ""  # the file that they were read from, for messages

    @classmethod
    def of_annotations(
        cls, chunks: Iterable[csr_array], a: float = PROPENSITY_A, b: float = PROPENSITY_B
    ) -> "Propensities":
        """Compute `jain_propensities` of labels from the annotations of the training instances, in chunks."""
        counts = LabelSetMetrics()
        for annotated in chunks:
            counts.add(annotated, csr_array(annotated.shape, dtype=bool))
        of_labels, others = (jain_propensities(x, counts.instances, a, b) for x in (counts.support, 0))
        return cls(counts.labels, of_labels, float(others))

    def of_counts(self, counts: LabelSetMetrics) -> np.ndarray:
        """Return that of each label of counts, shape (q,); 1 of labels that are never true, which need none."""
        true = counts.support > 0
        values = np.ones(len(true)) if self.others is None else np.full(len(true), self.others)
        values[true] = self.of(counts.labels[true])
        return values

    def weighted(self, truth: csr_array) -> csr_array:
        """Return what each annotation of label sets stands for, 1 / propensity: csr_array of float64, their shape.

        InputError where the propensity of one is unknown.
        """
        return csr_array((1 / self.of(truth.indices), truth.indices, truth.indptr), shape=truth.shape)

    def of(self, labels: np.ndarray) -> np.ndarray:
        """Return the propensity of each label; InputError where that of one is unknown."""
        place = np.searchsorted(self.labels, labels)
        listed = place < len(self.labels)
        listed[listed] = self.labels[place[listed]] == labels[listed]
        if self.others is None and not listed.all():
            absent = labels[~listed].min()
            raise InputError(self.source, None, f"there is no line for label {absent}; each label of TRUTH needs one")
        values = np.full(len(labels), self.others if self.others is not None else np.nan)
        values[listed] = self.values[place[listed]]
        return values


@dataclass
class PropensityScoredMetrics:
    """Sums over instances, for PSP@k and PSnDCG@k."""

    ks: tuple[int, ...] = (1, 3, 5)

    def __post_init__(self) -> None:
        self._gains = np.zeros((2, 2, len(self.ks)))  # gained and attainable; of precision and of nDCG

    def add(self, truth: csr_array, scores: csr_array) -> None:
        """Add a chunk: label sets (n x Q), whose entries are 1 / propensity; scores of the listed labels (n x R)."""
        for sums, ranked in zip(self._gains, (ranked_hits(truth, scores), ranked_hits(truth, truth)), strict=True):
            (retrieved, discounted), most = gains_at(
                ranked, truth, self.ks, values_at(truth, ranked.rows, ranked.labels)
            )
            sums += [retrieved.sum(axis=1), divide(discounted, most).sum(axis=1)]

    def results(self) -> dict[str, float]:
        """Return ``psp_at_K`` and ``psndcg_at_K`` for each cut-off; 0 if there is no true label."""
        names = [f"{name}_at_{k}" for name in ("psp", "psndcg") for k in self.ks]
        return dict(zip(names, divide(*self._gains).ravel().tolist(), strict=True))
