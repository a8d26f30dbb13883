"""Predictions in files, read and compared with a file of true labels in step, one chunk of each in memory at a time.

The parser of data files also reads predictions. A label list such as ``3,7`` is an instance with labels but no
features. A score list such as ``3:0.91 7:0.5`` is an instance without labels, whose features are label:score. If a line
has both, as in ``3 3:0.91 7:0.5``, the label list contains the predicted labels, all scored, and the scores rank.

Scores alone do not determine the predicted labels. So a comment ends the first line of the scores that `mpu predict`
writes: the threshold of the model, ``# threshold 0.31``, or one per label, ``# thresholds 3:0.31 7:0.5``. A label
is predicted if its score is at least its threshold; a label without a threshold is never predicted. No line is added,
so line i is still the line of instance i, for every reader that skips comments.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.predictions import over
from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.incomplete import CorrectedRanking, Propensities, PropensityScoredMetrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, RankingMetrics, Reliability, entries_in
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import Preamble, iter_stream
from mpu_cli.svmlight.streams import Watched, open_input
from mpu_cli.svmlight.writer import score_lines

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
        self.corrected = None if c is None else CorrectedRanking(ks)
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


_NUMBER = rb"-?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf)"
_ONE = re.compile(rb"# threshold (" + _NUMBER + rb")\s*")
_EACH = re.compile(rb"# thresholds((?: [0-9]{1,10}:" + _NUMBER + rb")+)\s*")


def _choosing(line: bytes) -> Callable[[csr_array], csr_array] | None:
    """Return the function from scores to labels, by the thresholds in a file's first line; None if it has none.

    The function returns bool, shape (n, Q).
    """
    comment = b"#" + line.partition(b"#")[2]
    if (one := _ONE.fullmatch(comment)) is not None:
        of_all = _of_32_bits([float(one[1])])[0]
        return lambda scores: over(scores, of_all)
    if (each := _EACH.fullmatch(comment)) is None:
        return None
    pairs = sorted((int(label), float(value)) for label, value in (pair.split(b":") for pair in each[1].split()))
    ids, values = np.array([label for label, _ in pairs]), _of_32_bits([value for _, value in pairs])

    def reached(scores: csr_array) -> csr_array:
        place = np.searchsorted(ids, scores.indices).clip(max=len(ids) - 1)
        return over(scores, np.where(ids[place] == scores.indices, values[place], np.float32(np.inf)))

    return reached


def _of_32_bits(values: Sequence[float]) -> np.ndarray:
    with np.errstate(over="ignore"):  # values beyond the range become infinite
        return np.array(values, np.float32)


def with_thresholds(lines: bytes, ids: np.ndarray, thresholds: np.ndarray) -> bytes:
    """Append the comment with the thresholds to the first line of score lists.

    `lines`: at least one line.
    `ids`: int, shape (q,).
    `thresholds`: float32, shape (q,): written with the fewest digits that yield the same float32 when read.
    """
    first, end, others = lines.partition(b"\n")
    same = (thresholds == thresholds[0]).all()
    pairs = score_lines(np.array([0, 1 if same else len(ids)]), ids, thresholds).rstrip()
    comment = b" # threshold " + pairs.partition(b":")[2] if same else b" # thresholds " + pairs
    return first + comment + end + others


def iter_predictions(source: str | Path, reading: Reading, run: Run) -> Iterator[Dataset]:
    """Read predictions in chunks, like `svmlight.reader.iter_chunks`: label lists as labels, and scores as features.

    Scores with thresholds also get label lists: the labels that reach their thresholds.
    """
    begun, first_line = b"", b""  # the file as far as it has been read, and its first line below the header

    def keep_first_line(data: bytes) -> None:
        nonlocal begun, first_line
        if not first_line:
            begun += data
            line, end, _ = begun[Preamble().end_in(begun, 1) :].partition(b"\n")
            if end or not data:
                begun, first_line = b"", line + end

    with open_input(source) as stream:
        reached, reading = None, replace(reading, implicit_values=False, scores=True)
        read = Watched(stream, keep_first_line)
        chunks = iter_stream(read, str(source), reading, run=run)
        for number, chunk in enumerate(chunks):
            if number == 0:
                reached = _choosing(first_line)
            yield chunk if reached is None else Dataset(reached(chunk.features), chunk.features)
