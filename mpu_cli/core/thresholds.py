"""Decision thresholds that maximise micro-F1, or macro-F1, on labels that are partly missing.

With label frequency c, each annotated label that is predicted represents 1/c true ones, from which the micro-F1 that a
threshold would reach on complete labels is estimated: docs/method.md, "Thresholds". With one c for all labels, an error
in c changes the largest F by at most a constant factor, and hardly moves its threshold. In complete instances c is 1;
ignored cells are not counted (`LabelFrequency.by_chance_and_certain`).

Macro-F1 depends on single labels, which may have few annotations. So a label's F is not counted, but expected from
calibrated probabilities (`core.calibration`, learned from all labels together).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.calibration import (
    AnyCalibration,
    BinnedCells,
    Calibration,
    HeldOut,
    StratifiedCalibration,
    calibrate,
    lower_edges,
)
from mpu_cli.core.frequency.estimators import Z_90
from mpu_cli.core.options import MACRO_F1, PER_LABEL
from mpu_cli.core.predictions import UNSEEN, Predictions, by_label, count_positives, f1_score, over

# A label with fewer annotations keeps the pooled threshold.
FEWEST_ANNOTATIONS = 20
_PASSES = 3


def pooled_threshold(held_out: HeldOut) -> tuple[float, float]:
    """Return one threshold for all labels, and the micro-F1 estimated at it; 0 if there are no annotations.

    Half of the true labels are annotated, so the two annotated ones represent four true ones.

    >>> from mpu_cli.core.frequency.label_frequency import LabelFrequency
    >>> probabilities = np.array([[0.9], [0.8], [0.7], [0.6], [0.1]], np.float32)
    >>> labels = csr_array(np.array([[1], [0], [0], [1], [0]], bool))
    >>> threshold, f1 = pooled_threshold(HeldOut(probabilities, labels, LabelFrequency.of(0.5, (5, 1))))
    >>> (probabilities[:, 0] >= threshold).tolist(), f1
    ([True, True, True, True, False], 1.0)
    """
    return best_threshold(BinnedCells.of(held_out))


def best_threshold(binned: BinnedCells, calibration: AnyCalibration | None = None) -> tuple[float, float]:
    """Return, from counts, one threshold for calibrated predictions of all labels, and the micro-F1 estimated at it.

    If the calibration is in strata, the counts are in strata too (`StratifiedCalibration.merged`).
    """
    if isinstance(calibration, StratifiedCalibration):
        binned = calibration.merged(binned)
    cells, true = (count.sum(axis=0) for count in (binned.cells, binned.true))
    # From the top bin down: the number of labels that reach the lower edge of each bin with cells, and of the last bin.
    there = np.append(np.flatnonzero((cells[:-1] != 0) | (true[:-1] != 0)), len(cells) - 1)
    predicted, true_positives = (np.cumsum(count[there][::-1])[::-1] for count in (cells, true))
    f1 = f1_score(true_positives, predicted, true.sum())
    # All thresholds between two cells are equally good: the one in the middle is equally far from both.
    best = int(np.argmax(f1))
    last = best + int(np.argmin(np.append(f1[best:], -1) == f1[best])) - 1
    ends = np.array([there[best - 1] + 1 if best else 0, there[last]])
    threshold = lower_edges(ends).mean(keepdims=True).astype(np.float32)
    if isinstance(calibration, Calibration):
        threshold = calibration(threshold)
    return float(threshold[0]), float(f1[best])


def label_thresholds(held_out: HeldOut, start: float) -> np.ndarray:
    """Return one threshold per label, by coordinate ascent on the pooled F.

    `start`: the initial threshold of every label; labels with fewer than 20 annotations keep it.
    """
    labels, frequency = held_out.labels, held_out.frequency
    thresholds = np.full(labels.shape[1], start, np.float32)
    parts = frequency.by_chance_and_certain(labels)
    annotations = sum(np.bincount(part.indices, minlength=labels.shape[1]) for part in parts)
    ranked = _ranked(held_out)
    true = float(frequency.true_labels(labels).sum())
    predicted, true_positives = _reaching(held_out, thresholds)
    predicted = predicted.astype(float)
    for _ in range(_PASSES):
        for k in np.flatnonzero(annotations >= FEWEST_ANNOTATIONS).tolist():
            others_predicted = predicted.sum() - predicted[k]
            others_true_positives = true_positives.sum() - true_positives[k]
            p, hits = ranked(k)
            if not len(p):
                continue
            count = np.arange(1, len(p) + 1)
            f1 = f1_score(others_true_positives + hits, others_predicted + count, true)
            f1[:-1][p[1:] == p[:-1]] = -1  # a threshold cannot separate equal probabilities
            best = int(np.argmax(f1))
            if f1[best] > f1_score(true_positives.sum(), predicted.sum(), true):
                below = np.nextafter(p[best], np.float32(0))  # cells that float32 has rounded up reach it too
                thresholds[k] = p[best] if below in p[best + 1 : best + 2] else below
                predicted[k], true_positives[k] = count[best], hits[best]
    return thresholds


def macro_thresholds(probabilities: Predictions, otherwise: float) -> np.ndarray:
    """Return one threshold per label, which maximises the label's expected F1 (docs/method.md, "Thresholds").

    One more instance raises F if its probability is above F / 2, so that the best threshold is half the largest F
    (Ye, Chai, Lee and Chieu, "Optimizing F-measures: A tale of two approaches", ICML 2012).

    `probabilities`: calibrated.
    `otherwise`: the threshold of labels that are not predicted for any instance.
    Returns: float32, shape (q,).

    Of three predictions, the first two have the largest expected F1: 2 (0.9 + 0.7) / (2 + 1.8).

    >>> macro_thresholds(np.array([[0.9], [0.7], [0.2]], np.float32), otherwise=0.5).round(2)
    array([0.42], dtype=float32)
    """
    of_label = by_label(probabilities)
    thresholds = np.full(probabilities.shape[1], otherwise, np.float32)
    for k in range(len(thresholds)):
        true = np.cumsum(np.sort(of_label(k)[1])[::-1], dtype=float)
        if len(true) and true[-1]:
            thresholds[k] = np.max(true / (np.arange(1, len(true) + 1) + true[-1]))
    return thresholds


def uncalibrated_macro_thresholds(held_out: HeldOut, otherwise: float) -> np.ndarray:
    """Return `macro_thresholds` for predictions that are not calibrated yet, on their own scale."""
    calibration = calibrate(held_out)
    if calibration is None:  # no label is annotated
        return np.full(held_out.labels.shape[1], otherwise, np.float32)
    calibration.apply(calibrated := held_out.probabilities.copy())
    return calibration.reverse(macro_thresholds(calibrated, otherwise))


def chosen_thresholds(held_out: HeldOut, criterion: str | float) -> tuple[np.ndarray, "ExpectedF1"]:
    """Choose thresholds as `decide` does, for dense predictions, which are unchanged."""
    return decide(held_out, BinnedCells.of(held_out), criterion, np.arange(held_out.labels.shape[1]))


def estimated_macro_f1(held_out: HeldOut) -> float:
    """Estimate the macro-F1 over annotated labels that predictions would reach on complete labels at macro thresholds.

    True positives are counted, as in `pooled_threshold`: no label's threshold was chosen by its own annotations.
    """
    weights, true = held_out.weights, held_out.frequency.true_labels(held_out.labels)
    annotated = true > 0
    if not annotated.any():
        return 0.0
    predicted, true_positives = _reaching(held_out, uncalibrated_macro_thresholds(held_out, 0.5))
    f1 = f1_score(true_positives, predicted, true)[annotated]
    return float(np.average(f1, weights=None if weights is None else weights[annotated]))


@dataclass(frozen=True)
class ExpectedF1:
    """The micro-F1 that thresholds would reach on complete labels."""

    predicted: float  # cells that reach their threshold
    # `by_chance`, `certain`: the estimated numbers of true labels, and of those predicted: from annotations that
    # represent 1/c true labels each, and from those that represent one each
    by_chance: tuple[float, float]
    certain: tuple[float, float]
    deviation: float  # standard deviation of the F1 by the sampling of instances, by the delta method

    @property
    def f1(self) -> float:
        """Return the F1 at the estimated or given c."""
        return self._at(1.0)

    def _at(self, ratio: float) -> float:
        """Return the F1 if c were this many times as large; estimates from few labels are limited to 1."""
        (true, predicted_true), (sure, predicted_sure) = self.by_chance, self.certain
        return min(float(f1_score(predicted_true / ratio + predicted_sure, self.predicted + true / ratio, sure)), 1.0)

    def interval(self, range_of_c: tuple[float, float] = (1.0, 1.0)) -> tuple[float, float]:
        """Return a 90 % interval of the F1, from the sampling of instances and the range of c, in multiples of c.

        The larger c, the fewer labels are true, and the lower the expected F1. Both errors are independent.
        """
        half = Z_90 * self.deviation
        low, high = (float(np.hypot(self._at(ratio) - self.f1, half)) for ratio in reversed(range_of_c))
        return max(self.f1 - low, 0.0), min(self.f1 + high, 1.0)


def expected_f1(held_out: HeldOut, thresholds: np.ndarray) -> ExpectedF1:
    """Estimate the micro-F1 of thresholds on complete labels.

    Of 100 predictions, 40 are annotated, so that with c = 0.5 another 40 are true; 10 annotated ones are not predicted.

    >>> from mpu_cli.core.frequency.label_frequency import LabelFrequency
    >>> probabilities = np.array([0.9] * 100 + [0.1] * 10, np.float32)[:, None]
    >>> labels = csr_array((np.arange(110) % 100 < 40)[:, None] | (np.arange(110) >= 100)[:, None])
    >>> held_out = HeldOut(probabilities, labels, LabelFrequency.of(0.5, (110, 1)))
    >>> expected = expected_f1(held_out, np.array([0.5], np.float32))
    >>> round(expected.f1, 2), [round(end, 2) for end in expected.interval((0.9, 1.2))]
    (0.8, [0.67, 0.91])
    """
    reach, labels, frequency = _counted_cells(held_out, thresholds), held_out.labels, held_out.frequency
    by_chance, certain = frequency.by_chance_and_certain(labels)
    rows, columns = by_chance.nonzero()
    weights = csr_array((1 / frequency.of_unverified(rows, columns), (rows, columns)), shape=labels.shape)
    counts = [reach, weights, reach.multiply(weights), certain, reach.multiply(certain)]
    of_instances = np.array([count.sum(axis=1, dtype=float) for count in counts])
    predicted, true, predicted_true, sure, predicted_sure = of_instances
    n_predicted, n_true, n_predicted_true, n_sure, n_predicted_sure = of_instances.sum(axis=1).tolist()
    size = max(n_predicted + n_true + n_sure, 1)
    errors = 2 * (predicted_true + predicted_sure)
    f1 = errors.sum() / size
    errors -= f1 * (predicted + true + sure)
    # As if there were one more instance, all right or all wrong: a few equal instances do not determine F exactly.
    deviation = float(np.hypot(np.linalg.norm(errors) / size, max(f1, 1 - f1) / len(errors)))
    return ExpectedF1(n_predicted, (n_true, n_predicted_true), (n_sure, n_predicted_sure), deviation)


def reached(predictions: Predictions, thresholds: np.ndarray) -> csr_array:
    """Return the cells whose prediction reaches the threshold of the label: csr_array of bool, shape (n, q)."""
    if isinstance(predictions, np.ndarray):
        return csr_array(predictions >= thresholds)
    return over(predictions, thresholds[predictions.indices])


def _counted_cells(held_out: HeldOut, thresholds: np.ndarray) -> csr_array:
    """Return the cells that reach the threshold of the label, without the ignored ones: csr_array of bool."""
    return csr_array(reached(held_out.probabilities, thresholds) > _ignored(held_out))


def _ignored(held_out: HeldOut) -> csr_array:
    rows, columns = held_out.frequency.ignored()
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape=held_out.labels.shape)


def _ranked(held_out: HeldOut) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Return a function that maps a label to its probabilities, descending, and the cumulative numbers of true ones.

    Ignored cells, and predictions that are not kept, are left out.
    """
    frequency = held_out.frequency
    parts = held_out.probabilities, _ignored(held_out), *frequency.by_chance_and_certain(held_out.labels)
    kept, left_out, *true = map(by_label, parts)

    def of_label(k: int) -> tuple[np.ndarray, np.ndarray]:
        instances, p = kept(k)
        counted = ~np.isin(instances, left_out(k)[0])
        order = np.argsort(-p[counted], kind="stable")
        instances, p = instances[counted][order], p[counted][order]
        hits, sure = (np.isin(instances, part(k)[0]) for part in true)
        if frequency.of_instances is None:
            return p, np.cumsum(hits) / frequency.rates[k] + np.cumsum(sure)
        return p, np.cumsum(hits / frequency.of_instances[instances] + sure)

    return of_label


