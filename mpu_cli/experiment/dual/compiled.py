"""Dual coordinate ascent of M3L compiled by numba: the steps of `reference`, in the same order.

Weights are stored label-contiguous, so that the innermost loops run over labels and become SIMD code.
"""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.runtime.compilation import compiled


def ascend_linear(
    matrix: csr_array,
    squared_norms: np.ndarray,
    order: np.ndarray,
    present: np.ndarray,
    alpha: np.ndarray,
    weights: np.ndarray,
    prior: np.ndarray,
    cost: float,
) -> tuple[float, float]:
    """Visit instances in turn; arguments and result as in `reference.ascend_linear`."""
    arrays = matrix.indptr, matrix.indices, matrix.data
    return _ascend_linear(*arrays, squared_norms, order, present, alpha, weights, prior, np.float32(cost))


def ascend_batch(
    scores: np.ndarray, gram: np.ndarray, present: np.ndarray, alpha: np.ndarray, prior: np.ndarray, cost: float
) -> tuple[np.ndarray, float, float]:
    """Visit the instances of a batch in turn; arguments and result as in `reference.ascend_batch`."""
    return _ascend_batch(scores, gram, present, alpha, prior, np.float32(cost))


@compiled(fused=True)
def _ascend_linear(indptr, indices, values, squared_norms, order, present, alpha, weights, prior, cost):
    q = weights.shape[1]
    scores = np.empty(q, np.float32)
    step = np.empty(q, np.float32)
    gap = primal = np.float64(0)
    for i in order:
        scores[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            x, w = values[p], weights[indices[p]]
            for k in range(q):
                scores[k] += x * w[k]
        gap_i, primal_i, moved = _ascend(scores, squared_norms[i], present[i], alpha[i], prior, cost, step)
        gap += gap_i
        primal += primal_i
        if moved:
            for p in range(indptr[i], indptr[i + 1]):
                x, w = values[p], weights[indices[p]]
                for k in range(q):
                    w[k] += x * step[k]
    return gap, primal


@compiled(fused=True)
def _ascend_batch(scores, gram, present, alpha, prior, cost):
    B, q = scores.shape
    steps = np.empty((B, q), np.float32)
    gap = primal = np.float64(0)
    for i in range(B):
        step = steps[i]
        gap_i, primal_i, moved = _ascend(scores[i], gram[i, i], present[i], alpha[i], prior, cost, step)
        gap += gap_i
        primal += primal_i
        if moved:
            for j in range(i + 1, B):
                x, row = gram[j, i], scores[j]
                for k in range(q):
                    row[k] += x * step[k]
    return steps, gap, primal


@compiled(fused=True)
def _ascend(scores, squared_norm, present, alpha, prior, cost, step):
    """Maximise along the coordinates of one instance, label by label; changes scores, alpha and step."""
    zero, one = np.float32(0), np.float32(1)
    q = len(scores)
    gap = primal = np.float64(0)
    for k in range(q):
        slack = one - scores[k] if present[k] else one + scores[k]
        loss = cost * max(slack, zero)
        gap += loss - alpha[k] * slack
        primal += loss + alpha[k] * (one - slack) / 2

    step[:] = 0
    moved = False
    for k in range(q):
        sign = one if present[k] else -one
        best = alpha[k] + (one - sign * scores[k]) / (prior[k, k] * squared_norm)
        best = min(max(best, zero), cost)
        if best == alpha[k]:
            continue
        change = sign * (best - alpha[k])
        alpha[k] = best
        moved = True
        row = prior[k]
        length = squared_norm * change
        for m in range(q):
            scores[m] += length * row[m]
            step[m] += change * row[m]
    return gap, primal, moved
