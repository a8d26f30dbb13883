"""Dual coordinate descent compiled by numba: the same steps as `numpy_dual`, which is the reference, in the same order.

As in `numba_kernel`, the innermost loops run over the labels of a block and become SIMD code.
"""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import SIMD
from mpu_cli.core.kernels.numba_kernel import frequency_arrays, look_up
from mpu_cli.core.kernels.numpy_dual import LARGEST_COST
from mpu_cli.core.kernels.numpy_kernel import Batches
from mpu_cli.core.kernels.order import visited
from mpu_cli.runtime.compilation import compiled


def descend_dual(
    batches: Batches,
    annotated: csr_array,
    frequency: LabelFrequency,
    *,
    cost: float,
    bias_norm: float,
    epochs: int,
    rng: np.random.Generator,
    offsets: csr_array | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the weighted squared hinge of a block of labels; arguments and result as in `numpy_dual`."""
    n, q = len(batches.rows), annotated.shape[1]
    padded = -(-q // SIMD) * SIMD
    sparse, dense = batches.features.sparse, batches.features.dense
    v, bias = np.zeros((batches.features.width, padded), np.float32), np.zeros(padded, np.float32)
    a = np.zeros((n, padded), np.float32)
    rates, exceptions = frequency_arrays(frequency, padded)
    if offsets is None:
        offsets = csr_array((0, q), dtype=np.float32)
    norms = batches.features.squared_norms[batches.rows].astype(np.float32)
    for _ in range(epochs):
        _pass(
            sparse.indptr,
            sparse.indices,
            sparse.data,
            dense,
            batches.rows,
            visited(n, 1, rng),
            norms,
            annotated.indptr,
            annotated.indices,
            rates,
            *exceptions,
            offsets.indptr,
            offsets.indices,
            offsets.data,
            cost,
            bias_norm,
            v,
            bias,
            a,
        )
    return v[:, :q], bias[:q]


@compiled(fused=True)
def _pass(
    indptr,
    indices,
    values,
    dense,
    rows,
    order,
    norms,
    label_indptr,
    labels,
    rates,
    of_instances,
    cell_indptr,
    cell_labels,
    of_cells,
    offset_indptr,
    offset_labels,
    offsets,
    cost,
    bias_norm,
    v,
    bias,
    a,
):
    """One pass over the instances; changes v, bias and the dual variables a, in the order of the rows."""
    q, d = v.shape[1], dense.shape[1]
    D = v.shape[0] - d
    z, y, k = np.empty(q, np.float32), np.empty(q, np.float32), np.empty(q, np.float32)
    of_bias = np.float32(bias_norm)
    c = rates.copy()
    for i in order:
        r = rows[i]
        z[:] = bias
        for p in range(indptr[r], indptr[r + 1]):
            x, w = values[p], v[indices[p]]
            for j in range(q):
                z[j] += x * w[j]
        for f in range(d):
            x, w = dense[r, f], v[D + f]
            for j in range(q):
                z[j] += x * w[j]
        if len(offsets):
            for p in range(offset_indptr[r], offset_indptr[r + 1]):
                z[offset_labels[p]] += offsets[p]
        if len(of_instances):
            look_up(c, rates, of_instances[r], cell_labels, of_cells, cell_indptr[r], cell_indptr[r + 1])
        for j in range(q):
            y[j] = -1
            k[j] = np.float32(2 * cost) if c[j] > 0 else np.float32(0)
        for p in range(label_indptr[r], label_indptr[r + 1]):
            j = labels[p]
            y[j] = 1
            k[j] = min(2 * cost * (2 / np.float64(c[j]) - 1), LARGEST_COST)
        _step(z, y, k, a[i], norms[i] + of_bias)
        for p in range(indptr[r], indptr[r + 1]):
            x, w = values[p], v[indices[p]]
            for j in range(q):
                w[j] += x * z[j]
        for f in range(d):
            x, w = dense[r, f], v[D + f]
            for j in range(q):
                w[j] += x * z[j]
        for j in range(q):
            bias[j] += of_bias * z[j]


@compiled(fused=True)
def _step(z, y, k, a, norm):
    """Move the dual variables of an instance, and replace its scores by the changes."""
    one, zero = np.float32(1), np.float32(0)
    for j in range(len(z)):
        after = max(a[j] - (k[j] * (y[j] * z[j] - one) + a[j]) / (k[j] * norm + one), zero)
        z[j] = y[j] * (after - a[j])
        a[j] = after
