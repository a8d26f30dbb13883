"""Metrics from incomplete labels: estimates of metrics on complete labels, and metrics weighted by propensities.

Predictions use only the features, on which it does not depend whether a true label is annotated ("selected completely
at random"; Elkan and Noto, KDD 2008). So a label that is both predicted and true is annotated with probability c, and
dividing by c, which may differ from cell to cell, estimates the counts on complete labels. docs/method.md,
"Thresholds", has the formulas, and which of these estimates are unbiased, before clipping: precision can exceed 1, by
chance or because c is too small, and is then clipped to 1. F1 is the harmonic mean of recall and the clipped precision.

**Propensities.** The propensity of a label is the probability that it is annotated if it is true. The model of Jain et
al. computes it from the number of annotations: docs/guide/researcher.md, "What a propensity is, and what it is not".

**Propensity-scored metrics.** A retrieved true label gains 1 / propensity instead of 1, so rare labels count more. The
sum over all instances is divided by the largest sum that any ranking can reach: by ranking the true labels in
descending order of gain. Both follow the Extreme Classification Repository, where PSnDCG@k first divides the gain of
each instance by the sum of the discounts of the first min(k, true labels) ranks.

Ties and unlisted labels are treated as in `mpu_cli.evaluation.metrics`. Instances without true labels cannot gain
anything, so they do not count.

References
----------
Jain, Prabhu, Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking and Other Missing Label
Applications", KDD 2016, Sections 4 and 6.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from mpu_cli.core.features import with_values
from mpu_cli.core.predictions import values_at
from mpu_cli.errors import DataError, InputError
from mpu_cli.evaluation.metrics import LabelSetMetrics, Quality, divide, gains_at, precision_recall_f1, ranked_hits
from mpu_cli.runtime.options import PROPENSITY_A, PROPENSITY_B

FEWEST_INSTANCES = 3  # with fewer, C is negative and a propensity would exceed 1


def corrected(hits: np.ndarray, predicted: np.ndarray, annotated: np.ndarray, c: float | np.ndarray = 1.0) -> Quality:
    """Estimate precision, clipped to 1, recall and F1 on complete labels; 0 if the denominator is 0.

    `hits`, `predicted`, `annotated`: numbers of labels: both predicted and annotated; predicted; annotated.
    `c`: label frequency, in (0, 1]; 1 if each annotation was counted as 1 / c true labels.

    Examples
    --------
    100 labels are predicted, and 40 of the 50 annotated ones are among them. Half of the true labels are annotated.

    >>> estimate = corrected(hits=40, predicted=100, annotated=50, c=0.5)
    >>> print(f"{estimate.precision:.2f} {estimate.recall:.2f} {estimate.f1:.2f}")
    0.80 0.80 0.80
    """
    return precision_recall_f1(hits, np.maximum(np.multiply(predicted, c), hits), annotated)


def of_labels(hits: np.ndarray, predicted: np.ndarray, true: np.ndarray) -> Quality:
    """Return `corrected` for macro averages: only the mean of precisions is clipped, as each would make it too low."""
    return corrected(hits, predicted, true)._replace(precision=divide(hits, predicted))


def corrected_metrics(counts: LabelSetMetrics, c: float | np.ndarray) -> dict[str, float | bool | int]:
    """Estimate the metrics of `estimates` from counts against incomplete labels, and c of all labels or of each."""
    return estimates(counts.true_positives / c, counts.predicted, counts.support / c)


def estimates(hits: np.ndarray, predicted: np.ndarray, true: np.ndarray) -> dict[str, float | bool | int]:
    """Estimate metrics on complete labels from counts, shape (q,), for labels that are annotated or predicted.

    `hits`, `predicted`, `true`: true and predicted, predicted, true; the first and the last are estimates.
    Returns: ``{micro,macro}_{precision,recall,f1}``; ``clipped``: whether the micro-averaged precision exceeded 1 and
    was clipped, a sign that c is too small; ``clipped_labels``: for how many labels precision exceeds 1.
    """
    micro, macro = corrected(hits.sum(), predicted.sum(), true.sum()), of_labels(hits, predicted, true)
    return {
        **{f"micro_{name}": float(value) for name, value in micro._asdict().items()},
        **{f"macro_{name}": min(float(divide(value.sum(), len(hits))), 1.0) for name, value in macro._asdict().items()},
        "clipped": bool(divide(hits.sum(), predicted.sum()) > 1),
        "clipped_labels": int(np.count_nonzero(macro.precision > 1)),
    }


def jain_propensities(
    annotations: ArrayLike, instances: int, a: float = PROPENSITY_A, b: float = PROPENSITY_B
) -> np.ndarray:
    """Return the propensity of labels by the model of Jain et al., which grows with the number of annotations.

    `annotations`: shape (q,): number of training instances with each label; 0 is allowed.
    `instances`: number of training instances; DataError if there are fewer than 3.
    `a`, `b`: constants A and B of the model; A is not negative, and B is positive.
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
    source: str = ""  # the file that contains them, for messages

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
        """Return the propensity of each label in counts, shape (q,); 1 for labels that are never true."""
        true = counts.support > 0
        values = np.full(len(true), 1.0 if self.others is None else self.others)
        values[true] = self.of(counts.labels[true])
        return values

    def weighted(self, truth: csr_array) -> csr_array:
        """Return label sets with 1 / propensity as the entry of each annotation: csr_array of float64, same shape.

        InputError if the propensity of a label is unknown.
        """
        return with_values(truth, 1 / self.of(truth.indices))

    def of(self, labels: np.ndarray) -> np.ndarray:
        """Return the propensity of each label; InputError if one is unknown."""
        place = np.searchsorted(self.labels, labels)
        listed = np.append(self.labels, -1)[place] == labels
        if self.others is None and not listed.all():
            absent = labels[~listed].min()
            raise InputError(self.source, f"there is no line for label {absent}; each label of TRUTH needs one")
        values = np.full(len(labels), self.others if self.others is not None else np.nan)
        values[listed] = self.values[place[listed]]
        return values


class PropensityScoredMetrics:
    """Sums over instances, for PSP@k and PSnDCG@k, and for P@k on complete labels."""

    def __init__(self, ks: tuple[int, ...] = (1, 3, 5)) -> None:
        self.ks, self.instances = ks, 0
        self._gains = np.zeros((2, 2, len(self.ks)))  # gained and attainable; for precision and for nDCG

    def add(self, truth: csr_array, scores: csr_array) -> None:
        """Add a chunk: label sets (n x Q), whose entries are 1 / propensity; scores of the listed labels (n x R)."""
        for sums, ranked in zip(self._gains, (ranked_hits(truth, scores), ranked_hits(truth, truth)), strict=True):
            weights = values_at(truth, ranked.rows, ranked.labels)
            (retrieved, discounted), most = gains_at(ranked, truth, self.ks, weights)
            sums += [retrieved.sum(axis=1), divide(discounted, most).sum(axis=1)]
        self.instances += truth.shape[0]

    def results(self) -> dict[str, float]:
        """Return ``psp_at_K`` and ``psndcg_at_K`` for each cut-off; 0 if there is no true label."""
        names = [f"{name}_at_{k}" for name in ("psp", "psndcg") for k in self.ks]
        return dict(zip(names, divide(*self._gains).ravel().tolist(), strict=True))

    def corrected(self) -> dict[str, float]:
        """Return ``precision_at_K`` on complete labels for each cut-off: unbiased but for a limit of 1."""
        gained = divide(self._gains[0, 0], self.instances)
        return {f"precision_at_{k}": min(float(gain) / k, 1.0) for k, gain in zip(self.ks, gained, strict=True)}
