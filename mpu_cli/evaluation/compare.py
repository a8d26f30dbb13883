"""Predictions (`bundle.predicting`) compared with true labels in step, one chunk of each in memory at a time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.predictions import over
from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.incomplete import Propensities, PropensityScoredMetrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, RankingMetrics, Reliability, entries_in
from mpu_cli.svmlight.reader import Dataset

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
            raise InputError(self.name, None, f"{problem}; to compare labels of data, keep these: cut -d' ' -f1")
        if self.labels and (self.threshold is None or not self.scores):
            return None
        return labels_from_scores(predicted.features, self.threshold)

    @property
    def is_cut(self) -> bool:
        """Whether the labels that reach the threshold count as predicted, rather than label lists."""
        return self.scores and (self.threshold is not None or not self.labels)

    @property
    def ranks(self) -> bool:
        """Whether labels can be ranked: there are scores, or no label lists."""
        return self.scores or not self.labels


class Comparison:
    """A comparison of predictions with true labels, accumulated chunk by chunk.

    `form`: the form of the predictions, as far as it is known.
    `ks`: cut-offs of the metrics at k.
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
        self.form, self._propensities, self._c = form, propensities, c
        # Counts for the label lists, and for the labels whose scores reach the threshold.
        self._listed, self._cut = LabelSetMetrics(), LabelSetMetrics()
        # Sums for ranking metrics, for metrics that weight labels, for metrics on complete labels, and for the
        # agreement of scores with probabilities; None if there are only label lists.
        self.ranking: RankingMetrics | None = RankingMetrics(ks)
        self.propensity_scored = None if propensities is None else PropensityScoredMetrics(ks)
        self.corrected = None if c is None else PropensityScoredMetrics(ks)
        self.reliability = Reliability() if calibration else None

    def add(self, true: Dataset, predicted: Dataset) -> None:
        """Add a chunk of instances."""
        cut = self.form.see(predicted)
        self._listed.add(true.labels, predicted.labels)
        if cut is not None:
            self._cut.add(true.labels, cut)
        if not self.form.ranks:
            self.ranking = self.propensity_scored = self.corrected = self.reliability = None
            return
        by_c, by_propensity = (
            true.labels if of_labels is None else of_labels.weighted(true.labels)
            for of_labels in (self._c, self._propensities)
        )
        for metrics, labels in (
            (self.ranking, true.labels),
            (self.propensity_scored, by_propensity),
            (self.reliability, by_c),
            (self.corrected, by_c),
        ):
            if metrics is not None:
                metrics.add(labels, predicted.features)

    @property
    def label_sets(self) -> LabelSetMetrics:
        """Counts for the metrics of label sets."""
        return self._cut if self.form.is_cut else self._listed

    @property
    def threshold(self) -> float | None:
        """The threshold that determined the label sets; None if they are label lists."""
        if not self.form.is_cut:
            return None
        return THRESHOLD if self.form.threshold is None else self.form.threshold

    def results(self) -> dict[str, float]:
        """Return all metrics by name."""
        parts = (self.label_sets, self.ranking, self.propensity_scored)
        return {name: value for part in parts if part is not None for name, value in part.results().items()}


def lockstep(
    truth: Iterable[Dataset], predictions: Iterable[Dataset], called: str = "PREDICTIONS"
) -> Iterator[tuple[Dataset, Dataset]]:
    """Cut two streams of chunks, of any length, into pairs of equal length with the same instances.

    MpuError if one has more instances than the other; the message has both numbers and calls the predictions `called`.
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
            f"TRUTH has {totals[0]} instances and {called} has {totals[1]}; they must match line by line "
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
