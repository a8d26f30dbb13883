"""Predictions of a model on disk: choose labels, and check whether the model fits the data."""

from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.bundle.loading import TrainedModel
from mpu_cli.core.features import base_shift, entry_rows
from mpu_cli.core.predictions import Cells, Predictions, Top
from mpu_cli.core.stacking import STACK_SCALE, StackedModel
from mpu_cli.errors import MpuError, counted
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import RENUMBERED

# Fewer instances may differ from the training data by chance.
_FEWEST_INSTANCES = 10
# docs/choices/texts.md, "Unknown features": in test files similar to their training files, the share is at most 0.027,
# and nobody reads a warning that appears every night.
_SOME_UNKNOWN = 0.05
# From this share of unknown features or labels, results mean little.
_MANY_UNKNOWN = 0.5
# The mean lengths of instances of one kind of data hardly ever differ by this factor: less than 1.3 on the data sets
# in docs/choices/texts.md.
_OTHER_SCALE = 4.0
# Factor for requesting more predictions if too few were kept.
_MORE = 4
# Smallest and largest number among some features or labels
_Range = tuple[int, int]
_NONE: _Range = (2**31, -1)


@dataclass(frozen=True)
class Fitness:
    """Counts in the data that a model predicts."""

    instances: int = 0
    # `entries`, `unknown`: feature values, and how many belong to features that never occurred in training
    entries: int = 0
    unknown: int = 0
    with_features: int = 0  # instances with features
    with_known_features: int = 0  # instances with features that occurred in training
    # Sum of the squares of all feature values
    squares: float = field(default=0.0, compare=False)  # rounding depends on how the data are split
    # `annotations`, `strange`: labels of the instances, if requested, and how many of them are not in the model
    annotations: int = 0
    strange: int = 0
    feature_range: _Range = _NONE
    label_range: _Range = _NONE
    written: int = 0  # labels or scores

    @classmethod
    def of(
        cls, model: TrainedModel, features: csr_array, labels: csr_array | None = None, written: int = 0
    ) -> "Fitness":
        """Count in some instances, for which `written` labels or scores are written."""
        annotated = np.zeros(0, np.int32) if labels is None else labels.indices
        known = model.occurring.counts(features)
        return cls(
            instances=features.shape[0],
            entries=features.nnz,
            unknown=features.nnz - int(known.sum()),
            with_features=int((np.diff(features.indptr) > 0).sum()),
            with_known_features=int(np.count_nonzero(known)),
            squares=float(np.square(features.data, dtype=float).sum()),
            annotations=len(annotated),
            strange=int(np.count_nonzero(~np.isin(annotated, model.label_ids))),
            feature_range=_range_of(features.indices),
            label_range=_range_of(annotated),
            written=written,
        )

    def __add__(self, other: "Fitness") -> "Fitness":
        sums: Any = (
            mine + others if isinstance(mine, int | float) else (min(mine[0], others[0]), max(mine[1], others[1]))
            for mine, others in zip(astuple(self), astuple(other), strict=True)
        )
        return Fitness(*sums)

    def notes(self, many: bool = False) -> list[str]:
        """Return notes on features and labels unknown to the model: only small shares, or only large (`many`)."""
        unknown = []
        if self.unknown and (self.unknown >= _SOME_UNKNOWN * self.entries) == many:
            ignored = f"{self.unknown:,} of {counted(self.entries, 'feature value')} ignored"
            unknown.append(f"{ignored}: their features never occurred in training")
        if self.strange and (self.strange >= _SOME_UNKNOWN * self.annotations) == many:
            strange = f"{self.strange:,} of {counted(self.annotations, 'true label')} unknown to the model"
            unknown.append(f"{strange}: counted as missed")
        return unknown

    def warnings(self, model: TrainedModel) -> list[str]:
        """Return warnings: brief if many features or labels are unknown, longer if the model does not fit the data."""
        misfits = self.misfits(model)
        doubts = [why for why in self.shifts(model).values() if why not in misfits]
        little = [f"THE MODEL DOES NOT FIT THE DATA, and results mean little: {why}" for why in misfits]
        return self.notes(many=True) + doubts + little

    def shifts(self, model: TrainedModel) -> dict[str, str]:
        """Return whether features, and true labels, seem to be numbered from another base, and what to do."""
        shifts, used = {}, model.occurring.indices
        for kind, count, numbers, found in (
            ("features", self.with_features, used, self.feature_range),
            ("true labels", self.annotations, model.label_ids, self.label_range),
        ):
            trained = _range_of(numbers)
            if count >= _FEWEST_INSTANCES and (more := base_shift(found, trained)):
                shifts[kind] = (
                    f"{kind} are {found[0]} to {found[1]}, and were {trained[0]} to {trained[1]} in training; renumber "
                    f"the data: {RENUMBERED[kind.removeprefix('true ')] % more}"
                )
        return shifts

    def misfits(self, model: TrainedModel) -> list[str]:
        """Return why a model does not fit the data, and what to do; empty if it fits or there are too few data."""
        misfits: list[str] = []
        if self.with_features < _FEWEST_INSTANCES:
            return misfits
        shifts = self.shifts(model)
        counts = {"features": (self.unknown, self.entries), "true labels": (self.strange, self.annotations)}
        for kind, (unknown, total) in counts.items():
            if kind in shifts and (kind == "features" or unknown >= _SOME_UNKNOWN * total):  # one new label is no shift
                misfits.append(shifts[kind])
            elif total >= _FEWEST_INSTANCES and unknown >= _MANY_UNKNOWN * total:
                misfits.append(
                    f"most of the {kind} are unknown to it; unless they are numbered as in the training file, number "
                    "them so, such as by mpu vectorize --like"
                )
        # A model with a kernel does not store the length of instances.
        length = model.predictor.scale / STACK_SCALE if model.predictor.rbf is None else 0.0
        times = np.sqrt(self.squares / self.with_features) / length if length else 1.0
        if not 1 / _OTHER_SCALE < times < _OTHER_SCALE:
            misfits.append(
                f"instances are {times:.2g} times as long as those it was trained on; scale feature values as in the "
                "training file"
            )
        return misfits


