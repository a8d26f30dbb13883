"""Compare a file of predictions with a file of true labels. Both are read in step, with one chunk of each in memory.

The parser of data files also reads predictions. A label list such as ``3,7`` is an instance with labels and no
features. A score list such as ``3:0.91 7:0.5`` is an instance without labels, whose features are label:score.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.metrics import LabelSetMetrics
from mpu_cli.evaluation.propensities import Propensities
from mpu_cli.evaluation.propensity_scored import PropensityScoredMetrics
from mpu_cli.evaluation.ranking import RankingMetrics
from mpu_cli.evaluation.reliability import Reliability
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import iter_chunks


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    Attributes
    ----------
    label_sets : LabelSetMetrics
        Counts for the metrics of label sets.
    ranking : RankingMetrics or None
        Sums for the metrics of rankings; None if the predictions are label lists and at least one is not empty.
    threshold : float or None
        Labels with at least this score count as predicted; None if there are no scores.
    reliability : Reliability or None
        How well the scores agree with probabilities; None if not requested, or if there are no scores.
    propensity_scored : PropensityScoredMetrics or None
        Sums for the metrics that weigh labels; None if there are no propensities, or where `ranking` is None.
    """

    label_sets: LabelSetMetrics
    ranking: RankingMetrics | None = None
    threshold: float | None = None
    reliability: Reliability | None = None
    propensity_scored: PropensityScoredMetrics | None = None

    def results(self) -> dict[str, float]:
        """Return all metrics by name."""
        parts = (self.label_sets, self.ranking, self.propensity_scored)
        return {name: value for part in parts if part is not None for name, value in part.results().items()}


def compare(
    truth: str,
    predictions: str,
    *,
    threshold: float = 0.5,
    ks: tuple[int, ...] = (1, 3, 5),
    propensities: Propensities | None = None,
    calibration: bool = False,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Comparison:
    """Compare predicted label sets or scores with true labels.

    Parameters
    ----------
    truth : str
        Data file with the true labels; ``-`` is standard input.
    predictions : str
        File with a label list or a score list for each instance of `truth`; ``-`` is standard input. A file of empty
        lists counts as both: no label is predicted, and none is ranked.
    threshold : float
        Labels with at least this score count as predicted.
    ks : tuple of int
        Cut-offs of the metrics at k.
    propensities : Propensities, optional
        Of the labels of `truth`, for the metrics that weigh them.
    calibration : bool
        Whether to compare scores with probabilities.
    reading : Reading
        Its implicit values apply to `truth` only.
    run : Run

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        A file cannot be parsed, or `predictions` has both labels and scores.
    MpuError
        The files have different numbers of instances, a score is no probability and calibration is asked for, or a true
        label has no propensity.
    """
    pairs = lockstep(iter_chunks(truth, reading, run=run), iter_chunks(predictions, as_predictions(reading), run=run))
    return compare_pairs(
        pairs, predictions, threshold=threshold, ks=ks, propensities=propensities, calibration=calibration
    )


def as_predictions(reading: Reading) -> Reading:
    """Return how predictions are read beside data that are read so."""
    return replace(reading, implicit_values=False, scores=True)


def compare_pairs(
    pairs: Iterable[tuple[Dataset, Dataset]],
    predictions: str,
    *,
    threshold: float = 0.5,
    ks: tuple[int, ...] = (1, 3, 5),
    propensities: Propensities | None = None,
    calibration: bool = False,
) -> Comparison:
    """Compare as `compare` does.

    Parameters
    ----------
    pairs : iterable of (Dataset, Dataset)
        Truth and predictions of the same instances.
    predictions : str
        The file of predictions, as the user named it.
    threshold, ks, propensities, calibration
        As for `compare`.
    """
    label_sets, ranking = LabelSetMetrics(), RankingMetrics(ks)
    reliability = Reliability() if calibration else None
    scored = None if propensities is None else PropensityScoredMetrics(propensities, ks)
    saw_labels = saw_scores = False
    for true, predicted in pairs:
        saw_labels |= predicted.labels.nnz > 0
        saw_scores |= predicted.features.nnz > 0
        if saw_labels and saw_scores:
            raise InputError(
                predictions,
                None,
                "has both labels and index:value pairs, so it looks like data, not predictions; "
                "give the data first and the predictions second, all of them label lists or all of them scores",
            )
        if saw_labels:
            label_sets.add(true.labels, predicted.labels)
        else:
            label_sets.add(true.labels, labels_from_scores(predicted.features, threshold))
            ranking.add(true.labels, predicted.features)
            if scored is not None:
                scored.add(true.labels, predicted.features)
            if reliability is not None:
                reliability.add(true.labels, predicted.features)
    if saw_labels:
        return Comparison(label_sets)
    return Comparison(
        label_sets, ranking, threshold if saw_scores else None, reliability if saw_scores else None, scored
    )


def lockstep(truth: Iterable[Dataset], predictions: Iterable[Dataset]) -> Iterator[tuple[Dataset, Dataset]]:
    """Cut two streams of chunks into pairs of equal length.

    Parameters
    ----------
    truth, predictions : iterables of Dataset
        Chunks of any length.

    Yields
    ------
    truth, predictions : Dataset
        Both of the same instances.

    Raises
    ------
    MpuError
        One stream has more instances than the other. The message has both numbers.
    """
    truth, predictions = iter(truth), iter(predictions)
    left, right = next(truth, None), next(predictions, None)
    i = j = paired = 0  # in left, in right, in all
    while left is not None and right is not None:
        n = min(len(left) - i, len(right) - j)
        yield left[i : i + n], right[j : j + n]
        i, j, paired = i + n, j + n, paired + n
        if i == len(left):
            left, i = next(truth, None), 0
        if j == len(right):
            right, j = next(predictions, None), 0
    if left is not None or right is not None:
        totals = [paired + remaining(left, i, truth), paired + remaining(right, j, predictions)]
        raise MpuError(
            "TRUTH has {} instances and PREDICTIONS has {}; they must match line by line "
            "(an instance without predicted labels is an empty line)".format(*totals)
        )


def remaining(chunk: Dataset | None, start: int, later: Iterator[Dataset]) -> int:
    """Count the instances from `start` of a chunk to the end of its stream. A chunk of None means the end."""
    return 0 if chunk is None else len(chunk) - start + sum(map(len, later))


def labels_from_scores(scores: csr_array, threshold: float) -> csr_array:
    """Return the labels with a score of at least `threshold`.

    Parameters
    ----------
    scores : csr_array, shape (n, Q), float32
        Scores of the listed labels. The threshold is rounded to float32 too, so that an equal score reaches it.
    threshold : float

    Returns
    -------
    csr_array, shape (n, Q), bool
    """
    labels = csr_array((scores.data >= np.float32(threshold), scores.indices, scores.indptr), scores.shape, copy=True)
    labels.eliminate_zeros()
    return labels
