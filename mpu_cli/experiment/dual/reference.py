"""Dual coordinate ascent of M3L in NumPy: the reference kernel, which reads like the formulas of `experiment.dual`."""

import numpy as np
from scipy.sparse import csr_array


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
    """Visit instances in turn and maximise the dual along each of their coordinates; changes alpha and weights.

    `matrix`: csr_array, shape (n, D), float32: features; no row has an index twice.
    `squared_norms`: float32, shape (n,).
    `order`: the instances to visit.
    `present`: bool, shape (n, q): annotated labels: y = 1 where true, else -1.
    `alpha`: float32, shape (n, q): dual variables.
    `weights`: float32, shape (D, q): z_k in column k; they belong to alpha.
    `prior`: float32, shape (q, q): R.
    Returns: duality gap and primal objective, each instance's part with the weights of the moment of its visit.
    """
    gap = primal = 0.0
    step = np.empty(weights.shape[1], weights.dtype)
    for i in order:
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        columns, x = matrix.indices[entries], matrix.data[entries]
        scores = x @ weights[columns]
        gap_i, primal_i, moved = _ascend(scores, squared_norms[i], present[i], alpha[i], prior, cost, step)
        gap += gap_i
        primal += primal_i
        if moved:
            weights[columns] += np.outer(x, step)
    return gap, primal


def ascend_batch(
    scores: np.ndarray, gram: np.ndarray, present: np.ndarray, alpha: np.ndarray, prior: np.ndarray, cost: float
) -> tuple[np.ndarray, float, float]:
    """Visit the instances of a batch in turn, by their kernel values; changes scores and alpha.

    `scores` (B x q) are <z_l, phi(x_i)>, and `gram` (B x B) is K(x_i, x_j); the others are as in `ascend_linear`.
    Return steps (B x q), by which each z_k has grown: the sum over i of steps_ik phi(x_i); and the gap and the primal
    objective.
    """
    gap = primal = 0.0
    steps = np.zeros_like(scores)
    for i in range(len(scores)):
        gap_i, primal_i, moved = _ascend(scores[i], gram[i, i], present[i], alpha[i], prior, cost, steps[i])
        gap += gap_i
        primal += primal_i
        if moved:
            scores[i + 1 :] += np.outer(gram[i + 1 :, i], steps[i])
    return steps, gap, primal


def _ascend(scores, squared_norm, present, alpha, prior, cost, step) -> tuple[float, float, bool]:
    """Maximise along the coordinates of one instance, label by label; changes scores, alpha and step.

    A label whose coordinate is at its optimum is skipped: its step would have length zero.
    """
    sign = np.where(present, np.float32(1), np.float32(-1))
    slack = 1 - sign * scores
    loss = cost * np.maximum(slack, 0)
    gap = np.sum(loss - alpha * slack, dtype=np.float64)
    primal = np.sum(loss + alpha * (1 - slack) / 2, dtype=np.float64)

    step[:] = 0
    moved = False
    first = 0
    with np.errstate(divide="ignore"):  # an instance of zeros: the dual grows without bound, up to alpha = C
        while True:
            slack = 1 - sign[first:] * scores[first:]
            best = alpha[first:] + slack / (np.diagonal(prior)[first:] * squared_norm)
            best = np.clip(best, 0, cost)
            changed = np.flatnonzero(best != alpha[first:])
            if not len(changed):
                return gap, primal, moved
            k = first + changed[0]
            change = sign[k] * (best[changed[0]] - alpha[k])
            alpha[k] = best[changed[0]]
            scores += squared_norm * change * prior[k]
            step += change * prior[k]
            moved = True
            first = k + 1
