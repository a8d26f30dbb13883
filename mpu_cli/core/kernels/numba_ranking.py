"""The largest scores of each instance, compiled by numba: of many labels, no matrix of all scores is ever made."""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logit

from mpu_cli.core.data.predictions import Top
from mpu_cli.core.data.weights import WeightRows
from mpu_cli.runtime.compilation import compiled, inlined

# Scores that are looked at together: mostly none of them is large enough.
_TOGETHER = 64


def top_scores(matrix: csr_array, weights: WeightRows, bias: np.ndarray, top: Top) -> csr_array:
    """Largest scores of each instance; arguments and result as in `numpy_kernel.top_scores`."""
    n, most = matrix.shape[0], min(top.most, len(bias))
    columns, scores, counts = np.empty((n, most), np.int32), np.empty((n, most), np.float32), np.empty(n, np.int64)
    below = np.nextafter(np.float32(logit(top.least)), np.float32(-np.inf))
    _keep_largest(
        *_arrays(matrix), *_arrays(weights.sparse), weights.place, weights.dense, bias, below, columns, scores, counts
    )
    kept = np.arange(most) < counts[:, None]
    largest = csr_array((scores[kept], columns[kept], np.append(0, np.cumsum(counts))), shape=(n, len(bias)))
    largest.sort_indices()
    return largest


def _arrays(matrix: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a matrix in the same types always, so that there is one compiled form.

    Without a sign an index takes no look whether it counts from the end, which cost a fifth of the time.
    """
    indices = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
    return matrix.indptr.astype(np.int64, copy=False), indices, matrix.data


@compiled(fused=True)
def _keep_largest(
    indptr, indices, values, w_indptr, w_indices, w_values, place, dense, bias, below, columns, scores, counts
):
    """Put the largest scores above `below` of each instance, in descending order, and their labels into two arrays."""
    most = columns.shape[1]
    z = np.empty_like(bias)
    for i in range(columns.shape[0]):
        z[:] = bias
        for p in range(indptr[i], indptr[i + 1]):
            x, j = values[p], indices[p]
            if place[j] >= 0:
                row = dense[place[j]]
                for k in range(len(z)):
                    z[k] += x * row[k]
            else:
                _add(z, x, w_indices, w_values, w_indptr[j], w_indptr[j + 1])
        count, bound = 0, below
        for first in range(0, len(z), _TOGETHER):
            part = z[first : first + _TOGETHER]
            above = 0
            for k in range(len(part)):
                above += part[k] > bound
            if above == 0:
                continue
            for k in range(len(part)):
                if part[k] <= bound:
                    continue
                place_of_k = min(count, most - 1)
                while place_of_k > 0 and scores[i, place_of_k - 1] < part[k]:
                    scores[i, place_of_k] = scores[i, place_of_k - 1]
                    columns[i, place_of_k] = columns[i, place_of_k - 1]
                    place_of_k -= 1
                scores[i, place_of_k] = part[k]
                columns[i, place_of_k] = first + k
                count = min(count + 1, most)
                if count == most:
                    bound = scores[i, most - 1]
        counts[i] = count


@inlined
def _add(z, x, indices, values, t, stop):
    """Add sparse weights, eight at a time: a row has each label once, so no sum waits for the one before."""
    while t + 8 <= stop:
        a, b, c, d = indices[t], indices[t + 1], indices[t + 2], indices[t + 3]
        e, f, g, h = indices[t + 4], indices[t + 5], indices[t + 6], indices[t + 7]
        z_a, z_b = z[a] + x * values[t], z[b] + x * values[t + 1]
        z_c, z_d = z[c] + x * values[t + 2], z[d] + x * values[t + 3]
        z_e, z_f = z[e] + x * values[t + 4], z[f] + x * values[t + 5]
        z_g, z_h = z[g] + x * values[t + 6], z[h] + x * values[t + 7]
        z[a], z[b], z[c], z[d], z[e], z[f], z[g], z[h] = z_a, z_b, z_c, z_d, z_e, z_f, z_g, z_h
        t += 8
    while t < stop:
        z[indices[t]] += x * values[t]
        t += 1
