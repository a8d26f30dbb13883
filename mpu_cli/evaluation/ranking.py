"""Metrics of label rankings (scores) against true label sets, accumulated chunk by chunk.

A score list may be truncated to the largest scores. Labels that it does not list rank below all that it does: they
tie for the last place and never count as retrieved. The number of labels q is that of the labels which occur in the
true sets or the score lists; it is known only at the end, so sums are kept apart by whether q enters them.

Ties among listed scores are treated as scikit-learn treats them. Label ranking average precision and coverage error
give all of a tied group its worst rank; P@k, nDCG@k and one-error are averaged over the orders of the group.

Instances without true labels count as in scikit-learn: 1 in label ranking average precision, 0 in coverage error, 0
in nDCG@k. In the same spirit they count 0 in P@k and 1 in one-error: the top label is never a true one.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from mpu_cli.evaluation.metrics import divide, entries_in, entry_rows, merge_labels


class RankedHits(NamedTuple):
    """The true labels in score lists, one element each, and the ranks of the tied group each belongs to.

    Ranks count from 1 within the instance; a label whose score nobody shares has ``first == last``.
    """

    rows: np.ndarray
    first: np.ndarray  # best rank in the tied group
    last: np.ndarray  # worst rank in the tied group
    true_above: np.ndarray  # true labels that score as much or more, the label itself included


def ranked_hits(truth: csr_array, scores: csr_array) -> RankedHits:
    """Rank the listed labels of each instance by descending score and keep the true ones.

    Parameters
    ----------
    truth : csr_array, shape (n, Q)
        True label sets.
    scores : csr_array, shape (n, R)
        Scores of the listed labels; a stored zero is listed.
    """
    rows = entry_rows(scores)
    order = np.lexsort((-scores.data, rows))
    values = scores.data[order]
    is_true = entries_in(scores, truth)[order]

    opens_group = np.ones(len(values), bool)
    opens_group[1:] = (values[1:] != values[:-1]) | (rows[1:] != rows[:-1])
    starts = np.flatnonzero(opens_group)
    ends = np.append(starts[1:], len(values))
    true_before = np.concatenate([[0], np.cumsum(is_true)])

    group = np.cumsum(opens_group)[is_true] - 1
    rows = rows[is_true]
    row_starts = scores.indptr[rows]
    return RankedHits(
        rows=rows,
        first=starts[group] - row_starts + 1,
        last=ends[group] - row_starts,
        true_above=true_before[ends[group]] - true_before[row_starts],
    )


def tied_gain(hits: RankedHits, gain_up_to: np.ndarray, k: int) -> np.ndarray:
    """Gain of each hit at cut-off k, averaged over the orders of its tied group.

    Parameters
    ----------
    hits : RankedHits
        m true labels.
    gain_up_to : ndarray
        Gain of true labels at all of ranks 1 to r, for r = 0, 1, ... as far as the longest list.
    k : int
        Ranks beyond k gain nothing.

    Returns
    -------
    ndarray, shape (m,), float64
    """
    gain = gain_up_to[np.minimum(hits.last, k)] - gain_up_to[np.minimum(hits.first - 1, k)]
    return gain / (hits.last - hits.first + 1)


@dataclass
class RankingMetrics:
    """Sums over instances from which the metrics of label rankings are computed.

    Attributes
    ----------
    ks : tuple of int
        Cut-offs of P@k and nDCG@k.
    instances : int
        Number of instances so far.
    labels : ndarray, shape (q,), int64
        The labels that occurred in a true set or a score list, ascending.
    """

    ks: tuple[int, ...] = (1, 3, 5)
    instances: int = 0
    labels: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    _average_precision: float = 0.0  # without the part of unlisted true labels,
    _unlisted: int = 0  # which is this number of them over q
    _coverage: float = 0.0  # of instances whose true labels are all listed;
    _coverage_is_q: int = 0  # the other instances
    _top_is_true: float = 0.0

    def __post_init__(self) -> None:
        self._precision = np.zeros(len(self.ks))
        self._ndcg = np.zeros(len(self.ks))

    def add(self, truth: csr_array, scores: csr_array) -> None:
        """Rank a chunk.

        Parameters
        ----------
        truth : csr_array, shape (n, Q), bool
            Label sets: an entry is stored in column k where label k belongs to the set.
        scores : csr_array, shape (n, R)
            Scores of the listed labels, the larger the likelier; a stored zero is listed.
        """
        n = truth.shape[0]
        hits = ranked_hits(truth, scores)
        true_sizes = np.diff(truth.indptr)
        unlisted = true_sizes - np.bincount(hits.rows, minlength=n)

        # An unlisted true label is at rank q with all true labels at or above it: its precision is |true| / q.
        listed_precision = np.bincount(hits.rows, hits.true_above / hits.last, minlength=n)
        self._average_precision += divide(listed_precision, true_sizes).sum() + np.count_nonzero(true_sizes == 0)
        self._unlisted += unlisted.sum()

        coverage = np.zeros(n)
        np.maximum.at(coverage, hits.rows, hits.last)
        self._coverage += coverage[unlisted == 0].sum()
        self._coverage_is_q += int(np.count_nonzero(unlisted))

        longest = int(max(np.diff(scores.indptr).max(initial=0), true_sizes.max(initial=0)))
        retrieved = np.arange(longest + 1)  # as far as each rank
        discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(retrieved[1:] + 1))])
        self._top_is_true += tied_gain(hits, retrieved, k=1).sum()
        for i, k in enumerate(self.ks):
            reach = min(k, longest)
            self._precision[i] += tied_gain(hits, retrieved, reach).sum() / k
            gain = np.bincount(hits.rows, tied_gain(hits, discounts, reach), minlength=n)
            self._ndcg[i] += divide(gain, discounts[np.minimum(true_sizes, reach)]).sum()

        self.labels = merge_labels(self.labels, truth.indices, scores.indices)
        self.instances += n

    def results(self) -> dict[str, float]:
        """Metrics of everything ranked so far.

        Returns
        -------
        dict
            ``precision_at_K`` and ``ndcg_at_K`` for each cut-off, ``label_ranking_average_precision``,
            ``coverage_error`` (a number of labels) and ``one_error``.
        """
        q = len(self.labels)
        sums: dict[str, ArrayLike] = {
            **{f"precision_at_{k}": total for k, total in zip(self.ks, self._precision, strict=True)},
            **{f"ndcg_at_{k}": total for k, total in zip(self.ks, self._ndcg, strict=True)},
            "label_ranking_average_precision": self._average_precision + divide(self._unlisted, q),
            "coverage_error": self._coverage + self._coverage_is_q * q,
            "one_error": self.instances - self._top_is_true,
        }
        return {name: float(divide(total, self.instances)) for name, total in sums.items()}
