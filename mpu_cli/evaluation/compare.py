"""Predictions (`svmlight.prediction_files`) compared with true labels, and with predictions of the same instances.

Intervals of metrics, and of their differences between predictions, are by the bootstrap: instances are resampled with
their label sets. All predictions are evaluated on the same samples: the difference between two of them varies far less
than each of them, since the same instances are easy or hard for both. The labels that macro averages are over:
docs/guide/researcher.md, "Is one model better than another?".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows, only_entries
from mpu_cli.core.frequency.estimators import Z_90, Z_95
from mpu_cli.core.predictions import over
from mpu_cli.errors import InputError, MpuError, shown
from mpu_cli.evaluation.metrics import (
    SET_METRICS,
    LabelSetMetrics,
    Propensities,
    RankingMetrics,
    Reliability,
    averages,
    entries_in,
    precision_recall_f1,
)
from mpu_cli.svmlight.reader import Dataset, GrowingCsr

# The threshold for scores that come without label lists and thresholds.
THRESHOLD = 0.5


@dataclass
class Comparison:
    """A comparison of predictions with true labels, accumulated chunk by chunk."""

    name: str  # the predictions, as the user named them
    # Labels with at least this score count as predicted, even if there are label lists. None: use the label lists, or
    # the thresholds in the file of scores; without either, `THRESHOLD`
    threshold: float | None = None
    # `labels`, `scores`: whether any label list, or score list, is not empty
    labels: bool = False
    scores: bool = False
    ks: tuple[int, ...] = (1, 3, 5)
    propensities: Propensities | None = None  # of the true labels, for the metrics that weigh them
    calibration: bool = False  # whether to compare scores with probabilities
    c: Propensities | None = None  # label frequencies of the truth, if it is incomplete
    keep: bool = False  # whether to keep each instance, for `counts`
    _unscored: bool = False

    def __post_init__(self) -> None:
        # Counts for the label lists, and for the labels whose scores reach the threshold.
        self._listed, self._cut = LabelSetMetrics(self.keep), LabelSetMetrics(self.keep)
        self.ranking = RankingMetrics(self.ks, self.keep)
        self.reliability = Reliability()

    def add(self, true: Dataset, predicted: Dataset) -> None:
        """Add a chunk of instances; InputError if there are scores, and labels without a score."""
        self.labels |= predicted.labels.nnz > 0
        self.scores |= predicted.features.nnz > 0
        self._unscored |= bool(predicted.labels.nnz and not entries_in(predicted.labels, predicted.features).all())
        if self.scores and self._unscored:
            problem = "has labels and index:value pairs, as data have: give the data first and the predictions second"
            raise InputError(self.name, f"{problem}; to compare labels of data, keep these: cut -d' ' -f1")
        truth, scores = true.labels if self.c is None else self.c.weighted(true.labels), predicted.features
        self._listed.add(truth, predicted.labels)
        if not self.labels or self.cut is not None:
            self._cut.add(truth, labels_from_scores(scores, self.threshold))
        if self.ranks:
            weights = self.propensities
            self.ranking.add(truth, scores, None if weights is None else weights.weighted(true.labels))
            if self.calibration:
                self.reliability.add(truth, scores)

    @property
    def cut(self) -> float | None:
        """The threshold of the labels that count as predicted; None if label lists count."""
        default = None if self.labels else THRESHOLD
        return (default if self.threshold is None else self.threshold) if self.scores else None

    @property
    def ranks(self) -> bool:
        """Whether labels can be ranked: there are scores, or no label lists."""
        return self.scores or not self.labels

    @property
    def label_sets(self) -> LabelSetMetrics:
        """Counts for the metrics of label sets."""
        return self._listed if self.cut is None else self._cut

    @property
    def counts(self) -> "Counts":
        """What is kept of each instance."""
        gains = self.ranking.gains() if self.ranks and self.c is None else {}
        return Counts(self.label_sets.kept, gains, incomplete=self.c is not None)

    def results(self) -> dict[str, float]:
        """Return all metrics by name."""
        results = self.label_sets.results()
        if self.ranks:
            results |= self.ranking.results()
            results |= {} if self.propensities is None else self.ranking.propensity_scored()
        return results


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
    ranking = RankingMetrics(tuple(ks))
    return [*LabelSetMetrics().results(), *ranking.results(), *ranking.propensity_scored()]


_REPLICATES = 1000
_DRAWN = 1 << 22  # numbers in memory at a time, of a few samples
SAMPLES_F1 = "samples_f1"


class Counts:
    """Label sets and gains of n instances, for the q labels that are true at least once, or for given ones.

    `truth`, `predicted`, `hits`: float64, shape (n, q + 1): 1 if a label is true, predicted, or both; the last column
    counts the labels that are not among the q. If the truth is incomplete, `truth` and `hits` contain the number of
    true labels that each annotation represents, 1 / c, instead of 1.
    `of_instances`: float64, shape (n,): metrics of each instance, by name: the samples-F1, and gains.
    """

    def __init__(
        self,
        chunks: Sequence[tuple[csr_array, csr_array]],
        gains: dict[str, np.ndarray] | None = None,
        labels: np.ndarray | None = None,
        incomplete: bool = False,
    ) -> None:
        """Count in chunks of true and predicted label sets. `gains`: as `RankingMetrics.gains` returns them."""
        if labels is None:
            labels = np.unique(np.concatenate([truth.indices for truth, _ in chunks]))
        hits = [only_entries(truth, entries_in(truth, predicted)) for truth, predicted in chunks]
        every = *zip(*chunks, strict=True), hits
        self.truth, self.predicted, self.hits = (_placed(of_kind, labels) for of_kind in every)
        sizes = (part.sum(axis=1) for part in (self.hits, self.predicted, self.truth))
        self.of_instances = {} if incomplete else {SAMPLES_F1: precision_recall_f1(*sizes).f1, **(gains or {})}

    def metrics(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return the metrics of b samples of the instances, by name, each of shape (b,).

        Weights (b x n) are the multiplicity of each instance, n in total. If the truth is incomplete, only precision,
        recall and F1 are estimated, for complete labels; macro-precision may exceed 1.
        """
        hits, predicted, truth = ((counts.T @ weights.T).T for counts in (self.hits, self.predicted, self.truth))
        means = {name: weights @ value / weights.sum(axis=1) for name, value in self.of_instances.items()}
        return averages(hits, predicted, truth, in_macro=slice(-1)) | means


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


