"""WELL: weak labels, after Sun, Zhang and Zhou (AAAI 2010), "Multi-Label Learning with Weak Label".

Transductive: n instances, training and unlabelled ones together, get values f in [0, 1] for each label k by solving a
convex problem,

    min  alpha f' L_k f  +  beta sum over the annotated of (f_i - 1)^2  +  sum of f_i,     0 <= f <= 1:

similar instances have similar values, annotated labels are kept, and few instances have the label. The instances with
f_i >= t are predicted, with the t for which this set, as a vector of zeros and ones, has the smallest objective.

Only the abstract of the paper and a public reimplementation are available; this follows the reimplementation, with its
alpha = 100 and beta = 10. The rest is our reading, chosen on held-out training data (docs/choices/baselines.md):

- L = D - W is the plain Laplacian.
- W is a graph of *nearest neighbours*: the cosine of two instances if one is among the 5 most similar to the other,
  scaled so that the similarities of an instance sum to w = beta/alpha in the median: its neighbours together weigh as
  much as an annotation.
- Labels are correlated by similarities that all labels share (weight `sharing`, relative to w): for each label j, the
  instances annotated with j are similar to each other, a similarity of rank one, B_j = w s_j s_j' / |s_j|. Label k
  combines them by its likeness to j, the cosine R_kj of the annotations: W_k = W + sum_j R_kj B_j.
- The cut is never empty; training instances that are not annotated are treated as unlabelled ones.

All labels in a block are solved together by accelerated projected gradient steps (Beck and Teboulle 2009), scaled per
coordinate by the bound D - W <= 2 D, with restarts (O'Donoghue and Candes 2015).
"""

import numpy as np
from scipy.sparse import csr_array, tril, vstack
from sklearn import config_context
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import kneighbors_graph

from mpu_cli.core.features import unit_rows
from mpu_cli.core.predictions import refuse_beyond_free

# Memory for the similarities that are computed together.
_MEGABYTES = 16


class Graph:
    """The similarities of n instances, for each of q labels.

    `similarity`: float32, shape (n, n): W, symmetric, with a diagonal of zeros; `degree`: its row sums.
    `annotated`: float32, shape (n, q): S; `sizes`: the number of annotations of each label, at least 1.
    `weight`: w, of the similarities that labels share.
    """

    def __init__(self, similarity: csr_array, labels: csr_array, weight: float) -> None:
        self.similarity, self.annotated = similarity, csr_array(labels, dtype=np.float32)
        self.degree = similarity.sum(axis=1, dtype=np.float64).astype(np.float32)
        self.sizes = np.maximum(self.annotated.sum(axis=0), 1).astype(np.float32)
        # w R_kj: the weight of base similarity s_j s_j' / |s_j| in that of label k
        self.combination = (weight * cosine_similarity(labels.T.astype(np.float64))).astype(np.float32)

    def degrees(self, block: slice) -> np.ndarray:
        """Return the degree of each instance in the similarity of each label in a block: n x b."""
        return self.degree[:, None] + self.annotated @ self.combination[:, block]

    def neighbours(self, f: np.ndarray, block: slice) -> np.ndarray:
        """Return W_k f_k for the labels in a block: n x b."""
        shared = (self.annotated.T @ f) / self.sizes[:, None] * self.combination[:, block]
        return self.similarity @ f + self.annotated @ shared

    def edge_costs(self, order: np.ndarray, k: int) -> np.ndarray:
        """Return the increases of f' L_k f when f_i changes from 0 to 1, one instance after the other: float64."""
        to_earlier = tril(self.similarity[order][:, order], -1).sum(axis=1, dtype=np.float64)
        counts = np.cumsum(self.annotated[order].toarray(), axis=0, dtype=np.float64)
        shared = (counts - counts**2 / self.sizes) @ self.combination[k]
        return self.degree[order] - 2 * to_earlier + np.diff(shared, prepend=0)


def nearest_neighbours(matrix: csr_array, k: int, degree: float) -> csr_array:
    """Return the cosine similarities (n x n) of pairs in which one instance is among the k most similar to the other.

    They are scaled so that the sums over each instance have the median `degree`, among instances with any; they are not
    negative, and symmetric, with a diagonal of zeros.
    """
    with config_context(working_memory=_MEGABYTES):
        nearest = kneighbors_graph(unit_rows(matrix), min(k, matrix.shape[0] - 1), mode="distance", metric="cosine")
    nearest.data = np.maximum(1 - nearest.data, 0)
    similarity = csr_array(nearest.maximum(nearest.T), dtype=np.float32)
    degrees = similarity.sum(axis=1)
    if (degrees > 0).any():
        similarity *= np.float32(degree / np.median(degrees[degrees > 0]))
    return similarity


