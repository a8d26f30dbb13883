"""Calibration: among the labels predicted with p, a share of p should be true.

By isotonic regression of s / c on the out-of-fold predictions of all labels together (Zadrozny and Elkan, "Transforming
classifier scores into accurate multiclass probability estimates", KDD 2002): docs/method.md, "Calibration". Cells are
counted by their probability, in bins so narrow that the counts can replace the cells.
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
    """Predictions for instances by models that have not seen them, and the annotations to compare them with."""

    probabilities: Predictions
    labels: csr_array
    frequency: LabelFrequency  # a known cell counts with c = 1, an ignored one not at all
    weights: np.ndarray | None = None
    made_by: SourceModels | None = None  # by which models; None: all cells are treated alike

    def of_labels(self, columns: np.ndarray) -> "HeldOut":
        """Return the same for some labels, such as the annotated ones: how often the others are true is unknown."""
        if len(columns) == self.labels.shape[1]:
            return self
        return HeldOut(self.probabilities[:, columns], self.labels[:, columns], self.frequency.block(columns))

    def without_unseen(self) -> "HeldOut":
        """Return the same with predictions of 0 for labels that the model has never seen."""
        if self.made_by is None or UNSEEN not in self.made_by.strata:
            return self
        predictions = self.probabilities.copy()
        for rows, columns, values in blocks(predictions):
            values[self.made_by.at(rows, columns) == UNSEEN] = 0
        return replace(self, probabilities=predictions)


@dataclass(frozen=True)
class BinnedCells:
    """The number of cells in each bin, and of true ones, for each stratum of labels."""

    # float64, shape (strata, BINS): all cells that are not ignored. There is one stratum, or one for each range of
    # numbers of annotations (`core.predictions`).
    cells: np.ndarray
    # float64, shape (strata, BINS): estimated true labels: an annotation represents 1 / c of them
    # (`LabelFrequency.by_chance_and_certain`)
    true: np.ndarray
    annotations: np.ndarray  # int, shape (strata,)

    def __getitem__(self, strata: slice) -> "BinnedCells":
        return BinnedCells(self.cells[strata], self.true[strata], self.annotations[strata])

    def kept(self) -> "BinnedCells":
        """Return the counts without predictions of 0, which, with many labels, are those that were not kept."""
        above = np.arange(BINS) > 0
        return replace(self, cells=self.cells * above, true=self.true * above)

    @classmethod
    def of(cls, held_out: HeldOut) -> "BinnedCells":
        """Count the cells by stratum and bin."""
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
            return np.bincount(numbers.ravel(), of_cells, n_strata * BINS).reshape(n_strata, BINS)

        cells = np.zeros((n_strata, BINS))
        for block in blocks(predictions, _ROWS * q):  # the bins of all cells would take three times their memory
            cells += count(*block)
        if not isinstance(predictions, np.ndarray):  # predictions that are not kept count as 0
            cells[:, 0] -= cells.sum(axis=1)
            for strata, size in zip(models.strata, np.bincount(models.of_instances), strict=False):
                cells[:, 0] += size * np.bincount(strata, weights, n_strata)
        if len((ignored := frequency.ignored())[0]):
            cells -= count(*ignored)
        (rows, columns), certain = (part.nonzero() for part in frequency.by_chance_and_certain(labels))
        true = count(rows, columns, chance=frequency.of_unverified(rows, columns))
        if len(certain[0]):
            true += count(*certain)
        annotations = sum(np.bincount(models.at(*where), minlength=n_strata) for where in ((rows, columns), certain))
        return cls(cells, true, np.asarray(annotations))


def bin_numbers(probabilities: np.ndarray) -> np.ndarray:
    """Return the number of each probability's bin; non-negative floats sort as their bits do."""
    return probabilities.view(np.int32) >> BITS_DROPPED


def lower_edges(numbers: np.ndarray | int) -> np.ndarray:
    """Return the smallest float32 number in each of the given bins."""
    return (np.asarray(numbers, np.int32) << BITS_DROPPED).view(np.float32)