def _reaching(held_out: HeldOut, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count, for each label, the cells that reach its threshold, and estimate how many of them are true."""
    reach, frequency = _counted_cells(held_out, thresholds), held_out.frequency
    by_chance, certain = (csr_array(reach.multiply(part)) for part in frequency.by_chance_and_certain(held_out.labels))
    return count_positives(reach), frequency.true_of(*by_chance.nonzero()) + count_positives(certain)


def decide(
    held_out: HeldOut,
    binned: BinnedCells,
    criterion: str | float,
    annotated: np.ndarray,
    calibration: AnyCalibration | None = None,
) -> tuple[np.ndarray, ExpectedF1]:
    """Turn held-out predictions into probabilities, in place, and choose the threshold of each label.

    `binned`: the counts of these predictions, or of those of annotated labels.
    `criterion`: one of `options.CRITERIA`, or the threshold of all labels.
    `annotated`: the labels that are annotated in at least one instance. The others get the pooled threshold.
    `calibration`: default: predictions are unchanged.
    Returns: the thresholds, float32, shape (q,); and the expected micro-F1 at them.
    """
    if calibration is not None:
        calibration.apply(held_out.probabilities, held_out.made_by)
    threshold = best_threshold(binned, calibration)[0] if isinstance(criterion, str) else criterion
    counted = annotated
    if isinstance(calibration, StratifiedCalibration):
        if UNSEEN in calibration.strata:
            counted = np.arange(held_out.labels.shape[1])
        else:  # the final model has seen all labels, so it cannot predict unseen ones
            held_out = held_out.without_unseen()
    labelled = held_out.of_labels(annotated)
    chosen = np.full(held_out.labels.shape[1], threshold, np.float32)
    if criterion == PER_LABEL:
        chosen[annotated] = label_thresholds(labelled, threshold)
    elif criterion == MACRO_F1 and calibration is None:
        chosen[annotated] = uncalibrated_macro_thresholds(labelled, threshold)
    elif criterion == MACRO_F1:
        chosen[annotated] = macro_thresholds(labelled.probabilities, threshold)
    return chosen, expected_f1(labelled if counted is annotated else held_out, chosen[counted])
