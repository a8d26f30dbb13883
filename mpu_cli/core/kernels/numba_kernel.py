"""PU-SGD compiled by numba: the same steps as `numpy_kernel`, which is the reference, in the same order.

Weights are stored label-contiguous, so that the innermost loops run over the labels of a block and become SIMD code.
Nothing of the data is copied: instances are read from the one CSR array in the order given.
"""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import SIMD
from mpu_cli.core.kernels.numba_ranking import top_scores as top_scores
from mpu_cli.core.kernels.numpy_kernel import SMALL_GRADIENT, THINNED_TO_ONE_IN, Batches
from mpu_cli.core.kernels.order import visited
from mpu_cli.core.kernels.prefetch import prefetch
from mpu_cli.runtime.compilation import compiled

# Labels learned together: a row of weights then fills few cache lines, and two threads share the labels of RCV1.
BLOCK_SIZE = 64
# So many instances ahead, within a batch, data are asked for: instances are visited in random order, and waiting for
# their data took a fifth of the time.
_AHEAD = 2


def prepare(features: Features, rows: np.ndarray, batch_size: int) -> Batches:
    """Cut instances into mini-batches; arguments as in `numpy_kernel.prepare`."""
    return Batches(features, rows, batch_size)


def descend(
    batches: Batches,
    annotated: csr_array,
    frequency: LabelFrequency,
    bias: np.ndarray,
    *,
    step: float,
    bias_step: float,
    decay: float,
    epochs: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
    seen: int = 0,
    offsets: csr_array | None = None,
    thin: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the PU loss of a block of labels; arguments and result as in `numpy_kernel.descend`."""
    n, q = len(batches.rows), annotated.shape[1]
    padded = -(-q // SIMD) * SIMD  # loops without a remainder took 0.8 of the time for 45 labels
    sparse, dense = batches.features.sparse, batches.features.dense
    n_batches = -(-n // batches.size)
    v = np.zeros((batches.features.width, padded), np.float32)
    if weights is not None:
        np.multiply(weights, np.float32(1 + decay * step * seen), out=v[:, :q])
    mean_v = v if epochs == 1 else np.zeros_like(v)  # the mean of one needs no memory of its own
    bias = np.pad(bias, (0, padded - q), constant_values=-np.inf)  # labels that are never true have no gradient
    rates, exceptions = frequency_arrays(frequency, padded)
    if offsets is None:
        offsets = csr_array((0, q), dtype=np.float32)
    mean_bias = np.zeros_like(bias)
    first_averaged = epochs // 2
    annotation = annotated.data.astype(np.float32)
    for epoch in range(epochs):
        _epoch(
            sparse.indptr,
            sparse.indices,
            sparse.data,
            dense,
            batches.rows,
            batches.size,
            visited(n_batches, batches.size, rng),
            annotated.indptr,
            annotated.indices,
            annotation,
            rates,
            *exceptions,
            offsets.indptr,
            offsets.indices,
            offsets.data,
            v,
            bias,
            seen + epoch * n,
            epoch,
            THINNED_TO_ONE_IN if thin else 1,
            step,
            bias_step,
            decay,
        )
        if epoch >= first_averaged:
            share = 1 / (epochs - first_averaged)
            shrink = np.float32(share / (1 + decay * step * (seen + (epoch + 1) * n)))
            if mean_v is v:
                v *= shrink
            else:
                mean_v += shrink * v
            mean_bias += np.float32(share) * bias
    return mean_v[:, :q], mean_bias[:q]


def scores(features: Features, weights: np.ndarray) -> np.ndarray:
    """Product of features and weights; arguments and result as in `numpy_kernel.scores`."""
    D = features.sparse.shape[1]
    z = features.dense @ weights[D:]
    _add_sparse_product(features.sparse.indptr, features.sparse.indices, features.sparse.data, weights, z)
    return z


def frequency_arrays(frequency: LabelFrequency, padded: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return the rates of so many labels, 1 beyond those there are, and where c is not the rate of its label.

    The latter are arrays of the same types, and empty, where that is nowhere.
    """
    rates = np.pad(frequency.rates, (0, padded - len(frequency.rates)), constant_values=1)
    if (exceptions := frequency.exceptions()) is None:
        none = np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
        return rates, none
    of_instances, cells = exceptions
    return rates, (of_instances, cells.indptr.astype(np.int64), cells.indices.astype(np.int32), cells.data)


@compiled(fused=True)
def _add_sparse_product(indptr, indices, values, weights, z):
    for i in range(z.shape[0]):
        row, p = z[i], indptr[i]
        while p + 4 <= indptr[i + 1]:  # four at a time: the sums are read and written a quarter as often
            x0, x1, x2, x3 = values[p], values[p + 1], values[p + 2], values[p + 3]
            w0, w1, w2, w3 = (
                weights[indices[p]],
                weights[indices[p + 1]],
                weights[indices[p + 2]],
                weights[indices[p + 3]],
            )
            for k in range(len(row)):
                row[k] += x0 * w0[k] + x1 * w1[k] + x2 * w2[k] + x3 * w3[k]
            p += 4
        while p < indptr[i + 1]:
            x, w = values[p], weights[indices[p]]
            for k in range(len(row)):
                row[k] += x * w[k]
            p += 1


@compiled(fused=True)
def _epoch(
    indptr,
    indices,
    values,
    dense,
    rows,
    size,
    batch_order,
    label_indptr,
    labels,
    annotation,
    rates,
    of_instances,
    cell_indptr,
    cell_labels,
    of_cells,
    offset_indptr,
    offset_labels,
    offsets,
    v,
    bias,
    t,
    epoch,
    one_in,
    step,
    bias_step,
    decay,
):
    """One pass over the batches; changes v and bias. t counts the instances seen before.

    Where one_in is more than 1, gradients are thinned, as by `numpy_kernel.thinned`.

    of_instances and the cells are where c is not that of the rates, as `frequency_arrays` gives them.
    """
    n, q, d = len(rows), v.shape[1], dense.shape[1]
    v_dense = v[v.shape[0] - d :]
    z = np.empty((size, q), np.float32)
    x_dense = np.empty((size, d), np.float32)
    gradient_sum = np.empty(q, np.float32)
    powers = np.empty(q, np.int32)
    annotated = np.empty(q, np.float32)
    c = rates.copy()
    stands_for = np.ones(size, np.int64)
    for b in batch_order:
        first = b * size
        B = min(size, n - first)
        shrink = np.float32(1 / (1 + decay * step * t))

        if d:
            for i in range(B):
                x_dense[i] = dense[rows[first + i]]
            np.dot(x_dense[:B], v_dense, z[:B])
        else:
            z[:B] = 0
        for i in range(B):
            if i + _AHEAD < B:
                r = rows[first + i + _AHEAD]
                prefetch(indices, indptr[r], indptr[r + 1])
                prefetch(values, indptr[r], indptr[r + 1])
            r = rows[first + i]
            row = z[i]
            for p in range(indptr[r], indptr[r + 1]):
                x, w = values[p], v[indices[p]]
                for k in range(q):
                    row[k] += x * w[k]

        gradient_sum[:] = 0
        for i in range(B):
            r = rows[first + i]
            annotated[:] = 0
            for p in range(label_indptr[r], label_indptr[r + 1]):
                annotated[labels[p]] = annotation[p]
            if len(offsets):
                for p in range(offset_indptr[r], offset_indptr[r + 1]):
                    z[i, offset_labels[p]] += offsets[p] / shrink
            if len(of_instances):
                look_up(c, rates, of_instances[r], cell_labels, of_cells, cell_indptr[r], cell_indptr[r + 1])
            _gradient(z[i], annotated, c, shrink, bias, powers)
            gradient_sum += z[i]
            if one_in > 1:
                largest = np.float32(0)
                for k in range(q):
                    largest = max(largest, abs(z[i, k]))
                small = largest < np.float32(SMALL_GRADIENT)
                due = (first + i + epoch) % one_in == 0
                stands_for[i] = 1 if not small else one_in if due else 0
                z[i] *= np.float32(stands_for[i])

        for i in range(B):
            if not stands_for[i]:
                continue
            r = rows[first + i]
            gradient = z[i]
            for p in range(indptr[r], indptr[r + 1]):
                x, w = np.float32(step) * values[p], v[indices[p]]
                for k in range(q):
                    w[k] -= x * gradient[k]
        if d:
            v_dense -= np.float32(step) * np.dot(x_dense[:B].T, z[:B])
        bias -= np.float32(bias_step) * shrink * gradient_sum
        t += B


@compiled()
def look_up(c, rates, of_instance, cell_labels, of_cells, first, end):
    """Put c of each cell of an instance into an array; within `_epoch` this made all of it take 1.06 of the time."""
    if np.isnan(of_instance):
        c[:] = rates
    else:
        c[:] = of_instance
    for p in range(first, end):
        c[cell_labels[p]] = of_cells[p]


@compiled(fused=True)
def _gradient(z, annotated, c, shrink, bias, powers):
    """Replace the products z = w.x of one instance by the gradient; see `mpu_cli.core.loss.pu_logistic.pu_gradient`.

    e^z is 2^n e^r with whole n and |r| <= log(2) / 2: e^r by a polynomial (the one of the Cephes library), 2^n by its
    bits. Two loops without a branch or a call, which become SIMD code; a library's exp would not.
    """
    one = np.float32(1)
    two_to_n = powers.view(np.float32)
    for k in range(len(z)):
        x = min(max(shrink * z[k] + bias[k], np.float32(-80)), np.float32(80))
        n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
        r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
        e = np.float32(1.9875691500e-4)
        e = e * r + np.float32(1.3981999507e-3)
        e = e * r + np.float32(8.3334519073e-3)
        e = e * r + np.float32(4.1665795894e-2)
        e = e * r + np.float32(1.6666665459e-1)
        e = e * r + np.float32(5.0000001201e-1)
        z[k] = e * r * r + r + one
        powers[k] = (np.int32(n) + 127) << 23
    for k in range(len(z)):
        odds = z[k] * two_to_n[k]
        negative = one / (one + odds)
        unlabelled = c[k] * odds * negative / (one + (one - c[k]) * odds)
        z[k] = (one - annotated[k]) * unlabelled - annotated[k] * negative