# The largest change of a value by a projected step at the solution: its distance from the optimality conditions.
TOLERANCE = 1e-4
_MOST_STEPS = 1000
_BLOCK_SIZE = 64


class Method:
    """WELL.

    `neighbours`: number of nearest neighbours of an instance in the graph.
    `alpha`, `beta`: weights of smoothness over the graph, and of the annotated labels.
    `sharing`: weight of similarities from common labels, relative to those of the graph; 0: none.
    """

    transductive = True

    def __init__(self, neighbours: int = 5, alpha: float = 100.0, beta: float = 10.0, sharing: float = 0.25) -> None:
        self.neighbours, self.alpha, self.beta, self.sharing = neighbours, alpha, beta, sharing

    def fit(self, X: csr_array, S: csr_array, unlabelled: csr_array) -> None:
        """Label the unlabelled instances; TooLargeError if the similarities would not fit in memory."""
        (n, q), m = S.shape, unlabelled.shape[0]
        others = min(n + m, 4 * self.neighbours)  # neighbours in both directions, with their indices
        refuse_beyond_free(
            8 * (n + m) * others + 8 * (n + m) * q,
            f"the similarities of {n + m:,} x {others:,} instances, training and unlabelled ones,",
            "compare fewer instances",
        )
        together = csr_array(vstack([X, unlabelled], format="csr"))
        labels = csr_array(vstack([S, csr_array((m, q), dtype=bool)], format="csr"))
        degree = self.beta / self.alpha
        graph = Graph(nearest_neighbours(together, self.neighbours, degree), labels, self.sharing * degree)
        self.values, self.threshold = np.empty((m, q), np.float32), np.empty(q, np.float32)
        for start in range(0, q, _BLOCK_SIZE):
            block = slice(start, min(start + _BLOCK_SIZE, q))
            # A threshold of 1 exceeds all values.
            f = np.minimum(solve(graph, block, self.alpha, self.beta), np.nextafter(np.float32(1), np.float32(0)))
            cuts = [best_cut(graph, f[:, k - start], k, self.alpha, self.beta) for k in range(start, block.stop)]
            self.values[:, block], self.threshold[block] = f[n:], cuts

    def predict(self, X: csr_array) -> np.ndarray:
        """Return the values of the instances that `fit` labelled."""
        return self.values


def solve(graph: Graph, block: slice, alpha: float, beta: float) -> np.ndarray:
    """Minimise the objective of each label in a block: float32, shape (n, b)."""
    annotated = graph.annotated[:, block].toarray()
    degrees = graph.degrees(block)
    bound = np.maximum(4 * alpha * degrees + 2 * beta * annotated, 1).astype(np.float32)
    f = ahead = annotated
    momentum = 1.0
    for _ in range(_MOST_STEPS):
        smoothness = degrees * ahead - graph.neighbours(ahead, block)
        gradient = 2 * alpha * smoothness + 2 * beta * annotated * (ahead - 1) + 1
        stepped = np.clip(ahead - gradient / bound, 0, 1)
        if np.abs(stepped - ahead).max() <= TOLERANCE:
            return stepped
        if np.vdot(ahead - stepped, stepped - f) > 0:  # the momentum points uphill
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = stepped + np.float32((momentum - 1) / following) * (stepped - f)
        f, momentum = stepped, following
    return f


def best_cut(graph: Graph, f: np.ndarray, k: int, alpha: float, beta: float) -> float:
    """Return the t for which {f >= t} has the smallest objective for label k; 1 if no value is positive.

    Values are below 1. Instances with value 0 are in no set.
    """
    order = np.argsort(-f, kind="stable")[: np.count_nonzero(f)]
    if not len(order):
        return 1.0
    annotated = graph.annotated[:, [k]].toarray().ravel()[order]
    objective = np.cumsum(alpha * graph.edge_costs(order, k) - beta * annotated + 1)
    ends = np.flatnonzero(np.diff(f[order], append=0))  # no cut separates equal values
    return float(f[order[ends[np.argmin(objective[ends])]]])
