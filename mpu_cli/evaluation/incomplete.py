"""Estimates of precision, recall and F1 on complete labels, from incomplete ones.

The setting is that of Kong et al., "Large-Scale Multi-Label Learning with Incomplete Label Assignments" (SDM 2014):
every annotated label is true, but only a share c of the true labels, the label frequency, is annotated. Which ones are
annotated does not depend on the features ("selected completely at random"; Elkan and Noto, KDD 2008).

Predictions use only the features. So they are independent of which true labels are annotated, and a label that is both
predicted and true is annotated with probability c::

    E[annotated & predicted] = c * (true & predicted)        E[annotated] = c * true

Dividing by c, which may differ from cell to cell, estimates the counts on complete labels, and from them::

    precision = (annotated & predicted) / (c * predicted)
    recall    = (annotated & predicted) / annotated          c cancels: the recall of incomplete labels is right
    F1        = 2 (annotated & predicted) / (c * predicted + annotated)

The estimated precision can exceed 1, by chance or because c is too small. It is then cut to 1. F1 is the harmonic mean
of recall and the precision after the cut.

Without bias, where c is known, are the counts; the precision before the cut, and so its mean over labels, which is
not cut; the recall of a label that is annotated at all, if c is the same wherever it is true; and P@k and DCG@k, where
each hit gains 1 / c. F1, a ratio of estimates, and nDCG@k, whose divisor is unknown, are right for many annotations.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.predictions import values_at
from mpu_cli.evaluation.metrics import (
    LabelSetMetrics,
    Quality,
    divide,
    gains_at,
    gains_up_to,
    precision_recall_f1,
    ranked_hits,
)

# Instances with this many annotations or more are taken together; a number of true labels is at most this.
_MANY_ANNOTATIONS, _MANY_LABELS = 64, 10_000
_STEPS_OF_EM = 200


def corrected(hits: np.ndarray, predicted: np.ndarray, annotated: np.ndarray, c: float | np.ndarray = 1.0) -> Quality:
    """Estimate precision, cut to 1, recall and F1 on complete labels; 0 where the denominator is 0.

    `hits`, `predicted`, `annotated`: numbers of labels: both predicted and annotated; predicted; annotated.
    `c`: label frequency, in (0, 1]; 1 if annotations were counted as what they stand for.

    Examples
    --------
    100 labels are predicted, and 40 of the 50 annotated ones are among them. Half of the true labels are annotated.

    >>> estimate = corrected(hits=40, predicted=100, annotated=50, c=0.5)
    >>> print(f"{estimate.precision:.2f} {estimate.recall:.2f} {estimate.f1:.2f}")
    0.80 0.80 0.80
    """
    precision = np.minimum(divide(hits, np.multiply(predicted, c)), 1)
    recall = divide(hits, annotated)
    return Quality(precision, recall, divide(2 * precision * recall, precision + recall))


def corrected_metrics(counts: LabelSetMetrics, c: float | np.ndarray) -> dict[str, float | bool | int]:
    """Estimate the metrics of `estimates` by counts against incomplete labels, and c of all labels or of each."""
    return estimates(counts.true_positives / c, counts.predicted, counts.support / c)


def estimates(hits: np.ndarray, predicted: np.ndarray, true: np.ndarray) -> dict[str, float | bool | int]:
    """Estimate metrics on complete labels by counts, shape (q,), of labels that are annotated or predicted.

    `hits`, `predicted`, `true`: true and predicted, predicted, true; the first and the last are estimates.
    Returns: ``{micro,macro}_{precision,recall,f1}``; ``clipped``: whether the micro-averaged precision exceeded 1 and
    was cut, a sign that c is too small; ``clipped_labels``: for how many labels precision exceeds 1. In macro averages
    it is not cut, which would make them too low.
    """
    micro = corrected(hits.sum(), predicted.sum(), true.sum())
    macro = precision_recall_f1(hits, predicted, true)
    return {
        **{f"micro_{name}": float(value) for name, value in micro._asdict().items()},
        **{f"macro_{name}": float(divide(value.sum(), len(hits))) for name, value in macro._asdict().items()},
        "clipped": bool(divide(hits.sum(), predicted.sum()) > 1),
        "clipped_labels": int(np.count_nonzero(macro.precision > 1)),
    }


@dataclass
class CorrectedRanking:
    """Sums over instances, for P@k and nDCG@k on complete labels.

    nDCG@k is divided, in each instance, by what is to be expected of the inverse of its divisor: by how many labels are
    annotated, and the distribution of the number of true ones; each is annotated with the mean c. That
    distribution is the most likely one, by EM (Laird, "Nonparametric Maximum Likelihood Estimation of a Mixing
    Distribution", JASA 1978). It is as if rankings were no better where more labels are true than annotated. With half
    of the labels missing, nDCG@5 was .564 for .585 on bibtex, and .741 for .739 on yeast.
    """

    ks: tuple[int, ...] = (1, 3, 5)

    def __post_init__(self) -> None:
        # By the number of annotations: instances, annotations, what these stand for, gains of precision and of DCG.
        self._sums = np.zeros((_MANY_ANNOTATIONS + 1, 3 + 2 * len(self.ks)))

    def add(self, truth: csr_array, scores: csr_array) -> None:
        """Add a chunk: label sets, whose entries are what each annotation stands for, 1 / c; and scores of labels."""
        hits = ranked_hits(truth, scores)
        weight = values_at(truth, hits.rows, hits.labels)
        sizes = np.diff(truth.indptr)
        gains, _ = gains_at(hits, truth, self.ks, weight)
        columns = np.stack([np.ones(len(sizes)), sizes, truth.sum(axis=1), *gains[0], *gains[1]], axis=1)
        np.add.at(self._sums, np.minimum(sizes, _MANY_ANNOTATIONS), columns)

    def results(self) -> dict[str, float]:
        """Return ``precision_at_K``, without bias and so perhaps above 1, and ``ndcg_at_K``, for each cut-off."""
        (instances, annotated, true), gains = self._sums[:, :3].T, self._sums[:, 3:]
        n, c = instances.sum(), float(divide(annotated.sum(), true.sum())) or 1.0
        sizes = _true_sizes(instances, min(c, 1.0))
        discounts = gains_up_to(sizes.shape[1])[1]
        results = {f"precision_at_{k}": gains[:, i].sum() / k / n for i, k in enumerate(self.ks)}
        for i, k in enumerate(self.ks, len(self.ks)):
            divisors = discounts[np.minimum(np.arange(1, sizes.shape[1]), k)]
            results[f"ndcg_at_{k}"] = (sizes[:, 1:] @ (1 / divisors)) @ gains[:, i] / n
        return {name: float(value) for name, value in results.items()}


def _true_sizes(instances: np.ndarray, c: float) -> np.ndarray:
    """Return the probability of each number of true labels; the last is "or more".

    `instances`: shape (a,): how many have 0, 1, ... annotations.
    """
    from scipy.stats import binom  # which takes long to import

    most = len(instances) - 1
    true = np.arange(min(int(2 * most / c), _MANY_LABELS) + 1)
    likelihood = binom.pmf(np.arange(most + 1)[:, None], true, c)
    likelihood[-1] = binom.sf(most - 1, true, c)
    prior = np.full(len(true), 1 / len(true))
    for _ in range(_STEPS_OF_EM):
        joint = likelihood * prior
        posterior = divide(joint, joint.sum(axis=1, keepdims=True))
        prior = instances @ posterior / instances.sum()
    return posterior