# The fewest annotated labels in a block, since fewer say little; and the most blocks, since more would add nothing.
# With answers, blocks are narrower: where features separate labels nearly perfectly, the share annotated levels off.
_FEWEST_ANNOTATIONS, FEWEST_FOR_ANSWERS = 50, 15
_MOST_BLOCKS = 50
# 0 and 1 have no finite log odds; these are about the smallest normal float32 number, and the largest below 1.
_LEAST, _LARGEST = 1e-38, 1 - 2.0**-25
# The true share of a block stays this many cells away from none and from all cells, and below the surest block: above
# that, float32 distinguishes few probabilities, and many cells would share one and lose their order.
_MARGIN = 0.5
_SUREST, _MOST = 0.9999, 0.99999  # for a block, and for a prediction
# A stratum's map is shrunk towards the map for all labels as if by this many true labels.
_SHRINKING = 10.0
_SWEEPS = 20
# The smallest slope of the map on the log-odds scale, so that different predictions stay different.
_LEAST_SLOPE = 0.1
_LOW_BITS = (1 << BITS_DROPPED) - 1
# Mapping fewer predictions one by one takes far less time than making a table of all bins.
_FEW = BINS // 16


@dataclass(frozen=True)
class Calibration:
    """A strictly increasing map from predictions to probabilities, piecewise linear in the log odds of both."""

    # `predicted`, `actual`: float64, shape (m,): log odds of predictions, ascending, and of the corresponding
    # probabilities, ascending too. Beyond the outermost points, the slope is 1.
    predicted: np.ndarray
    actual: np.ndarray

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.predicted, self.actual)  # without the table

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
        if predictions.size < _FEW:
            edges = self.at_edges(number)
            slopes = self.at_edges(np.minimum(number + 1, BINS - 1)) - edges
        else:
            edges, slopes = (of_bins[number] for of_bins in self._table)
        part *= slopes
        part += edges
        return part

    def reverse(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the predictions, float32, that are mapped to these probabilities: the inverse, up to rounding."""
        return expit(_through(_log_odds(probabilities), self.actual, self.predicted)).astype(np.float32)

    def apply(self, predictions: Predictions, made_by: SourceModels | None = None) -> None:
        """Replace predictions, float32, shape (n, q), by probabilities, whichever models made them."""
        for _, _, values in blocks(predictions):
            values[...] = self(values)

    def log_odds(self, predicted: np.ndarray) -> np.ndarray:
        """Map log odds of predictions to log odds of probabilities."""
        return _through(predicted, self.predicted, self.actual)

    def at_edges(self, numbers: np.ndarray) -> np.ndarray:
        """Return the probabilities at the lower edges of the given bins: float32."""
        return expit(self.log_odds(_log_odds(lower_edges(numbers)))).astype(np.float32)

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities at the lower edges of the bins, and their differences; between edges, the map is linear."""
        edges = self.at_edges(np.arange(BINS))
        return edges, np.diff(edges, append=edges[-1])


@dataclass(frozen=True)
class StratifiedCalibration:
    """A map for each stratum of labels (`core.predictions`)."""

    maps: tuple[Calibration, ...]  # one for each stratum
    strata: np.ndarray  # int8, shape (q,): the stratum of each label

    def apply(self, predictions: Predictions, made_by: SourceModels | None = None) -> None:
        """Replace predictions, float32, shape (n, q), by probabilities.

        `made_by`: the models that made held-out predictions. Default: the model that has learned from all instances.
        """
        models = made_by or SourceModels(np.zeros(predictions.shape[0], np.int8), self.strata[None])
        for rows, columns, values in blocks(predictions):
            of_cells = models.at(rows, columns)
            for stratum in np.unique(of_cells).tolist():
                there = of_cells == stratum
                values[there] = self.maps[stratum](values[there])

    def merged(self, binned: BinnedCells) -> BinnedCells:
        """Merge cells counted by prediction in several strata into one stratum, counted by probability.

        Unless a label of the model was never annotated, labels that a model has not seen are never predicted, so they
        only count among the true labels.
        """
        cells, true = np.zeros(BINS), np.zeros(BINS)
        for stratum, calibration in enumerate(self.maps):
            if stratum == UNSEEN and UNSEEN not in self.strata:
                true[0] += binned.true[stratum].sum()
                continue
            there = np.flatnonzero(binned.cells[stratum])
            numbers = bin_numbers(calibration.at_edges(there))
            cells += np.bincount(numbers, binned.cells[stratum, there], BINS)
            true += np.bincount(numbers, binned.true[stratum, there], BINS)
        return BinnedCells(cells[None], true[None], binned.annotations.sum(keepdims=True))


AnyCalibration: TypeAlias = Calibration | StratifiedCalibration


def calibrate(held_out: HeldOut, fewest: int = _FEWEST_ANNOTATIONS) -> Calibration | None:
    """Estimate the map from predictions and annotations.

    `fewest`: the fewest annotated labels in a block.
    Returns: None if no label is annotated, so that the map cannot be estimated.

    Of 1,000 labels predicted with 0.5, 400 are annotated, which is half of the true ones.

    >>> predictions = np.repeat(np.array([0.5, 0.01], np.float32), [1000, 9000])[:, None]
    >>> annotated = csr_array(np.arange(10_000)[:, None] < 400)
    >>> calibration = calibrate(HeldOut(predictions, annotated, LabelFrequency.of(0.5, (10_000, 1))))
    >>> print(f"{calibration(predictions)[0, 0]:.2f}")
    0.80
    """
    binned = BinnedCells.of(held_out)
    return calibrate_binned(binned if isinstance(held_out.probabilities, np.ndarray) else binned.kept(), fewest)


def calibrate_binned(binned: BinnedCells, fewest: int = _FEWEST_ANNOTATIONS) -> Calibration | None:
    """Estimate one map from counted cells of all strata; None as for `calibrate`."""
    there = np.flatnonzero(binned.cells.sum(axis=0) != 0)  # flatnonzero is slow for floats
    cells, true = (count[:, there].sum(axis=0) for count in (binned.cells, binned.true))
    if not true.any():
        return None
    z = _centres(there)
    near = _drawn_in(z, there)
    x, y = _fitted(near, cells, true, int(binned.annotations.sum()) // fewest)
    if not np.array_equal(near, z):
        knots = np.union1d(z[[0, 1, -2, -1]], _through(x, near, z))
        x, y = knots, _through(_through(knots, z, near), x, y)
    return Calibration(*_slow_above_surest(x, y))


def _slow_above_surest(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Make a map rise slowly above a block's surest probability: float32 has few numbers near 1 to keep the order."""
    sure, most, end = logit(_SUREST), logit(_MOST), logit(_LARGEST)
    begin = _through(np.array([sure]), y, x)[0]
    if begin >= end or _through(np.array([end]), x, y)[0] <= most:
        return x, y
    below = x < begin
    return np.append(x[below], [begin, end]), np.append(y[below], [sure, most])


def _drawn_in(z: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return log odds; 0 and 1, which forests predict, count as half the smallest distance from them.

    Their log odds are infinite: the centre of a block that contains them would be far away from all cells.
    """
    is_inner = (there > 0) & (there < BINS - 1)
    if is_inner.all() or len(z) == 1:
        return z
    inner = z[is_inner] if is_inner.any() else np.zeros(1)
    return np.clip(z, inner[0] - np.log(2), inner[-1] + np.log(2))


def calibrate_strata(binned: BinnedCells, annotations: np.ndarray) -> AnyCalibration | None:
    """Estimate a map for each stratum from counted cells: docs/method.md, "Strata of labels".

    `binned`: in strata.
    `annotations`: int, shape (q,): annotations of each label in the whole training set. Cells of labels that a fold's
    model has never seen only resemble cells of labels that were never annotated, if there are any.
    Returns: one map if all labels are in one stratum; None as for `calibrate`.
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
    """Return the map for a stratum: the map for all strata, corrected by the annotations of the stratum."""
    there = np.flatnonzero(stratum.cells[0])
    if not len(there):
        return pooled
    z = pooled.log_odds(_centres(there))
    most = int(stratum.annotations[0]) // _FEWEST_ANNOTATIONS
    x, y = _fitted(z, stratum.cells[0, there], stratum.true[0, there], most, _SHRINKING)
    knots = np.union1d(pooled.predicted, _through(x, pooled.actual, pooled.predicted))
    return Calibration(*_slow_above_surest(knots, _through(pooled.log_odds(knots), x, y)))


def _fitted(
    z: np.ndarray, cells: np.ndarray, true: np.ndarray, most: int, shrinking: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a map to cells at log odds z, and return points of a line through the centres of at most `most` blocks."""
    from scipy.optimize import isotonic_regression  # is slow to import

    block = _blocks(cells, true, min(max(most, 1), _MOST_BLOCKS))
    size, hits = np.bincount(block, cells), np.bincount(block, true)
    if shrinking:
        expected = np.bincount(block, cells * expit(z))
        hits = expected * (hits + shrinking) / (expected + shrinking)
    share = np.minimum(np.clip(hits, _MARGIN, size - _MARGIN) / size, _SUREST)
    centre, target = np.bincount(block, cells * z) / size, logit(share)
    # In an outermost block, predictions say as little as between its centre and that of the next block.
    rise = np.clip(np.diff(target) / np.diff(centre), _LEAST_SLOPE, 1) if len(centre) > 1 else np.ones(1)
    below, above = rise[0] * (z[0] - centre[0]), rise[-1] * (z[-1] - centre[-1])
    x, which = np.unique([z[0], *centre, z[-1]], return_index=True)
    least, actual = _LEAST_SLOPE * centre, target
    for _ in range(_SWEEPS):  # until the mean of every block equals its share
        y = np.array([actual[0] + below, *actual, actual[-1] + above])[which]
        mean = np.bincount(block, cells * expit(_through(z, x, y))) / size
        moved = actual + target - logit(np.clip(mean, _LEAST, _LARGEST))
        actual = isotonic_regression(moved - least, weights=size).x + least
    return x, y


def _centres(numbers: np.ndarray) -> np.ndarray:
    """Return the log odds of the centres of bins."""
    return _log_odds((lower_edges(numbers).astype(float) + lower_edges(np.minimum(numbers + 1, BINS - 1))) / 2)


def _blocks(cells: np.ndarray, true: np.ndarray, most: int) -> np.ndarray:
    """Divide bins into blocks with rising shares of true labels; return the block number of each bin, ascending."""
    from scipy.optimize import isotonic_regression  # is slow to import

    total = true.sum()
    if not total:
        return np.zeros(len(cells), int)
    above = (np.cumsum(true[::-1])[::-1] - true) / total
    _, block = np.unique(-np.minimum(np.floor(above * most), most - 1), return_inverse=True)
    size = np.bincount(block, cells)
    rising = isotonic_regression(np.bincount(block, true) / size, weights=size).x
    least, largest = _MARGIN / size[0], min(1 - _MARGIN / size[-1], _SUREST)
    if rising[0] == 0 and least >= rising[1]:  # to find none among few cells says little
        rising[0] = rising[1]
    _, number = np.unique(np.minimum(rising, largest), return_inverse=True)
    return number[block]


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    return logit(np.clip(probabilities.astype(float), _LEAST, _LARGEST))


def _through(z: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Interpolate along the line through points (x, y), ascending, and at a slope of 1 beyond them."""
    beyond = np.maximum(z - x[-1], 0) + np.minimum(z - x[0], 0)
    return np.interp(z, x, y) + beyond
