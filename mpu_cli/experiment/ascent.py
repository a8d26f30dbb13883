"""The inner loops of `mpu_cli.experiment.methods.m3l_linear` and `m3l_rbf`, compiled where numba is installed.

Arrays of labels are contiguous, so that the innermost loops run over labels and become SIMD code.
"""

import numpy as np

from mpu_cli.runtime.run import numba_installed

if numba_installed():
    import numba

    from mpu_cli.runtime import compilation

    inlined, compiled = compilation.fused_inlined, compilation.compiled(fused=True)

    @numba.njit(inline="always")  # before it is compiled, since a row as an argument takes time
    def add(to, factor, row):
        """Add a multiple of a row to another."""
        for k in range(len(to)):
            to[k] += factor * row[k]

else:

    def compiled(function):  # noqa: D103
        return function

    inlined = compiled

    def add(to, factor, row):  # noqa: D103
        to += factor * row


@inlined
def ascend(scores, squared_norm, present, alpha, prior, cost, step, sums):
    """Maximise along the coordinates of one instance, label by label; changes scores, alpha, step and the sums.

    Adds to `sums` the gap and the primal objective of the instance, before. Returns whether anything has moved.
    """
    zero, one = np.float32(0), np.float32(1)
    for k in range(len(scores)):
        slack = one - scores[k] if present[k] else one + scores[k]
        loss = cost * max(slack, zero)
        sums[0] += loss - alpha[k] * slack
        sums[1] += loss + alpha[k] * (one - slack) / 2
    step[:] = 0
    moved = False
    for k in range(len(scores)):
        sign = one if present[k] else -one
        best = min(max(alpha[k] + (one - sign * scores[k]) / (prior[k, k] * squared_norm), zero), cost)
        if best != alpha[k]:
            change = sign * (best - alpha[k])
            alpha[k] = best
            moved = True
            add(scores, squared_norm * change, prior[k])
            add(step, change, prior[k])
    return moved


@compiled
def ascend_linear(indptr, indices, values, squared_norms, order, present, alpha, weights, prior, cost, sums):
    """Visit instances in turn and maximise the dual along each of their coordinates; changes alpha, weights and sums.

    `indptr`, `indices`, `values`: of the features, CSR; no row has an index twice.
    `squared_norms`: float32, shape (n,).
    `order`: the instances to visit.
    `present`: bool, shape (n, q): annotated labels: y = 1 where true, else -1.
    `alpha`: float32, shape (n, q): dual variables.
    `weights`: float32, shape (D, q): z_k in column k; they belong to alpha.
    `prior`: float32, shape (q, q): R.
    `sums`: float64, shape (2,): gets the duality gap and the primal objective, each instance's part at its visit.
    """
    scores, step = np.empty((2, weights.shape[1]), np.float32)
    for i in order:
        scores[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            add(scores, values[p], weights[indices[p]])
        if ascend(scores, squared_norms[i], present[i], alpha[i], prior, cost, step, sums):
            for p in range(indptr[i], indptr[i + 1]):
                add(weights[indices[p]], values[p], step)


@compiled
def ascend_batch(scores, gram, present, alpha, prior, cost, sums):
    """Visit the instances of a batch in turn, by their kernel values; changes scores, alpha and sums.

    `scores` (B x q) are <z_l, phi(x_i)>, and `gram` (B x B) is K(x_i, x_j); the others are as in `ascend_linear`.
    Returns: float32, shape (B, q): by which each z_k has grown: the sum over i of steps_ik phi(x_i).
    """
    steps = np.empty_like(scores)
    for i in range(len(scores)):
        if ascend(scores[i], gram[i, i], present[i], alpha[i], prior, cost, steps[i], sums):
            for j in range(i + 1, len(scores)):
                add(scores[j], gram[j, i], steps[i])
    return steps
