"""Predictions (`bundle.predicting`) compared with true labels, and with other predictions of the same instances.

Intervals of metrics, and of their differences between predictions, are by the bootstrap: instances are resampled with
their label sets. All predictions are evaluated on the same samples: the difference between two of them varies far less
than each of them, since the same instances are easy or hard for both. The labels that macro averages are over:
docs/guide/researcher.md, "Is one model better than another?".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows, only_entries
from mpu_cli.core.frequency.estimators import Z_90, Z_95
from mpu_cli.core.predictions import over
from mpu_cli.errors import InputError, MpuError, shown
from mpu_cli.evaluation.metrics import (
    LabelSetMetrics,
    Propensities,
    PropensityScoredMetrics,
    Quality,
    RankingMetrics,
    Reliability,
    divide,
    entries_in,
    gains_at,
    of_labels,
    precision_recall_f1,
    ranked_hits,
)
from mpu_cli.svmlight.reader import Dataset, GrowingCsr

# The threshold for scores that come without label lists and thresholds.
THRESHOLD = 0.5


@dataclass
class Form:
    """The form of predictions: label lists, scores or both, as far as they have been read."""

    name: str  # the predictions, as the user named them
    # Labels with at least this score count as predicted, even if there are label lists. None: use the label lists, or
    # the thresholds in the file of scores; without either, `THRESHOLD`
    threshold: float | None = None
    # `labels`, `scores`: whether any label list, or score list, is not empty
    labels: bool = False
    scores: bool = False
    _unscored: bool = False

    def see(self, predicted: Dataset) -> csr_array | None:
        """Update the form with a chunk; InputError if there are scores, and labels without a score.

        Returns: the labels that reach the threshold: csr_array of bool, shape (n, Q); None if only label lists count.
        """
        self.labels |= predicted.labels.nnz > 0
        self.scores |= predicted.features.nnz > 0
        self._unscored |= bool(predicted.labels.nnz and not entries_in(predicted.labels, predicted.features).all())
        if self.scores and self._unscored:
            problem = "has labels and index:value pairs, as data have: give the data first and the predictions second"
            raise InputError(self.name, f"{problem}; to compare labels of data, keep these: cut -d' ' -f1")
        if self.labels and (self.threshold is None or not self.scores):
            return None
        return labels_from_scores(predicted.features, self.threshold)

    @property
    def cut(self) -> float | None:
        """The threshold of the labels that count as predicted; None if label lists count."""
        default = None if self.labels else THRESHOLD
        return (default if self.threshold is None else self.threshold) if self.scores else None

    @property
    def ranks(self) -> bool:
        """Whether labels can be ranked: there are scores, or no label lists."""
        return self.scores or not self.labels


class Comparison:
    """A comparison of predictions with true labels, accumulated chunk by chunk.

    `propensities`: propensities of the true labels, for the metrics that weigh them.
    `calibration`: whether to compare scores with probabilities.
    `c`: label frequencies of the truth, if it is incomplete.
    """

    def __init__(
        self,
        form: Form,
        ks: tuple[int, ...] = (1, 3, 5),
        propensities: Propensities | None = None,
        calibration: bool = False,
        c: Propensities | None = None,
    ) -> None:
        self.form = form
        # Counts for the label lists, and for the labels whose scores reach the threshold.
        self._listed, self._cut = LabelSetMetrics(), LabelSetMetrics()
        # Sums for ranking metrics, for metrics that weight labels, for metrics on complete labels, and for the
        # agreement of scores with probabilities; None if there are only label lists.
        self.ranking: RankingMetrics | None = RankingMetrics(ks)
        self.propensity_scored = None if propensities is None else PropensityScoredMetrics(ks)
        self.corrected = None if c is None else PropensityScoredMetrics(ks)
        self.reliability = Reliability() if calibration else None
        self._of_scores = (
            (self.ranking, None),
            (self.propensity_scored, propensities),
            (self.reliability, c),
            (self.corrected, c),
        )

    def add(self, true: Dataset, predicted: Dataset) -> None:
        """Add a chunk of instances."""
        cut = self.form.see(predicted)
        self._listed.add(true.labels, predicted.labels)
        if cut is not None:
            self._cut.add(true.labels, cut)
        if not self.form.ranks:
            self.ranking = self.propensity_scored = self.corrected = self.reliability = None
            return
        for metrics, weights in self._of_scores:
            if metrics is not None:
                metrics.add(true.labels if weights is None else weights.weighted(true.labels), predicted.features)

    @property
    def label_sets(self) -> LabelSetMetrics:
        """Counts for the metrics of label sets."""
        return self._listed if self.form.cut is None else self._cut

    def results(self) -> dict[str, float]:
        """Return all metrics by name."""
        parts = (self.label_sets, self.ranking, self.propensity_scored)
        return {name: value for part in parts if part is not None for name, value in part.results().items()}


def lockstep(truth: Iterable[Dataset], predictions: Iterable[Dataset], name: str) -> Iterator[tuple[Dataset, Dataset]]:
    """Cut two streams of chunks, of any length, into pairs of equal length with the same instances.

    MpuError if one has more instances than the other; the message has both numbers, and the name of the predictions.
    """
    truth, predictions = iter(truth), iter(predictions)
    left, right = next(truth, None), next(predictions, None)
    i = j = paired = 0  # in left, in right, overall: copying the rest of a chunk each time would take long
    while left is not None and right is not None:
        n = min(len(left) - i, len(right) - j)
        yield left[i : i + n], right[j : j + n]
        i, j, paired = i + n, j + n, paired + n
        if i == len(left):
            left, i = next(truth, None), 0
        if j == len(right):
            right, j = next(predictions, None), 0
    if left is not None or right is not None:
        totals = [
            paired + (0 if chunk is None else len(chunk) - start + sum(map(len, later)))
            for chunk, start, later in ((left, i, truth), (right, j, predictions))
        ]
        raise MpuError(
            f"TRUTH has {totals[0]} instances and {shown(name)} has {totals[1]}; they must match line by line "
            "(an instance without predicted labels is an empty line)"
        )


def labels_from_scores(scores: csr_array, threshold: float | None = None) -> csr_array:
    """Return the labels with a score of at least `threshold` (None: `THRESHOLD`): csr_array of bool, shape (n, Q).

    The threshold is rounded to float32, like scores, so that an equal score reaches it.
    """
    return over(scores, np.float32(THRESHOLD if threshold is None else threshold))


def metric_names(ks: Sequence[int]) -> list[str]:
    """Names of all metrics, in the order of the report."""
    every = LabelSetMetrics(), RankingMetrics(tuple(ks)), PropensityScoredMetrics(tuple(ks))
    return [name for metrics in every for name in metrics.results()]


_REPLICATES = 1000
_DRAWN = 1 << 22  # numbers in memory at a time, of a few samples
SET_METRICS = tuple(f"{average}_{name}" for average in ("micro", "macro") for name in Quality._fields)
SAMPLES_F1 = "samples_f1"


def ranking_names(ks: Sequence[int]) -> list[str]:
    """Return the names of the metrics that need scores."""
    return [f"{name}_at_{k}" for name in ("precision", "ndcg") for k in ks]


@dataclass(frozen=True)
class Counts:
    """Label sets and gains of n instances, for the q labels that are true at least once."""

    # `truth`, `predicted`, `hits`: float64, shape (n, q + 1): 1 if a label is true, predicted, or both; the last column
    # counts the labels that are not among the q. If the truth is incomplete, `truth` and `hits` contain
    # 1 / c instead of 1.
    truth: csr_array
    predicted: csr_array
    hits: csr_array
    gains: dict[str, np.ndarray]  # float64, shape (n,): precision and nDCG at each cut-off; none without scores

    @classmethod
    def of(
        cls,
        chunks: Sequence[tuple[csr_array, csr_array]],
        gains: Sequence[dict[str, np.ndarray]] = (),
        labels: np.ndarray | None = None,
    ) -> "Counts":
        """Return the counts of chunks of true and predicted label sets, for these labels, ascending.

        If the truth is incomplete, its entries are the number of true labels that each annotation represents, 1 / c.

        `gains`: for each chunk, from `ranking_gains`; none without scores.
        `labels`: default: all labels that are true for an instance.
        """
        if labels is None:
            labels = np.unique(np.concatenate([truth.indices for truth, _ in chunks]))
        hits = [only_entries(truth, entries_in(truth, predicted) & (truth.data != 0)) for truth, predicted in chunks]
        truth, predicted = (_placed([pair[i] for pair in chunks], labels) for i in range(2))
        names = gains[0] if gains else ()
        of_all = {name: np.concatenate([of_chunk[name] for of_chunk in gains]) for name in names}
        return cls(truth, predicted, _placed(hits, labels), of_all)

    def metrics(self, weights: np.ndarray, incomplete: bool = False) -> dict[str, np.ndarray]:
        """Return the metrics of b samples of the instances, by name, each of shape (b,).

        Weights (b x n) are the multiplicity of each instance, n in total. If the truth is incomplete, only precision,
        recall and F1 are estimated, for complete labels; macro-precision may exceed 1.
        """
        counted = [(counts.T @ weights.T).T for counts in (self.hits, self.predicted, self.truth)]
        micro = precision_recall_f1(*(part.sum(axis=1) for part in counted))
        macro = [divide(value.sum(axis=1), value.shape[1]) for value in of_labels(*(part[:, :-1] for part in counted))]
        values = dict(zip(SET_METRICS, (*micro, *macro), strict=True))
        if not incomplete:
            of_instances = {SAMPLES_F1: self._of_instances} | self.gains
            values |= {name: weights @ value / weights.sum(axis=1) for name, value in of_instances.items()}
        return values

    @cached_property
    def _of_instances(self) -> np.ndarray:
        return precision_recall_f1(*(part.sum(axis=1) for part in (self.hits, self.predicted, self.truth)))[2]


@dataclass(frozen=True)
class Difference:
    """The difference of a metric between two predictions, with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether the interval does not contain 0."""
        return self.low > 0 or self.high < 0


def compare(
    every: Sequence[Counts], incomplete: bool = False, seed: int = 0
) -> tuple[list[dict[str, float]], list[dict[str, Difference]]]:
    """Compare predictions of the same instances.

    `incomplete`: as for `Counts.metrics`.
    Returns: `metrics`: the metrics of each; `differences`: for each but the first: its metrics minus the first's, if
    both have them. Intervals extend 1.96 standard errors to both sides, by 1,000 bootstrap samples of the instances
    (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993). Percentiles would be biased: samples lack some of
    the rare labels, so their macro averages are not centred on the macro average of all instances.
    """
    ones = np.ones((1, every[0].truth.shape[0]))
    metrics = [
        {name: min(float(value[0]), 1.0) for name, value in one.metrics(ones, incomplete).items()} for one in every
    ]
    differences = []
    for own, deviations in zip(metrics[1:], _deviations(every, incomplete, seed)[1:], strict=True):
        found = {name: (own[name] - metrics[0][name], Z_95 * deviations[name]) for name in own if name in deviations}
        differences.append({name: Difference(d, max(d - m, -1.0), min(d + m, 1.0)) for name, (d, m) in found.items()})
    return metrics, differences


def intervals(counts: Counts, incomplete: bool = False, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Estimate 90 % intervals of metrics in a population with complete labels, from a sample of its instances.

    The metrics are `SET_METRICS`, with standard errors from bootstrap samples, as in `compare`. The intervals cover the
    choice of instances and, if the truth is `incomplete`, of their annotated labels; they do not cover an error in c.

    >>> labels = csr_array(np.ones((50, 1), bool))
    >>> intervals(Counts.of([(labels, labels)]))["micro_f1"]
    (1.0, 1.0)
    """
    estimates = counts.metrics(np.ones((1, counts.truth.shape[0])), incomplete)
    [deviations] = _deviations([counts], incomplete, seed)
    margins = {name: Z_90 * deviations[name] for name in SET_METRICS}
    ends = {name: np.clip(estimates[name] + [-margins[name], margins[name]], 0, 1) for name in SET_METRICS}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


