"""Calibration: of the labels predicted with p, a share of p is to be true.

Isotonic regression of s / c on out-of-fold predictions of all labels together, as a number for each of some blocks of
predictions (Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD
2002). The map is a line through the centres of the blocks, on the scale of log odds, with the mean of
every block as the regression has it: it increases strictly, and being the same for all labels it changes no order.
docs/method.md, "Calibration". Cells are counted by their probability, in bins so narrow that the counts serve in place
of the cells.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logit

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.predictions import FEWEST, UNSEEN, Predictions, SourceModels, blocks, strata_of, values_at

# Bins are float32 numbers with eleven bits of mantissa: 0.05 % apart.
BITS_DROPPED = 12
BINS = (int(np.float32(1).view(np.int32)) >> BITS_DROPPED) + 1
_ROWS = 1 << 14


@dataclass(frozen=True)
class HeldOut:
    """Predictions of instances by models that have not seen them, and what these are compared with."""

    probabilities: Predictions
    labels: csr_array
    frequency: LabelFrequency  # a known cell counts with c = 1, an ignored one not at all
    weights: np.ndarray | None = None
    made_by: SourceModels | None = None  # by which models; None: all cells are taken for alike

    def of_labels(self, columns: np.ndarray) -> "HeldOut":
        """Return the same of some labels, such as those that are annotated: nothing tells how often others are true."""
        if len(columns) == self.labels.shape[1]:
            return self
        return HeldOut(self.probabilities[:, columns], self.labels[:, columns], self.frequency.block(columns))

    def without_unseen(self) -> "HeldOut":
        """Return the same with predictions of 0 where the model has never seen the label."""
        if self.made_by is None or not (unseen := self.made_by.strata == UNSEEN).any():
            return self
        predictions = self.probabilities.copy()
        for rows, columns, values in blocks(predictions):
            values[unseen[self.made_by.of_instances[rows], columns]] = 0
        return replace(self, probabilities=predictions)


@dataclass(frozen=True)
class BinnedCells:
    """How many cells there are in each bin, and how many true ones, for each stratum of labels."""

    # float64, shape (strata, BINS): all that are not ignored. There is one stratum, or one of each number of
    # annotations (`core.predictions`).
    cells: np.ndarray
    # float64, shape (strata, BINS): true labels, estimated: an annotation stands for 1 / c of them
    # (`LabelFrequency.counted`)
    true: np.ndarray
    annotations: np.ndarray  # int, shape (strata,)

    def __getitem__(self, strata: slice) -> "BinnedCells":
        return BinnedCells(self.cells[strata], self.true[strata], self.annotations[strata])

    def kept(self) -> "BinnedCells":
        """Return the counts without predictions of 0: with many labels, those that were not kept."""
        above = np.arange(BINS) > 0
        return replace(self, cells=self.cells * above, true=self.true * above)

    @classmethod
    def of(cls, held_out: HeldOut) -> "BinnedCells":
        """Count the cells of instances and labels."""
        predictions, labels, frequency = held_out.probabilities, held_out.labels, held_out.frequency
        weights, made_by = held_out.weights, held_out.made_by
        (n, q), n_strata = labels.shape, 1 if made_by is None else len(FEWEST)
        models = made_by or SourceModels(np.zeros(n, np.int8), np.zeros((1, q), np.int8))

        def count(rows: Any, columns: Any, values: np.ndarray | None = None, chance: Any = None) -> np.ndarray:
            numbers = bin_numbers(values_at(predictions, rows, columns) if values is None else values)
            of_cells = None if weights is None else weights[columns]
            if made_by is not None:
                numbers = numbers + BINS * models.at(rows, columns).astype(np.int32)
            if chance is not None:
                of_cells = (1.0 if of_cells is None else of_cells) / chance
            if of_cells is not None:
                of_cells = np.broadcast_to(of_cells, numbers.shape).ravel()
            counts = np.bincount(numbers.ravel(), of_cells, n_strata * BINS)
            return counts.astype(float, copy=False).reshape(n_strata, BINS)

        cells = np.zeros((n_strata, BINS))
        for block in blocks(predictions, _ROWS * q):  # the bins of all would take three times their memory
            cells += count(*block)
        if not isinstance(predictions, np.ndarray):  # what is not kept is predicted with 0
            cells[:, 0] -= cells.sum(axis=1)
            for strata, size in zip(models.strata, np.bincount(models.of_instances), strict=False):
                cells[:, 0] += size * np.bincount(strata, weights, n_strata)
        cells -= count(*frequency.ignored())
        (rows, columns), certain = (part.nonzero() for part in frequency.counted(labels))
        true = count(rows, columns, chance=frequency.of_unverified(rows, columns)) + count(*certain)
        annotations = sum(np.bincount(models.at(*where), minlength=n_strata) for where in ((rows, columns), certain))
        return cls(cells, true, np.asarray(annotations))


def bin_numbers(probabilities: np.ndarray) -> np.ndarray:
    """Return the number of each probability's bin; non-negative floats sort as their bits do."""
    return probabilities.view(np.int32) >> BITS_DROPPED


