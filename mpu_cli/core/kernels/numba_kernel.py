"""The kernel compiled by numba: the same steps as `numpy_kernel`, which is the reference, in the same order.

Weights are stored contiguously by label, so that the innermost loops run over the labels in a block and become SIMD
code. The data are not copied: instances are read from the single CSR array in the given order. With many labels, a
matrix of all scores is never made (`top_scores`).
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logit

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import LARGEST_COST, SIMD, SMALL_GRADIENT, THINNED_TO_ONE_IN, Batches
from mpu_cli.core.predictions import Top
from mpu_cli.runtime.compilation import compiled, fused_inlined

# Labels learned together: a row of weights fills few cache lines, and two threads can share the labels of RCV1.
BLOCK_SIZE = 64


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
    data = _prepared(batches, annotated, frequency, offsets)
    padded = len(data[0])
    v = np.zeros((batches.features.width, padded), np.float32)
    if weights is not None:
        np.multiply(weights, np.float32(1 + decay * step * seen), out=v[:, :q])
    bias = np.pad(bias, (0, padded - q), constant_values=-np.inf)  # labels that are never true have no gradient
    mean_v, mean_bias = v, np.zeros_like(bias)
    first_averaged = epochs // 2
    for epoch in range(epochs):
        order, one_in = rng.permutation(len(batches)), THINNED_TO_ONE_IN if thin else 1
        t = seen + epoch * n
        _epoch(data, batches.size, order, v, bias, t, epoch, one_in, step, bias_step, decay)
        if epoch >= first_averaged:
            share = 1 / (epochs - first_averaged)
            shrink = np.float32(share / (1 + decay * step * (seen + (epoch + 1) * n)))
            scaled = np.multiply(v, shrink, out=v if epoch == epochs - 1 else None)
            mean_v = np.add(mean_v, scaled, out=mean_v) if epoch > first_averaged else scaled
            mean_bias += np.float32(share) * bias
    return mean_v[:, :q], mean_bias[:q]


def scores(features: Features, weights: np.ndarray) -> np.ndarray:
    """Return the product of features and weights; arguments and result as in `numpy_kernel.scores`."""
    D = features.sparse.shape[1]
    z = features.dense @ weights[D:]
    _add_sparse_product(features.sparse.indptr, features.sparse.indices, features.sparse.data, weights, z)
    return z


def _prepared(
    batches: Batches, annotated: csr_array, frequency: LabelFrequency, offsets: csr_array | None
) -> tuple[np.ndarray | tuple[np.ndarray, ...], ...]:
    """Return the arrays that the loops read, always in the same types, since others would be compiled anew.

    They are label rates, padded with 1: without remainders, loops took 0.8 of the time for 45 labels; cells whose c is
    not the rate of their label; sparse features, whose indices may have either type; dense features; rows; annotated
    labels; and offsets.
    """
    rates = np.pad(frequency.rates, (0, -len(frequency.rates) % SIMD), constant_values=1)
    of_instances, cells = frequency.exceptions()
    sparse, rows = batches.features.sparse, batches.rows.astype(np.int64, copy=False)
    if offsets is None:
        offsets = csr_array((0, 1), dtype=np.float32)
    features = (sparse.indptr, sparse.indices, sparse.data), batches.features.dense
    return rates, (of_instances, *_arrays(cells)), *features, rows, _arrays(annotated), _arrays(offsets)


def _arrays(matrix: csr_array) -> tuple[np.ndarray, ...]:
    """Return the arrays of a matrix, always in the same types.

    Unsigned indices need no check for negative values, which took a fifth of the time of `_keep_largest`.
    """
    indices = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
    return matrix.indptr.astype(np.int64, copy=False), indices, matrix.data.astype(np.float32, copy=False)


@fused_inlined
def _add_product(indices, values, p, stop, weights, row):
    """Add the product of an instance and weights, four features at a time, to read and write the sums less often."""
    while p + 4 <= stop:
        x0, x1, x2, x3 = values[p], values[p + 1], values[p + 2], values[p + 3]
        w0, w1, w2, w3 = weights[indices[p]], weights[indices[p + 1]], weights[indices[p + 2]], weights[indices[p + 3]]
        for k in range(len(row)):
            row[k] += x0 * w0[k] + x1 * w1[k] + x2 * w2[k] + x3 * w3[k]
        p += 4
    while p < stop:
        x, w = values[p], weights[indices[p]]
        for k in range(len(row)):
            row[k] += x * w[k]
        p += 1


@compiled(fused=True)
def _add_sparse_product(indptr, indices, values, weights, z):
    for i in range(z.shape[0]):
        _add_product(indices, values, indptr[i], indptr[i + 1], weights, z[i])


@compiled(fused=True)
def _epoch(data, size, order, v, bias, t, epoch, one_in, step, bias_step, decay):
    """Make one pass over the batches of data from `_prepared`, changing v and bias. t counts the instances seen before.

    If one_in is more than 1, gradients are thinned, as by `numpy_kernel.thinned`.
    """
    rates, exceptions, (indptr, indices, values), dense, rows, annotations, added = data
    label_indptr, labels, annotation = annotations
    of_instances, cell_indptr, cell_labels, of_cells = exceptions
    offset_indptr, offset_labels, offsets = added
    n, q, d = len(rows), v.shape[1], dense.shape[1]
    v_dense = v[v.shape[0] - d :]
    z = np.empty((size, q), np.float32)
    x_dense, change = np.empty((size, d), np.float32), np.empty((d, q), np.float32)
    gradient_sum = np.empty(q, np.float32)
    powers = np.empty(q, np.int32)
    annotated = np.empty(q, np.float32)
    c = rates.copy()
    stands_for = np.ones(size, np.int64)
    for b in order:
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
            r = rows[first + i]
            _add_product(indices, values, indptr[r], indptr[r + 1], v, z[i])

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
            z[:B] *= np.float32(step)
            np.dot(x_dense[:B].T, z[:B], change)
            v_dense -= change
        bias -= np.float32(bias_step) * shrink * gradient_sum
        t += B


@compiled()
def look_up(c, rates, of_instance, cell_labels, of_cells, first, end):
    """Write c of each cell of an instance to an array; within `_epoch`, it made the epoch take 1.06 of the time."""
    if np.isnan(of_instance):
        c[:] = rates
    else:
        c[:] = of_instance
    for p in range(first, end):
        c[cell_labels[p]] = of_cells[p]


@compiled(fused=True)
def _gradient(z, annotated, c, shrink, bias, powers):
    """Replace the products z = w.x of one instance by the gradient; see `mpu_cli.core.loss.pu_logistic.pu_gradient`.

    e^z is 2^n e^r with an integer n and |r| <= log(2) / 2: e^r by the polynomial of the Cephes library, 2^n by its
    bits. Two loops without branches or calls become SIMD code; with a library's exp they would not.
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