def compare(every: Sequence[Counts], seed: int = 0) -> tuple[list[dict[str, float]], list[dict[str, Difference]]]:
    """Compare predictions of the same instances.

    Returns: `metrics`: the metrics of each; `differences`: for each but the first: its metrics minus the first's, if
    both have them. Intervals extend 1.96 standard errors to both sides, by 1,000 bootstrap samples of the instances
    (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993). Percentiles would be biased: samples lack some of
    the rare labels, so their macro averages are not centred on the macro average of all instances.
    """
    ones = np.ones((1, every[0].truth.shape[0]))
    metrics = [{name: min(float(value[0]), 1.0) for name, value in one.metrics(ones).items()} for one in every]
    differences = []
    for own, deviations in zip(metrics[1:], _deviations(every, seed)[1:], strict=True):
        found = {name: (own[name] - metrics[0][name], Z_95 * deviations[name]) for name in own if name in deviations}
        differences.append({name: Difference(d, max(d - m, -1.0), min(d + m, 1.0)) for name, (d, m) in found.items()})
    return metrics, differences


def intervals(counts: Counts, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Estimate 90 % intervals of metrics in a population with complete labels, from a sample of its instances.

    The metrics are `SET_METRICS`, with standard errors from bootstrap samples, as in `compare`. The intervals cover the
    choice of instances and, if the truth is incomplete, of their annotated labels; they do not cover an error in c.

    >>> labels = csr_array(np.ones((50, 1), bool))
    >>> intervals(Counts([(labels, labels)]))["micro_f1"]
    (1.0, 1.0)
    """
    estimates = counts.metrics(np.ones((1, counts.truth.shape[0])))
    [deviations] = _deviations([counts], seed)
    ends = {name: np.clip(estimates[name] + Z_90 * deviations[name] * np.array([-1, 1]), 0, 1) for name in SET_METRICS}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


def _deviations(every: Sequence[Counts], seed: int) -> list[dict[str, float]]:
    """Return standard deviations over samples: of the first's metrics, and of the differences of others from it."""
    n, width = every[0].truth.shape[0], max(max(one.truth.shape) for one in every)
    rng, at_once = np.random.default_rng(seed), max(1, _DRAWN // width)
    drawn = []
    for start in range(0, _REPLICATES, at_once):
        b = min(at_once, _REPLICATES - start)
        numbers = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        weights = np.bincount(numbers.ravel(), minlength=b * n).reshape(b, n).astype(float)
        first, *others = (one.metrics(weights) for one in every)
        common = ({name: other[name] - first[name] for name in first.keys() & other.keys()} for other in others)
        drawn.append((first, *common))
    return [
        {name: float(np.std(np.concatenate([part[name] for part in parts]))) for name in parts[0]}
        for parts in zip(*drawn, strict=True)
    ]


def _placed(chunks: Iterable[csr_array], labels: np.ndarray) -> csr_array:
    """Stack chunks, with a column for each of `labels` and a last one for all others."""
    stacked = GrowingCsr(float)
    for chunk in chunks:
        stacked.append(chunk)
    matrix = stacked.finish()
    columns = np.searchsorted(labels, matrix.indices)
    columns[np.append(labels, -1)[columns] != matrix.indices] = len(labels)
    return csr_array((matrix.data, (entry_rows(matrix), columns)), shape=(matrix.shape[0], len(labels) + 1))
