"""Decision thresholds that maximise micro-F1 on labels of which part is missing.

With label frequency c, each annotated label that is predicted stands for 1/c true ones (Kong et al. 2014, Section 2.1:
the annotated are a random share c of the true). So from probabilities P and annotations S, both n x q,

    tp(t) = sum over P >= t and S of 1/c,   F(t) = 2 tp(t) / (#{P >= t} + sum over S of 1/c)

estimates the micro-F1 that threshold t would reach on complete labels. With one c for all, the largest F is at most a
constant factor off where c is wrong, but its place hardly moves. In complete instances c is 1; ignored cells are in no
count (`LabelFrequency.counted`).
"""

import numpy as np
from scipy.sparse import csc_array, csr_array

from mpu_cli.core.bins import BinnedCells, lower_edges
from mpu_cli.core.label_frequency import LabelFrequency

# A label with fewer annotations keeps the pooled threshold.
FEWEST_ANNOTATIONS = 20
_PASSES = 3
_ROWS = 1 << 14


def pooled_threshold(probabilities: np.ndarray, labels: csr_array, frequency: LabelFrequency) -> tuple[float, float]:
    """One threshold for all labels.

    Parameters
    ----------
    probabilities : ndarray of float32, shape (n, q)
        Out-of-fold probabilities.
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    frequency : LabelFrequency
        Of these instances and labels.

    Returns
    -------
    threshold : float
        Predict where the probability is at least this.
    f1 : float
        The micro-F1 estimated at it; 0 without any annotation.

    Examples
    --------
    Half of the true labels are annotated, so the two annotated ones stand for four true ones.

    >>> probabilities = np.array([[0.9], [0.8], [0.7], [0.6], [0.1]], np.float32)
    >>> labels = csr_array(np.array([[1], [0], [0], [1], [0]], bool))
    >>> threshold, f1 = pooled_threshold(probabilities, labels, LabelFrequency.of(0.5, (5, 1)))
    >>> (probabilities[:, 0] >= threshold).tolist(), f1
    ([True, True, True, True, False], 1.0)
    """
    binned = BinnedCells.of(probabilities, labels, frequency)
    # From the top bin down: how many labels reach at least the lower edge of each bin.
    predicted, found = (np.cumsum(count[::-1])[::-1] for count in (binned.cells, binned.true))
    f1 = 2 * found / np.maximum(predicted + binned.true.sum(), 1)
    best = int(np.argmax(f1))
    return float(lower_edges(best)), float(f1[best])


def label_thresholds(
    probabilities: np.ndarray, labels: csr_array, frequency: LabelFrequency, start: float
) -> tuple[np.ndarray, float]:
    """One threshold a label, by coordinate ascent on the pooled F.

    Parameters
    ----------
    probabilities, labels, frequency : as in `pooled_threshold`
    start : float
        Where every label starts; labels with fewer than 20 annotations stay there.

    Returns
    -------
    thresholds : ndarray of float32, shape (q,)
    f1 : float
        The micro-F1 estimated at them.
    """
    n, q = probabilities.shape
    thresholds = np.full(q, start, np.float32)
    by_chance, certain = (part.tocsc() for part in frequency.counted(labels))
    rows, columns = frequency.ignored()
    ignored = csc_array((np.ones(len(rows), bool), (rows, columns)), shape=(n, q))
    annotations = np.diff(by_chance.indptr) + np.diff(certain.indptr)
    true = float(frequency.true_labels(labels).sum())
    predicted, found = _reaching(probabilities, labels, frequency, thresholds)
    predicted = predicted.astype(float)
    for _ in range(_PASSES):
        for k in np.flatnonzero(annotations >= FEWEST_ANNOTATIONS).tolist():
            others_predicted = predicted.sum() - predicted[k]
            others_found = found.sum() - found[k]
            p = probabilities[:, k]
            order = np.argsort(-p, kind="stable")
            order = order[~_instances(ignored, k)[order]]
            p = p[order]
            count = np.arange(1, len(p) + 1)
            hits, sure = (np.cumsum(_instances(part, k)[order]) for part in (by_chance, certain))
            hits = hits / frequency.rates[k] + sure
            f1 = 2 * (others_found + hits) / (others_predicted + count + true)
            f1[:-1][p[1:] == p[:-1]] = -1  # a threshold cannot part equal probabilities
            best = int(np.argmax(f1))
            if f1[best] > 2 * found.sum() / max(predicted.sum() + true, 1):
                thresholds[k], predicted[k], found[k] = p[best], count[best], hits[best]
    return thresholds, float(2 * found.sum() / max(predicted.sum() + true, 1))


def estimated_f1(
    probabilities: np.ndarray, labels: csr_array, frequency: LabelFrequency, thresholds: np.ndarray
) -> float:
    """Micro-F1 that given thresholds would reach on complete labels; arguments as in `pooled_threshold`."""
    predicted, found = _reaching(probabilities, labels, frequency, thresholds)
    true = frequency.true_labels(labels).sum()
    return float(2 * found.sum() / max(predicted.sum() + true, 1))


def _reaching(
    probabilities: np.ndarray, labels: csr_array, frequency: LabelFrequency, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Count, for each label, the cells that reach its threshold, and estimate how many of them are true."""

    def reaching(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.bincount(columns[probabilities[rows, columns] >= thresholds[columns]], minlength=len(thresholds))

    predicted = -reaching(*frequency.ignored())
    for start in range(0, len(probabilities), _ROWS):
        predicted += (probabilities[start : start + _ROWS] >= thresholds).sum(axis=0)
    by_chance, certain = frequency.counted(labels)
    return predicted, reaching(*by_chance.nonzero()) / frequency.rates + reaching(*certain.nonzero())


def _instances(labels: csc_array, k: int) -> np.ndarray:
    """Tell which instances have label k: bool, shape (n,)."""
    found = np.zeros(labels.shape[0], bool)
    found[labels.indices[labels.indptr[k] : labels.indptr[k + 1]]] = True
    return found