# Scores that are checked together: usually none of them is large enough.
_TOGETHER = 64


def top_scores(
    matrix: csr_array, weights: csr_array, bias: np.ndarray, top: Top, strata: np.ndarray | None = None
) -> csr_array:
    """Return the largest scores of each instance; arguments and result as in `numpy_kernel.top_scores`."""
    strata = np.zeros(len(bias), np.int8) if strata is None else strata
    n, sizes = matrix.shape[0], np.minimum(np.bincount(strata), top.most)  # the most kept of each stratum
    starts = np.append(0, np.cumsum(sizes))
    columns, scores = np.empty((n, starts[-1]), np.int32), np.empty((n, starts[-1]), np.float32)
    counts = np.zeros((n, len(sizes)), np.int64)
    below = np.nextafter(np.float32(logit(top.least)), np.float32(-np.inf))
    _keep_largest(*_arrays(matrix), *_arrays(weights), bias, strata, below, starts, columns, scores, counts)
    kept = np.arange(starts[-1]) < np.repeat(starts[:-1] + counts, sizes, axis=1)
    largest = csr_array((scores[kept], columns[kept], np.append(0, np.cumsum(counts.sum(axis=1)))), (n, len(bias)))
    largest.sort_indices()
    return largest


@compiled(fused=True)
def _keep_largest(
    indptr, indices, values, w_indptr, w_indices, w_values, bias, strata, below, starts, columns, scores, counts
):
    """Write each instance's largest scores above `below` in each stratum, descending, and their labels to arrays."""
    z = np.empty_like(bias)
    for i in range(len(counts)):
        z[:] = bias
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            for t in range(w_indptr[j], w_indptr[j + 1]):
                z[w_indices[t]] += values[p] * w_values[t]
        for s in range(counts.shape[1]):
            largest, labels = scores[i, starts[s] : starts[s + 1]], columns[i, starts[s] : starts[s + 1]]
            count, most, bound = 0, len(largest), below
            for first in range(0, len(z), _TOGETHER):
                part, of_part = z[first : first + _TOGETHER], strata[first : first + _TOGETHER]
                above = 0
                for k in range(len(part)):
                    above += (part[k] > bound) & (of_part[k] == s)
                if above == 0:
                    continue
                for k in range(len(part)):
                    if part[k] <= bound or of_part[k] != s:
                        continue
                    place_of_k = min(count, most - 1)
                    while place_of_k > 0 and largest[place_of_k - 1] < part[k]:
                        largest[place_of_k] = largest[place_of_k - 1]
                        labels[place_of_k] = labels[place_of_k - 1]
                        place_of_k -= 1
                    largest[place_of_k] = part[k]
                    labels[place_of_k] = first + k
                    count = min(count + 1, most)
                    if count == most:
                        bound = largest[most - 1]
            counts[i, s] = count


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
    """Minimise the weighted squared hinge of a block of labels; arguments and result as in `numpy_kernel`."""
    n, q = len(batches.rows), annotated.shape[1]
    data = _prepared(batches, annotated, frequency, offsets)
    padded = len(data[0])
    D, d = batches.features.sparse.shape[1], batches.features.dense.shape[1]
    # For dense features, one row per label, which is longer than one row per feature if labels are few.
    v, v_dense = np.zeros((D, padded), np.float32), np.zeros((q, d), np.float32)
    bias, a = np.zeros(padded, np.float32), np.zeros((n, padded), np.float32)
    norms = batches.features.squared_norms[batches.rows].astype(np.float32)
    for _ in range(epochs):
        _pass(data, rng.permutation(n), norms, cost, bias_norm, v, v_dense, bias, a)
    return np.vstack([v[:, :q], v_dense.T]) if d else v[:, :q], bias[:q]


