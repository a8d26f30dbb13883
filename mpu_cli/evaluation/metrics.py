"""Metrics of predicted label sets, of label rankings and of scores as probabilities, summed chunk by chunk.

The definitions are those of scikit-learn with ``zero_division=0``. Macro averages and the Hamming loss are over the
labels that occur in a true or a predicted set. Memory grows with the number of distinct labels, not with the number of
instances or with the largest label.

*Rankings.* A score list may contain only the largest scores. Unlisted labels rank below all listed ones: they tie for
the last place and never count as retrieved. q is the number of labels that occur in a true set or a score
list. It is available only at the end, so sums that depend on q are kept separately.

Ties are treated as in scikit-learn. In label ranking average precision and coverage error, all labels of a tied group
have the worst rank of the group. P@k, nDCG@k, recall@k and one-error are averaged over the orders of the group. In
coverage@k, a label is retrieved only if it is among the first k in every order.

Instances without true labels count as in scikit-learn: 1 in label ranking average precision, 0 in coverage error, 0 in
nDCG@k and recall@k. They count 0 in P@k and 1 in one-error, since their top label is never a true one.

*Incomplete truth.* A label that is both predicted and true is annotated with probability c, whatever the features
("selected completely at random"; Elkan and Noto, KDD 2008). So dividing by c, which may differ from cell to cell,
estimates the counts on complete labels: an annotation represents 1 / c true ones, which may be its entry in the truth.
docs/method.md, "Thresholds", has the formulas, and which of these estimates are unbiased. A precision above 1, by
chance or because c is too small, is clipped to 1; F1 is the harmonic mean of recall and the clipped precision.

*Propensity-scored metrics.* A retrieved true label gains 1 / propensity instead of 1, so rare labels count more
(docs/guide/researcher.md, "What a propensity is, and what it is not"). The sum over all instances is divided by the
largest sum that any ranking can reach: by ranking the true labels in descending order of gain. Both follow the Extreme
Classification Repository, where PSnDCG@k first divides the gain of each instance by the sum of the discounts of the
first min(k, true labels) ranks. Instances without true labels cannot gain anything, so they do not count.

*Calibration.* Of the labels predicted with probability p, a share of p should be true. Labels with a score are counted
in bins of the score.

References
----------
Jain, Prabhu, Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking and Other Missing Label
Applications", KDD 2016, Sections 4 and 6.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from mpu_cli.core.features import distinct, entry_rows, with_values
from mpu_cli.core.frequency.estimators import Z_90, wilson
from mpu_cli.core.predictions import f1_score, values_at
from mpu_cli.errors import DataError, InputError, MpuError
from mpu_cli.runtime.options import PROPENSITY_A, PROPENSITY_B

LABEL_BITS = 31  # labels are below 2**31
_BINS = 10
_NEAREST_0 = np.finfo(np.float32).eps  # scores that are 0 or 1 count as this far from it in the log loss
FEWEST_INSTANCES = 3  # with fewer, C is negative and a propensity would exceed 1


def divide(numerator: ArrayLike, denominator: ArrayLike) -> np.ndarray:
    """Divide elementwise in float64. The result is 0 if the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator != 0)


class Quality(NamedTuple):
    """Values from 0 to 1, float64, one per element of the counts; 0 if the denominator is 0."""

    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


SET_METRICS = tuple(f"{average}_{name}" for average in ("micro", "macro") for name in Quality._fields)
GAINS = ("precision", "ndcg")  # at each cut-off


def precision_recall_f1(
    hits: np.ndarray, predicted: np.ndarray, annotated: np.ndarray, c: float | np.ndarray = 1.0
) -> Quality:
    """Return precision, clipped to 1, recall and F1: on incomplete labels, estimates of those on complete ones.

    `hits`, `predicted`, `annotated`: numbers of labels: both predicted and annotated; predicted; annotated.
    `c`: label frequency, in (0, 1]; 1 if labels are complete, or each annotation was counted as 1 / c true labels.

    Examples
    --------
    100 labels are predicted, and 40 of the 50 annotated ones are among them. Half of the true labels are annotated.

    >>> estimate = precision_recall_f1(hits=40, predicted=100, annotated=50, c=0.5)
    >>> print(f"{estimate.precision:.2f} {estimate.recall:.2f} {estimate.f1:.2f}")
    0.80 0.80 0.80
    """
    predicted = np.maximum(np.multiply(predicted, c), hits)
    f1 = np.asarray(f1_score(np.asarray(hits), predicted, annotated))
    return Quality(divide(hits, predicted), divide(hits, annotated), f1)