def _range_of(numbers: np.ndarray) -> _Range:
    return (int(numbers.min()), int(numbers.max())) if len(numbers) else _NONE


def implications_of(model: TrainedModel) -> csr_array:
    """Return which of a model's labels imply which others, as in `TrainedModel`; MpuError if it has no such rules."""
    if model.implies is None:
        raise MpuError(
            "the model has no rules of which labels imply others: train it with --implied RULES, or on data with a "
            "thesaurus"
        )
    return model.implies


def with_implied(cells: Cells, implies: csr_array, allowed: np.ndarray | None, ranked: bool) -> Cells:
    """Add the implied labels of each instance, each with the largest probability of it and the labels that imply it.

    `cells`: from `select`.
    `implies`: bool, shape (q, q): as in `TrainedModel`.
    `allowed`: bool, shape (q,): which labels may be in the result. None: all.
    `ranked`: the order of the result, as for `select`.
    """
    sizes = np.diff(implies.indptr)[cells.columns]
    rows, probabilities = np.repeat(cells.rows, sizes), np.repeat(cells.probabilities, sizes)
    every = cells.joined(Cells(rows, implies[cells.columns].indices, probabilities))
    is_new = np.arange(len(every)) >= len(cells)
    order = np.lexsort((is_new, -every.probabilities, every.columns, every.rows))
    chosen = np.ones(len(every), bool) if allowed is None else allowed[every.columns[order]]
    chosen[1:] &= (np.diff(every.rows[order]) != 0) | (np.diff(every.columns[order]) != 0)  # first cell of each label
    order = order[chosen]
    if ranked:
        order = order[np.lexsort((is_new[order], -every.probabilities[order], every.rows[order]))]
    return every[order]


def reaching(
    predictor: StackedModel, features: csr_array, thresholds: np.ndarray, run: Run, most: int | None = None
) -> Predictions:
    """Predict all labels that reach their threshold, and at least `most` of the most probable ones."""
    asked, least = None, float(thresholds.min())
    while True:
        predictions = predictor.predictions(features, run, max(asked or 0, most or 0) or None)
        if isinstance(predictions, np.ndarray) or asked == predictions.shape[1] or not _may_lack(predictions, least):
            return predictions
        longest = int(np.diff(predictions.indptr).max())
        asked = min(_MORE * max(longest, asked or 1), predictions.shape[1])


def _may_lack(predictions: csr_array, least: float) -> bool:
    """Whether a label outside the top k may reach this probability: not if every full row keeps a smaller one."""
    counts = np.diff(predictions.indptr)
    most = int(counts.max(initial=0))
    if not len(counts) or counts.min() == predictions.shape[1]:
        return False
    if most == 0 or least < predictions.data.min():
        return True
    full = predictions.indptr[:-1][counts == most]
    return bool((predictions.data[full[:, None] + np.arange(most)] >= least).all(axis=1).any())


def select(predictions: Predictions, thresholds: np.ndarray, top_k: int | None, ranked: bool) -> Cells:
    """Choose the labels at or over their threshold, at most the top k of each instance.

    Returns: cells with instances in ascending order. If `ranked`, an instance's labels are in descending order of
    probability (ties: lower column first), else in ascending order.
    """
    if isinstance(predictions, np.ndarray) and top_k is not None:  # sorting all of them would take longer
        predictions = Top(top_k, 0).of_dense(np.where(predictions >= thresholds, predictions, np.float32(-1)))
    if isinstance(predictions, np.ndarray):
        rows, columns = np.nonzero(predictions >= thresholds)
        probabilities = predictions[rows, columns]
    else:
        rows = entry_rows(predictions)
        columns, probabilities = predictions.indices, predictions.data
        reach = probabilities >= thresholds[columns]
        rows, columns, probabilities = rows[reach], columns[reach], probabilities[reach]
    cells = Cells(rows, columns, probabilities)
    if top_k is not None:
        cells = cells.best_of_instances(top_k)
    return cells[np.lexsort((-cells.probabilities, cells.rows))] if ranked else cells
