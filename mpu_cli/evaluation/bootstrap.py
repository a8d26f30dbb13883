"""Bootstrap intervals of metrics, and of their differences between predictions of the same instances.

Instances are resampled with their label sets. In a paired comparison, macro averages are over the labels that are true
for at least one instance, so that all predictions are averaged over the same labels. (Macro averages of a single file
also include labels that are predicted but never true.)

All predictions are evaluated on the same bootstrap samples: the difference between two of them varies far less than
each of them, since the same instances are easy or hard for both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows, only_entries
from mpu_cli.core.frequency.estimators import Z_90, Z_95
from mpu_cli.evaluation.incomplete import corrected
from mpu_cli.evaluation.metrics import divide, entries_in, gains_at, precision_recall_f1, ranked_hits
from mpu_cli.svmlight.reader import GrowingCsr

_REPLICATES = 1000
_DRAWN = 1 << 22  # numbers in memory at a time
_QUALITY = ("precision", "recall", "f1")
SET_METRICS = tuple(f"{average}_{name}" for average in ("micro", "macro") for name in _QUALITY)
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
    gains: np.ndarray | None  # float64, shape (n, metrics): precision and nDCG at each cut-off; None without scores
    ks: tuple[int, ...]

    @classmethod
    def of(
        cls,
        chunks: Sequence[tuple[csr_array, csr_array]],
        gains: Sequence[np.ndarray] = (),
        ks: tuple[int, ...] = (),
        labels: np.ndarray | None = None,
    ) -> "Counts":
        """Return the counts of chunks of true and predicted label sets, for these labels, ascending.

        If the truth is incomplete, its entries are the number of true labels that each annotation represents, 1 / c.

        `gains`: for each chunk, from `ranking_gains` with these cut-offs; none without scores.
        `labels`: default: all labels that are true for an instance.
        """
        if labels is None:
            labels = np.unique(np.concatenate([truth.indices for truth, _ in chunks]))
        hits = [only_entries(truth, entries_in(truth, predicted) & (truth.data != 0)) for truth, predicted in chunks]
        truth, predicted = (_placed([pair[i] for pair in chunks], labels) for i in range(2))
        return cls(truth, predicted, _placed(hits, labels), np.concatenate(gains) if gains else None, ks)

    def metrics(self, weights: np.ndarray, incomplete: bool = False) -> dict[str, np.ndarray]:
        """Return the metrics of b samples of the instances, by name, each of shape (b,).

        Weights (b x n) are the multiplicity of each instance, n in total. If the truth is incomplete, only precision,
        recall and F1 are estimated, for complete labels; macro averages may exceed 1.
        """
        true, predicted, hits = ((counts.T @ weights.T).T for counts in (self.truth, self.predicted, self.hits))

        sums = hits.sum(axis=1), predicted.sum(axis=1), true.sum(axis=1)
        micro = corrected(*sums) if incomplete else precision_recall_f1(*sums)
        of_labels = precision_recall_f1(hits[:, :-1], predicted[:, :-1], true[:, :-1])
        macro = [divide(value.sum(axis=1), value.shape[1]) for value in of_labels]
        values = dict(zip(SET_METRICS, (*micro, *macro), strict=True))
        if not incomplete:
            values[SAMPLES_F1] = weights @ self._of_instances / weights.sum(axis=1)
            if self.gains is not None:
                means = (weights @ self.gains).T / weights.sum(axis=1)
                values |= dict(zip(ranking_names(self.ks), means, strict=True))
        return values

    @cached_property
    def _of_instances(self) -> np.ndarray:
        """F1 of each instance."""
        return precision_recall_f1(*(part.sum(axis=1) for part in (self.hits, self.predicted, self.truth)))[2]


@dataclass(frozen=True)
class Difference:
    """The difference of a metric between two predictions, with a 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def between(cls, first: float, other: float, margin: float) -> "Difference":
        """Return the difference of two values of a metric; its interval, with this margin, is clipped to [-1, 1]."""
        value = other - first
        return cls(value, max(value - margin, -1.0), min(value + margin, 1.0))

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
    found = [one.metrics(ones, incomplete) for one in every]
    metrics = [{name: min(float(value[0]), 1.0) for name, value in one.items()} for one in found]
    differences = []
    for own, deviations in zip(metrics[1:], _deviations(every, incomplete, seed)[1:], strict=True):
        margins = {name: Z_95 * deviation for name, deviation in deviations.items()}
        common = (name for name in own if name in margins)
        differences.append({name: Difference.between(metrics[0][name], own[name], margins[name]) for name in common})
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
    drawn: list[dict[str, list[np.ndarray]]] = [{} for _ in every]
    for weights in _samples(n, _REPLICATES, seed, width):
        first, *others = (one.metrics(weights, incomplete) for one in every)
        common = ({name: other[name] - first[name] for name in first.keys() & other.keys()} for other in others)
        for samples, values in zip(drawn, (first, *common), strict=True):
            for name, of_samples in values.items():
                samples.setdefault(name, []).append(of_samples)
    return [{name: float(np.std(np.concatenate(parts))) for name, parts in samples.items()} for samples in drawn]


def _samples(n: int, replicates: int, seed: int, width: int) -> Iterator[np.ndarray]:
    """Draw samples of n instances with replacement; yield the multiplicities of instances, shape (b, n).

    Samples are drawn a few at a time, so that an array of `width` for each is small.
    """
    rng = np.random.default_rng(seed)
    at_once = max(1, _DRAWN // width)
    for start in range(0, replicates, at_once):
        b = min(at_once, replicates - start)
        drawn = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n).astype(float)


def ranking_gains(truth: csr_array, scores: csr_array, ks: Sequence[int]) -> np.ndarray:
    """Return precision and nDCG at each cut-off for each instance, as `RankingMetrics` defines them: float64."""
    (retrieved, discounted), most = gains_at(ranked_hits(truth, scores), truth, tuple(ks))
    return np.concatenate([retrieved / np.array(ks)[:, None], divide(discounted, most)]).T


def _placed(chunks: list[csr_array], labels: np.ndarray) -> csr_array:
    """Stack chunks, with a column for each of `labels` and a last one for all others."""
    stacked = GrowingCsr(float)
    for chunk in chunks:
        stacked.append(chunk)
    matrix = stacked.finish()
    columns = np.searchsorted(labels, matrix.indices)
    columns[np.append(labels, -1)[columns] != matrix.indices] = len(labels)
    return csr_array((matrix.data, (entry_rows(matrix), columns)), shape=(matrix.shape[0], len(labels) + 1))
