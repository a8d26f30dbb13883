"""The graph of similar instances along which `well` propagates labels."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mpu_cli.core.data.features import Features
from mpu_cli.methods.m3l.m3l import cosine_similarity
from mpu_cli.methods.m3l.rbf import mean_squared_distance, rbf_kernel

# Instances whose similarities to all others are computed together.
_ROWS = 256
# Below this share of nonzero values, a sparse product is faster than a dense one.
_SPARSE_BELOW = 0.05
# Instances for the choice of gamma and the scale.
_SAMPLE = 500


@dataclass(frozen=True)
class Graph:
    """The similarities of n instances, for each of q labels.

    Attributes
    ----------
    similarity : ndarray or csr_array of float32, shape (n, n)
        W, symmetric, with a diagonal of zeros.
    degree : ndarray of float32, shape (n,)
        Row sums of W.
    annotated : csr_array of float32, shape (n, q)
        S: 1 if instance i is annotated with label j.
    sizes : ndarray of float32, shape (q,)
        Annotations of each label, at least 1.
    combination : ndarray of float32, shape (q, q)
        w R_kj: weight of base similarity s_j s_j' / |s_j| in that of label k.
    """

    similarity: np.ndarray | csr_array
    degree: np.ndarray
    annotated: csr_array
    sizes: np.ndarray
    combination: np.ndarray

    @classmethod
    def of(cls, similarity: np.ndarray | csr_array, labels: csr_array, weight: float) -> "Graph":
        """Return the graph of W, the annotations (n x q), and the weight w of the similarities that labels share."""
        degree = similarity.sum(axis=1, dtype=np.float64).astype(np.float32)
        combination = weight * cosine_similarity(labels)
        annotated = csr_array(labels, dtype=np.float32)
        sizes = np.maximum(annotated.sum(axis=0), 1).astype(np.float32)
        return cls(similarity, degree, annotated, sizes, combination.astype(np.float32))

    def degrees(self, block: slice) -> np.ndarray:
        """Degree of each instance in the similarity of each label of a block: n x b."""
        return self.degree[:, None] + self.annotated @ self.combination[:, block]

    def neighbours(self, f: np.ndarray, block: slice) -> np.ndarray:
        """W_k f_k for the labels of a block: n x b."""
        shared = (self.annotated.T @ f) / self.sizes[:, None] * self.combination[:, block]
        return _product(self.similarity, f) + self.annotated @ shared

    def edge_costs(self, order: np.ndarray, k: int) -> np.ndarray:
        """Increases of f' L_k f when f_i changes from 0 to 1, one instance after the other: float64."""
        alone = self.degree[order] - 2 * _to_earlier(self.similarity, order)
        counts = np.cumsum(self.annotated[order].toarray(), axis=0, dtype=np.float64)
        shared = (counts - counts**2 / self.sizes) @ self.combination[k]
        return alone + np.diff(shared, prepend=0)


def nearest_neighbours(matrix: csr_array, k: int | None, degree: float) -> csr_array | np.ndarray:
    """Cosine similarities (n x n) of pairs in which one instance is among the k most similar ones of the other.

    Where k is None, all similarities, as a dense matrix. They are scaled so that the sums over each instance have the
    median `degree`, over instances with any; not negative, symmetric, with a diagonal of zeros.
    """
    n = matrix.shape[0]
    norms = np.sqrt(np.repeat(Features.of(matrix).squared_norms, np.diff(matrix.indptr)))
    data = np.divide(matrix.data, norms, out=np.zeros(len(norms)), where=norms > 0).astype(np.float32)
    columns, indices = np.unique(matrix.indices, return_inverse=True)  # the largest index may be huge
    directions = csr_array((data, indices, matrix.indptr), shape=(n, max(len(columns), 1)))
    others = csr_array(directions.T)
    parts = []
    for start in range(0, n, _ROWS):
        similar = np.maximum((directions[start : start + _ROWS] @ others).toarray(), 0)
        np.fill_diagonal(similar[:, start:], 0)
        parts.append(similar if k is None else _largest(similar, k))
    if k is None:
        similarity = np.vstack(parts)
    else:
        nearest = csr_array(vstack(parts, format="csr"))
        similarity = csr_array(nearest.maximum(nearest.T))
    degrees = similarity.sum(axis=1)
    if (degrees > 0).any():
        similarity *= np.float32(degree / np.median(degrees[degrees > 0]))
    return similarity


def choose_gamma(matrix: csr_array, degree: float, seed: int) -> float:
    """Return the gamma with which the median sum of similarities of an instance to all others is `degree`, above 0.

    The seed is that of the sample of instances for this median.
    """
    rows = np.random.default_rng(seed).permutation(matrix.shape[0])[:_SAMPLE]
    start = 1 / mean_squared_distance(matrix)
    similarity = rbf_kernel(matrix[rows], matrix, start)
    low, high = 1e-3, 1e3  # in units of the start; one of these if no gamma is right
    for _ in range(30):
        power = np.sqrt(low * high)
        if np.median((similarity**power).sum(axis=1)) - 1 > degree:  # 1 is the similarity to itself
            low = power
        else:
            high = power
    return float(start * high)


def _largest(similar: np.ndarray, k: int) -> csr_array:
    """Keep the k largest values of each row."""
    if k < similar.shape[1]:
        others = np.argpartition(-similar, k - 1, axis=1)[:, k:]
        np.put_along_axis(similar, others, 0, axis=1)
    return csr_array(similar)


def _product(similarity: np.ndarray | csr_array, f: np.ndarray) -> np.ndarray:
    """Multiply; sparse if most values are zero, as those of rare labels are."""
    if not issparse(similarity) and np.count_nonzero(f) < _SPARSE_BELOW * f.size:
        return (csr_array(f.T) @ similarity).T  # W is symmetric
    return similarity @ f


def _to_earlier(similarity: np.ndarray | csr_array, order: np.ndarray) -> np.ndarray:
    """Sum the similarities of each instance to those before it: float64. In blocks, to avoid a copy of W."""
    sums = np.empty(len(order))
    earlier = np.zeros(similarity.shape[0], np.float32)
    for start in range(0, len(order), _ROWS):
        rows = order[start : start + _ROWS]
        part = similarity[rows]
        among = part[:, rows]
        before = np.tril(among.toarray() if issparse(among) else among, -1).sum(axis=1)
        sums[start : start + _ROWS] = part @ earlier + before
        earlier[rows] = 1
    return sums