def entries_in(matrix: csr_array, other: csr_array) -> np.ndarray:
    """Return a mask of the stored entries of `matrix` that are also stored in `other`.

    `matrix`, `other`: csr_array, shapes (n, Q) and (n, R): only the positions of entries matter. Q and R may differ
    and be up to 2**31.
    """
    keys, other_keys = (entry_rows(m) << LABEL_BITS | m.indices for m in (matrix, other))
    return np.isin(keys, other_keys, assume_unique=True)


class LabelSetMetrics:
    """Counts of true and predicted labels, for the metrics of label sets.

    `kept`: the chunks of true and predicted label sets, if they are to be kept.
    `labels`: int64, shape (q,): labels that have occurred in a true or a predicted set, ascending.
    `true_positives`, `predicted`, `support`: int64, shape (q,): numbers of instances for which the label is both
    predicted and true; predicted; true.
    """

    def __init__(self, keep: bool = False) -> None:
        self.keep, self.kept = keep, list[tuple[csr_array, csr_array]]()
        self.instances = self._exact = 0
        self.labels = self.true_positives = self.predicted = self.support = np.empty(0, np.int64)
        self._of_instances = np.zeros(3)  # sums of precision, recall, F1

    def add(self, truth: csr_array, predicted: csr_array) -> None:
        """Add a chunk of label sets: csr_array of bool, shapes (n, Q) and (n, R); stored entries are in the set."""
        hit = entries_in(predicted, truth)
        occurring = predicted.indices[hit], predicted.indices, truth.indices
        labels = distinct(self.labels, *occurring)
        counts = np.array([np.bincount(np.searchsorted(labels, of), minlength=len(labels)) for of in occurring])
        counts[:, np.searchsorted(labels, self.labels)] += [self.true_positives, self.predicted, self.support]
        self.labels, (self.true_positives, self.predicted, self.support) = labels, counts

        if self.keep:
            self.kept.append((truth, predicted))
        n = truth.shape[0]
        true_positives = np.bincount(entry_rows(predicted)[hit], minlength=n)
        sizes, true_sizes = np.diff(predicted.indptr), np.diff(truth.indptr)
        self._of_instances += [x.sum() for x in precision_recall_f1(true_positives, sizes, true_sizes)]
        self._exact += int(np.count_nonzero((true_positives == sizes) & (true_positives == true_sizes)))
        self.instances += n

    def results(self) -> dict[str, float]:
        """Return ``{micro,macro,samples}_{precision,recall,f1}``, ``hamming_loss`` and ``subset_accuracy``.

        ``samples`` is the average over instances.
        """
        results = averages(self.true_positives, self.predicted, self.support)
        of_instances = divide(self._of_instances, self.instances)
        results |= zip((f"samples_{name}" for name in Quality._fields), of_instances, strict=True)
        wrong = self.predicted.sum() + self.support.sum() - 2 * self.true_positives.sum()
        results["hamming_loss"] = divide(wrong, self.instances * len(self.labels))
        results["subset_accuracy"] = divide(self._exact, self.instances)
        return {name: float(value) for name, value in results.items()}


def averages(
    hits: np.ndarray, predicted: np.ndarray, true: np.ndarray, in_macro: slice = slice(None)
) -> dict[str, np.ndarray]:
    """Return `SET_METRICS` from counts, shape (..., q): both true and predicted; predicted; true.

    On incomplete labels, macro-precision may exceed 1: only the mean may be clipped, as clipped labels make it too low.
    `in_macro`: the labels that macro averages are over.
    """
    micro = precision_recall_f1(*(part.sum(axis=-1) for part in (hits, predicted, true)))
    hits, predicted, true = (part[..., in_macro] for part in (hits, predicted, true))
    of_labels = precision_recall_f1(hits, predicted, true)._replace(precision=divide(hits, predicted))
    macro = (divide(value.sum(axis=-1), value.shape[-1]) for value in of_labels)
    return dict(zip(SET_METRICS, (*micro, *macro), strict=True))