@compiled(fused=True)
def _pass(data, order, norms, cost, bias_norm, v, v_dense, bias, a):
    """Make one pass over the instances in the order of the rows, changing v, v_dense, bias and the dual variables a."""
    rates, exceptions, (indptr, indices, values), dense, rows, annotations, added = data
    label_indptr, labels, _ = annotations
    of_instances, cell_indptr, cell_labels, of_cells = exceptions
    offset_indptr, offset_labels, offsets = added
    q, d = v.shape[1], dense.shape[1]
    z, y, k = np.empty(q, np.float32), np.empty(q, np.float32), np.empty(q, np.float32)
    of_bias = np.float32(bias_norm)
    c = rates.copy()
    for i in order:
        r = rows[i]
        z[:] = bias
        _add_product(indices, values, indptr[r], indptr[r + 1], v, z)
        if d:
            z[: len(v_dense)] += np.dot(v_dense, dense[r])
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
        x = dense[r]
        for j in range(len(v_dense)):
            w = v_dense[j]
            for f in range(d):
                w[f] += z[j] * x[f]
        for j in range(q):
            bias[j] += of_bias * z[j]


@compiled(fused=True)
def _step(z, y, k, a, norm):
    """Update the dual variables of an instance, and replace its scores by the changes."""
    one, zero = np.float32(1), np.float32(0)
    for j in range(len(z)):
        after = max(a[j] - (k[j] * (y[j] * z[j] - one) + a[j]) / (k[j] * norm + one), zero)
        z[j] = y[j] * (after - a[j])
        a[j] = after