def lower_edges(numbers: np.ndarray | int) -> np.ndarray:
    """Return the smallest float32 number in each of some bins."""
    return (np.asarray(numbers, np.int32) << BITS_DROPPED).view(np.float32)


# Annotated labels of a block: fewer say little. Blocks at most: more would say nothing else.
_FEWEST_ANNOTATIONS = 50
_MOST_BLOCKS = 50
# A probability of 0 or 1 has no log odds; these are the smallest number that float32 has, and the largest below 1.
_LEAST, _LARGEST = 1e-38, 1 - 2.0**-25
# The share of a block stays this many cells away from none and from all of them, and below the surest block:
# above it, float32 tells few probabilities apart, and what many cells share would no longer have an order.
_MARGIN = 0.5
_SUREST, _MOST = 0.9999, 0.99999  # of a block, and of a prediction
# The map of a stratum is shrunk towards the map of all as if by this many true labels.
_SHRINKING = 10.0
_SWEEPS = 20
# The map rises by at least so much of what the log odds of predictions do: no two of them become one.
_LEAST_SLOPE = 0.1
_LOW_BITS = (1 << BITS_DROPPED) - 1
# The edges of the bins of so few predictions are computed: the table of all bins takes several times as long.
_FEW = 1 << 16


@dataclass(frozen=True)
class Calibration:
    """A strictly increasing map from predictions to probabilities, piecewise linear in the log odds of both."""

    # `predicted`, `actual`: float64, shape (m,): log odds of predictions, ascending, and of the probabilities
    # they stand for, ascending too. Beyond the outermost ones both differ by the same.
    predicted: np.ndarray
    actual: np.ndarray

    def __reduce__(self) -> tuple[Any, ...]:
        return Calibration, (self.predicted, self.actual)  # without the table

    def __call__(self, predictions: np.ndarray) -> np.ndarray:
        """Return probabilities.

        `predictions`: float32, any shape: in [0, 1].
        Returns: float32, same shape, in [0, 1].

        >>> Calibration(np.array([0.0]), np.array([1.0]))(np.array([0.5, 0.9], np.float32)).round(3)
        array([0.731, 0.961], dtype=float32)
        """
        predictions = np.ascontiguousarray(predictions, np.float32)
        number = bin_numbers(predictions)
        part = (predictions.view(np.int32) & _LOW_BITS).astype(np.float32)
        part /= _LOW_BITS + 1
        if number.size <= _FEW:
            low, high = self.at_edges(number), self.at_edges(np.minimum(number + 1, BINS - 1))
            part *= high - low
            part += low
        else:
            edges, slopes = self._table
            part *= slopes[number]
            part += edges[number]
        return part

    def reverse(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the predictions, float32, that stand for probabilities: the inverse, up to rounding."""
        return expit(_through(_log_odds(probabilities), self.actual, self.predicted)).astype(np.float32)

    def apply(self, predictions: Predictions, made_by: SourceModels | None = None) -> None:
        """Put probabilities in place of predictions, float32, shape (n, q), whichever models made them."""
        for _, _, values in blocks(predictions):
            values[...] = self(values)

    def log_odds(self, predicted: np.ndarray) -> np.ndarray:
        """Map log odds of predictions to log odds of probabilities."""
        return _through(predicted, self.predicted, self.actual)

    def at_edges(self, numbers: np.ndarray) -> np.ndarray:
        """Return probabilities at the lower edges of some bins: float32."""
        return expit(self.log_odds(_log_odds(lower_edges(numbers)))).astype(np.float32)

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities at the lower edges of the bins, between which the map is taken for a line, and its rises."""
        edges = self.at_edges(np.arange(BINS))
        return edges, np.diff(edges, append=edges[-1])


@dataclass(frozen=True)
class StratifiedCalibration:
    """A map for each stratum of labels (`core.predictions`)."""

    maps: tuple[Calibration, ...]  # one for each stratum
    strata: np.ndarray  # int8, shape (q,): the stratum of each label

    def apply(self, predictions: Predictions, made_by: SourceModels | None = None) -> None:
        """Put probabilities in place of predictions, float32, shape (n, q).

        `made_by`: of held-out predictions, the models that made them. Default: the model that has learned from all.
        """
        models, strata = np.zeros(predictions.shape[0], np.int8), self.strata[None]
        if made_by is not None:
            models, strata = made_by.of_instances, made_by.strata
        for rows, columns, values in blocks(predictions):
            of_cells = strata[models[rows], columns]
            for stratum in np.unique(of_cells).tolist():
                there = of_cells == stratum
                values[there] = self.maps[stratum](values[there])

    @property
    def has_unseen(self) -> bool:
        """Whether a label of the model was never annotated."""
        return bool((self.strata == UNSEEN).any())

    def merged(self, binned: BinnedCells) -> BinnedCells:
        """Sum cells counted by prediction in strata to cells of one stratum, counted by probability.

        Unless a label of the model was never annotated, it predicts none that the models have not seen: these are among
        the true labels alone.
        """
        cells, true = np.zeros(BINS), np.zeros(BINS)
        for stratum, calibration in enumerate(self.maps):
            if stratum == UNSEEN and not self.has_unseen:
                true[0] += binned.true[stratum].sum()
                continue
            there = np.flatnonzero(binned.cells[stratum])
            numbers = bin_numbers(calibration.at_edges(there))
            cells += np.bincount(numbers, binned.cells[stratum, there], BINS)
            true += np.bincount(numbers, binned.true[stratum, there], BINS)
        return BinnedCells(cells[None], true[None], binned.annotations.sum(keepdims=True))


AnyCalibration: TypeAlias = Calibration | StratifiedCalibration


def calibrate(held_out: HeldOut) -> Calibration | None:
    """Estimate the map from predictions and annotations.

    Returns: None where no label is annotated, so that there is nothing to estimate it from.

    Of a thousand labels that are predicted with 0.5, four hundred are annotated: half of the true ones.

    >>> predictions = np.repeat(np.array([0.5, 0.01], np.float32), [1000, 9000])[:, None]
    >>> annotated = csr_array(np.arange(10_000)[:, None] < 400)
    >>> calibration = calibrate(HeldOut(predictions, annotated, LabelFrequency.of(0.5, (10_000, 1))))
    >>> print(f"{calibration(predictions)[0, 0]:.2f}")
    0.80
    """
    binned = BinnedCells.of(held_out)
    return calibrate_binned(binned if isinstance(held_out.probabilities, np.ndarray) else binned.kept())


def calibrate_binned(binned: BinnedCells) -> Calibration | None:
    """Estimate one map from counted cells of all strata; None as for `calibrate`."""
    there = np.flatnonzero(binned.cells.sum(axis=0))
    cells, true = (count[:, there].sum(axis=0) for count in (binned.cells, binned.true))
    if not true.any():
        return None
    z = _centres(there)
    near = _drawn_in(z, there)
    x, y = _fitted(near, cells, true, int(binned.annotations.sum()))
    if not np.array_equal(near, z):
        knots = np.union1d(z[[0, 1, -2, -1]], _through(x, near, z))
        x, y = knots, _through(_through(knots, z, near), x, y)
    return Calibration(*_slow_above_surest(x, y))


def _slow_above_surest(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Make a map rise slowly above the surest probability of a block: float32 has few numbers up to 1 for the order."""
    sure, most, end = logit(_SUREST), logit(_MOST), logit(_LARGEST)
    begin = _through(np.array([sure]), y, x)[0]
    if begin >= end or _through(np.array([end]), x, y)[0] <= most:
        return x, y
    below = x < begin
    return np.append(x[below], [begin, end]), np.append(y[below], [sure, most])


def _drawn_in(z: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return log odds; 0 and 1, which forests predict, count as half of the smallest distance from them.

    They have no log odds: with them in a block, its centre would be far away from all cells.
    """
    is_inner = (there > 0) & (there < BINS - 1)
    if is_inner.all() or len(z) == 1:
        return z
    inner = z[is_inner] if is_inner.any() else np.zeros(1)
    return np.clip(z, inner[0] - np.log(2), inner[-1] + np.log(2))


def calibrate_strata(binned: BinnedCells, annotations: np.ndarray) -> AnyCalibration | None:
    """Estimate a map for each stratum from counted cells.

    A map for all of them comes first. What it makes of predictions is corrected in each stratum by the same regression,
    shrunk to it as if by more true labels, which are as it says.

    `binned`: in strata.
    `annotations`: int, shape (q,): of the labels, in all of the training. Cells of labels that their model has never
    seen are like cells of labels that were never annotated, if there are any, and like no others.
    Returns: one map where all labels are in one stratum; None as for `calibrate`.
    """
    if np.count_nonzero(binned.cells.any(axis=1)) <= 1:
        return calibrate_binned(binned)
    candidates = binned if (annotations == 0).any() else binned[UNSEEN + 1 :]
    pooled = calibrate_binned(candidates)
    if pooled is None:
        return None
    maps = [_refined(pooled, candidates[s : s + 1]) for s in range(len(candidates.annotations))]
    return StratifiedCalibration((*maps[: len(FEWEST) - len(maps)], *maps), strata_of(annotations))


def _refined(pooled: Calibration, stratum: BinnedCells) -> Calibration:
    """Return the map of a stratum: the map of all strata, corrected where its annotations say otherwise."""
    there = np.flatnonzero(stratum.cells[0])
    if not len(there):
        return pooled
    z = pooled.log_odds(_centres(there))
    x, y = _fitted(z, stratum.cells[0, there], stratum.true[0, there], int(stratum.annotations[0]), _SHRINKING)
    knots = np.union1d(pooled.predicted, _through(x, pooled.actual, pooled.predicted))
    return Calibration(*_slow_above_surest(knots, _through(pooled.log_odds(knots), x, y)))


def _fitted(
    z: np.ndarray, cells: np.ndarray, true: np.ndarray, annotations: int, shrinking: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a map to cells at some log odds: the points of a line through the centres of blocks."""
    from scipy.optimize import isotonic_regression  # is slow to import

    block = _blocks(cells, true, min(max(annotations // _FEWEST_ANNOTATIONS, 1), _MOST_BLOCKS))
    size, hits = np.bincount(block, cells), np.bincount(block, true)
    if shrinking:
        expected = np.bincount(block, cells * expit(z))
        hits = expected * (hits + shrinking) / (expected + shrinking)
    share = np.minimum(np.clip(hits, _MARGIN, size - _MARGIN) / size, _SUREST)
    centre, target = np.bincount(block, cells * z) / size, logit(share)
    # In an outermost block predictions tell as little as from its centre to that of the next.
    rise = np.clip(np.diff(target) / np.diff(centre), _LEAST_SLOPE, 1) if len(centre) > 1 else np.ones(1)
    below, above = rise[0] * (z[0] - centre[0]), rise[-1] * (z[-1] - centre[-1])
    x, which = np.unique([z[0], *centre, z[-1]], return_index=True)
    least, actual = _LEAST_SLOPE * centre, target
    for _ in range(_SWEEPS):  # until the mean of every block is its share
        y = np.array([actual[0] + below, *actual, actual[-1] + above])[which]
        mean = np.bincount(block, cells * expit(_through(z, x, y))) / size
        moved = actual + target - logit(np.clip(mean, _LEAST, _LARGEST))
        actual = isotonic_regression(moved - least, weights=size).x + least
    return x, y


def _centres(numbers: np.ndarray) -> np.ndarray:
    """Return the log odds of the centres of bins."""
    return _log_odds((lower_edges(numbers).astype(float) + lower_edges(np.minimum(numbers + 1, BINS - 1))) / 2)


def _blocks(cells: np.ndarray, true: np.ndarray, most: int) -> np.ndarray:
    """Part bins into blocks whose share of true labels rises: the number of the block of each bin, ascending."""
    from scipy.optimize import isotonic_regression  # is slow to import

    total = true.sum()
    if not total:
        return np.zeros(len(cells), int)
    above = (np.cumsum(true[::-1])[::-1] - true) / total
    _, block = np.unique(-np.minimum(np.floor(above * most), most - 1), return_inverse=True)
    size = np.bincount(block, cells)
    rising = isotonic_regression(np.bincount(block, true) / size, weights=size).x
    least, largest = _MARGIN / size[0], min(1 - _MARGIN / size[-1], _SUREST)
    if rising[0] == 0 and least >= rising[1]:  # in few cells, to find none says little
        rising[0] = rising[1]
    _, number = np.unique(np.minimum(rising, largest), return_inverse=True)
    return number[block]


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    return logit(np.clip(probabilities.astype(float), _LEAST, _LARGEST))


def _through(z: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Interpolate along the line through points (x, y), ascending, and at a slope of 1 beyond them."""
    beyond = np.maximum(z - x[-1], 0) + np.minimum(z - x[0], 0)
    return np.interp(z, x, y) + beyond