def corrected_metrics(
    hits: np.ndarray, predicted: np.ndarray, annotated: np.ndarray, c: float | np.ndarray = 1.0
) -> dict[str, float | bool | int]:
    """Estimate metrics on complete labels from counts, shape (q,), for labels that are annotated or predicted.

    The arguments are those of `precision_recall_f1`.
    Returns: `SET_METRICS`; ``clipped``: whether micro-averaged precision exceeded 1 and was clipped, a sign that c is
    too small; ``clipped_labels``: for how many labels precision exceeds 1.
    """
    hits, true = hits / c, annotated / c
    return {name: min(float(value), 1.0) for name, value in averages(hits, predicted, true).items()} | {
        "clipped": bool(divide(hits.sum(), predicted.sum()) > 1),
        "clipped_labels": int(np.count_nonzero(divide(hits, predicted) > 1)),
    }


class RankedHits(NamedTuple):
    """The true labels in score lists, one element per label, and the ranks of their tied groups.

    Ranks start at 1 within an instance. Without a tie, ``first == last``.
    """

    rows: np.ndarray
    labels: np.ndarray
    first: np.ndarray  # best rank in the tied group
    last: np.ndarray  # worst rank in the tied group
    true_above: np.ndarray  # true labels with the same or a higher score, including the label itself


