"""Calibration of scores: of the labels predicted with probability p, a share of p should be true.

Pairs of an instance and a label with a score are counted by their score, in bins. With incomplete truth of label
frequency c, an annotated label stands for 1 / c true ones, as in `mpu_cli.evaluation.incomplete`: so much is its entry
in the truth. With all entries 1, the truth is complete.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import entry_rows
from mpu_cli.core.frequency.estimators import Z_90, wilson
from mpu_cli.core.predictions import values_at
from mpu_cli.errors import MpuError
from mpu_cli.evaluation.metrics import divide, entries_in

_BINS = 10
_NEAREST_0 = np.finfo(np.float32).eps  # scores that are 0 or 1 count as this far from it in the log loss


@dataclass
class Reliability:
    """Counts of scores and true labels in bins of equal width, accumulated chunk by chunk.

    `cells`, `true`: int, shape (10,): number of scores in each bin, and of those whose label is annotated.

    >>> reliability = Reliability()
    >>> reliability.add(csr_array(np.array([[1, 0, 1]], bool)), csr_array(np.array([[0.92, 0.2, 0.95]], np.float32)))
    >>> [(row["scores"], row["true"]) for row in reliability.rows() if row["scores"]]
    [(1, 0.0), (2, 1.0)]
    """

    cells: np.ndarray = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    true: np.ndarray = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    # The sums of the scores, and of the true labels, of each bin; those of the Brier score and the log loss.
    total: np.ndarray = field(default_factory=lambda: np.zeros((2, _BINS)))
    _losses: np.ndarray = field(default_factory=lambda: np.zeros(2))

    def add(self, truth: csr_array, scores: csr_array) -> None:
        """Add the counts of a chunk.

        `truth`: csr_array, shape (n, Q): label sets: what each annotation stands for.
        `scores`: csr_array, shape (n, R): scores of the listed labels; a stored zero counts as listed. Unlisted labels
        are not counted.
        Raises MpuError (a score is no probability).
        """
        p = scores.data.astype(float)
        if len(p) and not (p.min() >= 0 and p.max() <= 1):
            wrong = p[(p < 0) | (p > 1)][0]
            raise MpuError(f"the score {wrong:g} is not a probability; calibration needs scores from 0 to 1")
        number = np.minimum((p * _BINS).astype(int), _BINS - 1)
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

        Returns: ``from``, ``to``, ``scores`` (their number), ``mean`` of them, ``true`` (the share that is true) and
        its 90 % interval by chance, ``low`` to ``high``. Shares may exceed 1 if c is too small.
        """
        expected, true = self.total
        low, high = wilson(self.true, np.maximum(self.cells, 1), Z_90)  # annotated
        stands = np.where(self.true, divide(true, self.true), 1)  # how many labels an annotation of the bin stands for
        ends = np.maximum(low, 0) * stands, high * stands
        means = divide(expected, self.cells), divide(true, self.cells)
        edges = [b / _BINS for b in range(_BINS + 1)]
        columns = edges[:-1], edges[1:], *(column.tolist() for column in (self.cells, *means, *ends))
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
