"""Label correlations for completion: Pr(y_k=1 | x, s_j of all j other than k).

A model predicts from the features x alone, since a new instance has no annotations. Instances in the data have some,
which are more informative than features if labels are correlated: docs/method.md, "Missing labels".
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.calibration import HeldOut, calibrate
from mpu_cli.core.features import entry_rows, with_values
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.loss.pu_logistic import pu_gradient
from mpu_cli.core.predictions import Predictions
from mpu_cli.core.sample import draw
from mpu_cli.core.validation import deal, without
from mpu_cli.people.posteriors import Evidence, log_odds
from mpu_cli.runtime.run import DEFAULT_RUN, Run

FOLDS = 5
# The parameters of a fold are learned from at most this many instances and cells.
_MOST_INSTANCES, _MOST_CELLS = 20_000, 1 << 22
# Inverse variances of the priors.
_OF_SLOPES, _OF_BIASES, _OF_WEIGHTS = 100.0, 10.0, 3.0
_ITERATIONS = 30
# The limit of the log odds of predictions.
_LARGEST_LOG_ODDS = 20.0
# Few enough to stay in the processor's cache.
_CELLS_AT_A_TIME = 1 << 16


# Turns predicted log odds, float32, shape (n, q), and s (1 - p) into log odds given the other labels.
_Given = Callable[[np.ndarray, csr_array], np.ndarray]


def given_other_labels(evidence: Evidence, annotated: csr_array, run: Run = DEFAULT_RUN) -> Predictions:
    """Return Pr(y_k=1 | x, annotations of the labels other than k) of all cells.

    Returns: ndarray or csr_array of float32, shape (n, q): calibrated. Unchanged if sparse (labels are many), if no
    instance has two labels, or if the other labels do not predict annotations better, out of fold.

    Two labels are true in the same instances, and half of each label's cells are annotated; features are useless.

    >>> rng = np.random.default_rng(0)
    >>> true = np.repeat(rng.random((2000, 1)) < 0.3, 2, axis=1)
    >>> annotated = csr_array(true & (rng.random((2000, 2)) < 0.5))
    >>> predicted = np.full((2000, 2), 0.3, np.float32)
    >>> corrected = given_other_labels(Evidence(predicted, LabelFrequency.of(0.5, (2000, 2))), annotated)
    >>> first, second = annotated.toarray().T
    >>> [round(float(corrected[rows, 1].mean()), 1) for rows in (first, ~first)]
    [0.9, 0.2]
    """
    probabilities, frequency = evidence.probabilities, evidence.frequency
    if not isinstance(probabilities, np.ndarray):
        return probabilities
    n, q = probabilities.shape
    positive = csr_array(frequency.positives(annotated).astype(np.float32))
    positive.eliminate_zeros()
    if np.diff(positive.indptr).max(initial=0) < 2:
        return probabilities
    corrected = np.empty((n, q), np.float32)

    def predict_fold(rows: np.ndarray) -> None:
        others = without(rows, n)
        others = others[draw(len(others), min(_MOST_INSTANCES, _MOST_CELLS // q), run.seed)]
        given = _fit(probabilities[others], positive[others], frequency.rows(others))
        for block in _blocks(len(rows), q):
            p = probabilities[rows[block]]
            corrected[rows[block]] = expit(given(log_odds(p, _LARGEST_LOG_ODDS), _evidence(p, positive[rows[block]])))

    for _ in run.in_threads(predict_fold, deal(n, FOLDS, run.seed, evidence.kin)):
        pass
    calibration = calibrate(HeldOut(corrected, annotated, frequency))
    if calibration is not None:
        calibration.apply(corrected)
    before, after = (_loss(values, positive, frequency) for values in (probabilities, corrected))
    return corrected if after < before else probabilities


def _fit(probabilities: np.ndarray, positive: csr_array, frequency: LabelFrequency) -> _Given:
    """Fit the weights to predictions, positive labels and their frequency."""
    from scipy.optimize import minimize  # is slow to import

    q = probabilities.shape[1]
    together = (positive.T @ positive).toarray()
    np.fill_diagonal(together, 0)
    of, on = np.nonzero(together)  # other weights stay 0
    m = len(of)
    learned = together.any(axis=0)  # p of a label that never occurs with others is unchanged
    blocks = []  # log odds of p; s (1 - p) and its transpose; s; c
    for rows in _blocks(*probabilities.shape):
        evidence = _evidence(probabilities[rows], positive[rows])
        c = np.asarray(frequency.rows(rows).of_cells(slice(None)), np.float32)
        z = log_odds(probabilities[rows], _LARGEST_LOG_ODDS)
        blocks.append((z, evidence, csr_array(evidence.T), positive[rows].toarray(), c))

    def by(values: np.ndarray) -> _Given:
        weights = np.zeros((q, q), np.float32)  # v_jk: row j, column k
        weights[of, on] = values[:m]
        slopes, biases = values[m:].astype(np.float32).reshape(2, q)  # a and b

        def given(predicted: np.ndarray, evidence: csr_array) -> np.ndarray:
            z = evidence @ weights
            z += predicted * slopes
            z += biases
            return z

        return given

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        now = by(values)
        weights, (slopes, biases) = values[:m], values[m:].reshape(2, q)
        loss = (_OF_WEIGHTS * weights @ weights + _OF_SLOPES * (slopes - 1) @ (slopes - 1)) / 2
        loss += _OF_BIASES * biases @ biases / 2
        by_weights = np.zeros((q, q), np.float32)
        by_slopes, by_biases = _OF_SLOPES * (slopes - 1), _OF_BIASES * biases
        for predicted, evidence, transposed, s, c in blocks:
            z = now(predicted, evidence)
            loss += _loss_of(expit(z), s, c)
            gradient = pu_gradient(z, s, c)
            gradient *= learned
            by_weights += transposed @ gradient
            by_slopes += np.einsum("ik,ik->k", gradient, predicted)
            by_biases += gradient.sum(axis=0)
        return float(loss), np.concatenate([by_weights[of, on] + _OF_WEIGHTS * weights, by_slopes, by_biases])

    start = np.concatenate([np.zeros(m), np.ones(q), np.zeros(q)])
    bounds = [(0, None)] * m + [(None, None)] * (2 * q)
    limits = {"maxiter": _ITERATIONS, "ftol": 1e-6}  # relative, about the precision of sums in 32 bits
    return by(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits).x)


def _evidence(probabilities: np.ndarray, positive: csr_array) -> csr_array:
    """Return s (1 - p)."""
    rows = entry_rows(positive)
    return with_values(positive, positive.data * (1 - probabilities[rows, positive.indices]))


def _loss(probabilities: np.ndarray, positive: csr_array, frequency: LabelFrequency) -> float:
    """Return the negative log likelihood of the annotations, up to a constant."""
    return sum(
        _loss_of(probabilities[rows], positive[rows].toarray(), frequency.rows(rows).of_cells(slice(None)))
        for rows in _blocks(*probabilities.shape)
    )


def _blocks(n: int, q: int) -> Iterator[slice]:
    """Split instances into blocks."""
    step = max(1, _CELLS_AT_A_TIME // q)
    return (slice(start, start + step) for start in range(0, n, step))


def _loss_of(p: np.ndarray, s: np.ndarray, c: np.ndarray) -> float:
    """Sum the PU loss of probabilities."""
    smallest = np.finfo(np.float32).tiny
    return -float(np.log(np.maximum(np.where(s > 0, p, 1 - np.asarray(c, p.dtype) * p), smallest)).sum(dtype=float))