def _deviations(every: Sequence[Counts], incomplete: bool, seed: int) -> list[dict[str, float]]:
    """Return standard deviations over samples: of the first's metrics, and of the differences of others from it."""
    n, width = every[0].truth.shape[0], max(max(one.truth.shape) for one in every)
    rng, at_once = np.random.default_rng(seed), max(1, _DRAWN // width)
    drawn = []
    for start in range(0, _REPLICATES, at_once):
        b = min(at_once, _REPLICATES - start)
        numbers = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        weights = np.bincount(numbers.ravel(), minlength=b * n).reshape(b, n).astype(float)
        first, *others = (one.metrics(weights, incomplete) for one in every)
        common = ({name: other[name] - first[name] for name in first.keys() & other.keys()} for other in others)
        drawn.append((first, *common))
    return [
        {name: float(np.std(np.concatenate([part[name] for part in parts]))) for name in parts[0]}
        for parts in zip(*drawn, strict=True)
    ]


def ranking_gains(truth: csr_array, scores: csr_array, ks: Sequence[int]) -> dict[str, np.ndarray]:
    """Return each instance's precision and nDCG at each cut-off, as `RankingMetrics` defines them: float64, by name."""
    (retrieved, discounted), most = gains_at(ranked_hits(truth, scores), truth, tuple(ks))
    gains = *(retrieved / np.array(ks)[:, None]), *divide(discounted, most)
    return dict(zip(ranking_names(ks), gains, strict=True))


def _placed(chunks: list[csr_array], labels: np.ndarray) -> csr_array:
    """Stack chunks, with a column for each of `labels` and a last one for all others."""
    stacked = GrowingCsr(float)
    for chunk in chunks:
        stacked.append(chunk)
    matrix = stacked.finish()
    columns = np.searchsorted(labels, matrix.indices)
    columns[np.append(labels, -1)[columns] != matrix.indices] = len(labels)
    return csr_array((matrix.data, (entry_rows(matrix), columns)), shape=(matrix.shape[0], len(labels) + 1))