def ranked_hits(truth: csr_array, scores: csr_array) -> RankedHits:
    """Rank the listed labels of each instance by descending score, and return the true ones.

    `truth`: csr_array, shape (n, Q): true label sets.
    `scores`: csr_array, shape (n, R): scores of the listed labels. A stored zero counts as listed.
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
        labels=scores.indices[order][is_true],
        first=starts[group] - row_starts + 1,
        last=ends[group] - row_starts,
        true_above=true_before[ends[group]] - true_before[row_starts],
    )


def gains_at(hits: RankedHits, truth: csr_array, ks: tuple[int, ...], weights: csr_array | None = None) -> np.ndarray:
    """Return the gains of n instances at each of K cut-offs: those of precision, without division by k, and of nDCG.

    A hit's gain is averaged over the orders of its tied group; ranks beyond the cut-off gain nothing.

    `weights`: the weights of the true labels, default 1; nDCG is divided by the largest DCG with weights of 1.
    Returns: float64, shape (2, K, n).
    """
    n, sizes = truth.shape[0], np.diff(truth.indptr)
    longest = int(max(hits.last.max(initial=0), sizes.max(initial=0)))
    ranks = np.arange(longest + 1)
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(ranks[1:] + 1))])  # sums of those of ranks 1 to r
    weight = 1 if weights is None else values_at(weights, hits.rows, hits.labels)
    gains = np.empty((2, len(ks), n))
    for i, reach in enumerate(min(k, longest) for k in ks):
        for of_kind, up_to in zip(gains, (ranks, discounts), strict=True):
            tied = up_to[np.minimum(hits.last, reach)] - up_to[np.minimum(hits.first - 1, reach)]
            of_kind[i] = np.bincount(hits.rows, weight * tied / (hits.last - hits.first + 1), minlength=n)
        gains[1, i] = divide(gains[1, i], discounts[np.minimum(sizes, reach)])
    return gains


def at_cutoffs(names: tuple[str, ...], ks: Iterable[int]) -> list[str]:
    """Return the names of metrics at each cut-off."""
    return [f"{name}_at_{k}" for name in names for k in ks]


class RankingMetrics:
    """Sums over instances, for the metrics of label rankings.

    `ks`: cut-offs of P@k, nDCG@k, recall@k and coverage@k.
    `keep`: whether to keep the gains of each instance.
    `labels`: int64, shape (q,): labels that have occurred in a true set or a score list, ascending.
    """

    def __init__(self, ks: tuple[int, ...] = (1, 3, 5), keep: bool = False) -> None:
        self.ks, self.instances, self.keep, self._kept = ks, 0, keep, list[np.ndarray]()
        self.labels = self._true_labels = np.empty(0, np.int64)  # the latter: in a true set
        self._retrieved = [self._true_labels] * len(ks)  # those retrieved at least once
        self._at_k = np.zeros((3, len(ks)))  # precision, nDCG, recall
        # Average precision without unlisted true labels, which contribute 1 / q; coverage of the instances without such
        # labels, as that of the others is q; number of true top labels; number of these labels, and of these instances.
        self._sums = np.zeros(5)
        self._by_propensity = np.zeros((2, 2, len(ks)))  # gained and attainable; for precision and for nDCG
        self._complete = np.zeros(len(ks))  # precision on complete labels

    def add(self, truth: csr_array, scores: csr_array, by_propensity: csr_array | None = None) -> None:
        """Add a chunk: label sets (csr_array, n x Q), and scores of the listed labels (n x R), as stored.

        If the truth is incomplete, its entries are the number of true labels that each annotation represents.

        `by_propensity`: the same label sets, with entries of 1 / propensity.
        """
        n, sizes = truth.shape[0], np.diff(truth.indptr)
        hits = ranked_hits(truth, scores)
        gains = gains_at(hits, truth, self.ks)
        at_k = np.array([*gains, divide(gains[0], sizes)]).sum(axis=2)
        at_k[0] /= self.ks
        self._at_k += at_k
        if self.keep:
            self._kept.append(gains)

        if by_propensity is not None:
            rankings = hits, ranked_hits(truth, by_propensity)
            self._by_propensity += [gains_at(of, truth, self.ks, by_propensity).sum(axis=2) for of in rankings]
        if truth.dtype != bool:
            self._complete += gains_at(hits, truth, self.ks, truth)[0].sum(axis=1)

        unlisted = sizes - np.bincount(hits.rows, minlength=n)
        # An unlisted true label is at rank q with all true labels at or above it: its precision is |true| / q.
        precision = np.bincount(hits.rows, hits.true_above / hits.last, minlength=n)
        coverage = np.zeros(n)
        np.maximum.at(coverage, hits.rows, hits.last)
        self._sums += [
            divide(precision, sizes).sum() + np.count_nonzero(sizes == 0),
            coverage[unlisted == 0].sum(),
            ((hits.first == 1) / (hits.last - hits.first + 1)).sum(),
            unlisted.sum(),
            np.count_nonzero(unlisted),
        ]
        self._true_labels = distinct(self._true_labels, truth.indices)
        self._retrieved = [
            distinct(labels, hits.labels[hits.last <= k]) for labels, k in zip(self._retrieved, self.ks, strict=True)
        ]
        self.labels = distinct(self.labels, truth.indices, scores.indices)
        self.instances += n

    def results(self) -> dict[str, float]:
        """Return the metrics of all instances so far.

        ``precision_at_K``, ``ndcg_at_K``, ``recall_at_K`` and ``coverage_at_K`` for each cut-off,
        ``label_ranking_average_precision``, ``coverage_error`` (a number of labels) and ``one_error``.
        ``coverage_at_K`` is the share of the labels with true instances that are retrieved among the first K for at
        least one of them.
        """
        q, occurring = len(self.labels), len(self._true_labels)
        average_precision, coverage, top_is_true, unlisted, incomplete = self._sums
        sums: dict[str, ArrayLike] = {
            **dict(zip(at_cutoffs((*GAINS, "recall"), self.ks), self._at_k.ravel(), strict=True)),
            "label_ranking_average_precision": average_precision + divide(unlisted, q),
            "coverage_error": coverage + incomplete * q,
            "one_error": self.instances - top_is_true,
        }
        averages = {name: float(divide(total, self.instances)) for name, total in sums.items()}
        covered = (float(divide(len(labels), occurring)) for labels in self._retrieved)
        return averages | dict(zip(at_cutoffs(("coverage",), self.ks), covered, strict=True))

    def propensity_scored(self) -> dict[str, float]:
        """Return ``psp_at_K`` and ``psndcg_at_K`` for each cut-off; 0 if there is no true label."""
        values = divide(*self._by_propensity).ravel().tolist()
        return dict(zip(at_cutoffs(("psp", "psndcg"), self.ks), values, strict=True))

    def corrected(self) -> dict[str, float]:
        """Return ``precision_at_K`` on complete labels for each cut-off: unbiased but for a limit of 1."""
        gained = divide(self._complete, self.instances)
        return {f"precision_at_{k}": min(float(gain) / k, 1.0) for k, gain in zip(self.ks, gained, strict=True)}

    def gains(self) -> dict[str, np.ndarray]:
        """Return the precision and nDCG at each cut-off of each instance: float64, shape (n,), by `GAINS`."""
        retrieved, discounted = np.concatenate(self._kept, axis=2)
        gains = *(retrieved / np.array(self.ks)[:, None]), *discounted
        return dict(zip(at_cutoffs(GAINS, self.ks), gains, strict=True))


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
        values = np.ones(len(true))
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


class Reliability:
    """Counts of scores and true labels in bins of equal width, accumulated chunk by chunk.

    `cells`, `true`: int, shape (10,): number of scores in each bin, and number of those whose label is annotated.

    >>> reliability = Reliability()
    >>> reliability.add(csr_array(np.array([[1, 0, 1]], bool)), csr_array(np.array([[0.92, 0.2, 0.95]], np.float32)))
    >>> [(row["scores"], row["true"]) for row in reliability.rows() if row["scores"]]
    [(1, 0.0), (2, 1.0)]
    """

    def __init__(self) -> None:
        self.cells, self.true = np.zeros((2, _BINS), np.int64)
        # The sums of the scores, and of the true labels, in each bin; those for the Brier score and the log loss.
        self.total, self._losses = np.zeros((2, _BINS)), np.zeros(2)

    def add(self, truth: csr_array, scores: csr_array) -> None:
        """Add the counts of a chunk.

        `truth`: csr_array, shape (n, Q): label sets, whose entries are how many true labels each annotation represents.
        `scores`: csr_array, shape (n, R): scores of the listed labels; a stored zero counts as listed. Unlisted labels
        are not counted.
        Raises MpuError (a score is not a probability).
        """
        p = scores.data.astype(float)
        if len(p) and not (p.min() >= 0 and p.max() <= 1):
            wrong = p[(p < 0) | (p > 1)][0]
            raise MpuError(f"the score {wrong:g} is not a probability; calibration needs scores from 0 to 1")
        number = np.searchsorted(np.arange(1, _BINS, dtype=np.float32) / _BINS, scores.data, side="right")
        self.cells += np.bincount(number, minlength=_BINS)
        hit = entries_in(scores, truth)
        self.true += np.bincount(number[hit], minlength=_BINS)
        weights = values_at(truth, entry_rows(scores)[hit], scores.indices[hit])
        self.total += [np.bincount(number, p, minlength=_BINS), np.bincount(number[hit], weights, minlength=_BINS)]
        true = np.zeros(len(p))
        true[hit] = weights
        inner = np.clip(p, _NEAREST_0, 1 - _NEAREST_0)
        losses = true * (1 - p) ** 2 + (1 - true) * p**2, -true * np.log(inner) - (1 - true) * np.log1p(-inner)
        self._losses += [loss.sum() for loss in losses]

    def rows(self) -> list[dict[str, Any]]:
        """Report each bin.

        Returns: ``from``, ``to``, ``scores`` (their number), ``mean`` (of the scores), ``true`` (the true
        share) and its 90 % interval by chance, ``low`` to ``high``. Shares may exceed 1 if c is too small. Those of
        a bin without scores are NaN.
        """
        expected, true = self.total
        low, high = wilson(self.true, np.maximum(self.cells, 1), Z_90)  # annotated
        stands = np.where(self.true, divide(true, self.true), 1)  # how many labels an annotation in the bin represents
        ends = np.maximum(low, 0) * stands, high * stands
        shares = np.where(self.cells, [divide(expected, self.cells), divide(true, self.cells), *ends], np.nan)
        edges = [b / _BINS for b in range(_BINS + 1)]
        columns = edges[:-1], edges[1:], *(column.tolist() for column in (self.cells, *shares))
        names = "from", "to", "scores", "mean", "true", "low", "high"
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def summary(self) -> dict[str, float]:
        """Summarise all bins.

        Returns: ``expected``: the sum of scores; ``true``: the number of scored labels that are true; ``error``: the
        sum over bins of the difference of these two, by the number of true labels; ``ece``: the same by the number of
        scores (expected calibration error, Naeini et al., AAAI 2015); ``brier`` and ``log_loss``: means over scores.
        """
        (expected, true), cells = self.total, self.cells.sum()
        difference = np.abs(expected - true).sum()
        brier, log_loss = divide(self._losses, cells)
        summary = {"expected": expected.sum(), "true": true.sum(), "error": divide(difference, true.sum())}
        summary |= {"brier": brier, "log_loss": log_loss, "ece": divide(difference, cells)}
        return {name: float(value) for name, value in summary.items()}
