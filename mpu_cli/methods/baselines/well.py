"""WELL: weak labels, after Sun, Zhang and Zhou (AAAI 2010), "Multi-Label Learning with Weak Label".

Transductive: n instances, training and unlabelled ones together, get values f in [0, 1] for each label k by a convex
problem,

    min  alpha f' L_k f  +  beta sum over the annotated of (f_i - 1)^2  +  sum of f_i,     0 <= f <= 1:

similar instances have similar values, annotated labels are kept, and few instances have the label. The instances with
f_i >= t are predicted, for the t at which that set, as a vector of zeros and ones, has the smallest objective.

Without a constant that is f' (alpha L_k + beta diag s) f - (2 beta s - 1)' f, the form in which a public
reimplementation has it; its alpha = 100 and beta = 10 are our defaults. Apart from this, only its abstract is
available: boundaries go across regions of low density, a label has few positive instances, and the similarities of each
label are made of a few base similarities that labels share. Our reading of the rest:

- L = D - W is the plain Laplacian.
- W is by default a graph of *nearest neighbours*: the cosine of two instances where one is among the 5 most
  similar of the other, scaled so that the similarities of an instance sum to w = beta/alpha in the median: its
  neighbours together weigh as much as an annotation. Other readings are options: all cosines, scaled alike, and
  exp(-gamma ||x_i - x_j||^2) of all pairs, where gamma makes the median of the sums w. The reimplementation has gamma
  = 1/D, which ties nearly all instances to all others. Distances say little in many dimensions; among the nearest
  neighbours, a boundary of few edges is one of low density.
- Labels are correlated by similarities that all labels share (weight `sharing`, of w): for each label j, the
  instances annotated with j are similar to each other, a similarity of rank one, B_j = w s_j s_j' / |s_j|. Label k
  combines them by its likeness to j, the cosine R_kj of the annotations: W_k = W + sum_j R_kj B_j.
- The cut is never empty: every label has annotations.
- Training instances that are not annotated are treated as unlabelled ones; the annotated ones keep their labels.

The graph, 5, the weight of the neighbours and that of the similarities that labels share (0.25) were chosen on held-out
parts of training files: docs/choices/baselines.md has all readings.

All labels of a block are solved together by accelerated projected gradient steps (Beck and Teboulle 2009) that are
scaled a coordinate by the bound D - W <= 2 D, with restarts (O'Donoghue and Candes 2015).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mpu_cli.core.features import Features, with_width
from mpu_cli.core.limits import refuse_beyond_free
from mpu_cli.errors import MpuError
from mpu_cli.methods.baselines import WellOptions
from mpu_cli.methods.baselines.m3l import cosine_similarity
from mpu_cli.methods.baselines.rbf import mean_squared_distance, rbf_kernel
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step

# Instances whose similarities to all others are computed together.
_ROWS = 256
# Below this share of nonzero values, a sparse product is faster than a dense one.
_SPARSE_BELOW = 0.05
# Instances for the choice of gamma and the scale.
_SAMPLE = 500


@dataclass(frozen=True)
class Graph:
    """The similarities of n instances, for each of q labels."""

    # ndarray or csr_array of float32, shape (n, n): W, symmetric, with a diagonal of zeros
    similarity: np.ndarray | csr_array
    degree: np.ndarray  # float32, shape (n,): row sums of W
    annotated: csr_array  # float32, shape (n, q): S: 1 if instance i is annotated with label j
    sizes: np.ndarray  # float32, shape (q,): annotations of each label, at least 1
    # float32, shape (q, q): w R_kj: weight of base similarity s_j s_j' / |s_j| in that of label k
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
    """Multiply; sparse if most values are zero, as for rare labels."""
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


# The largest change of a value by a projected step from the solution: its distance from the optimality conditions.
TOLERANCE = 1e-4
_MOST_STEPS = 1000
_BLOCK_SIZE = 64


@dataclass(frozen=True)
class WellFindings:
    """The report of a training."""

    gamma: float | None  # W_ij = exp(-gamma ||x_i - x_j||^2); None for the other graphs
    steps: int  # projected gradient steps, of the block of labels that took most
    residual: float  # the largest change of a value by the last step
    empty_labels: int  # number of labels that no unlabelled instance is predicted to have


@dataclass(frozen=True)
class Answers:
    """Predictions of the unlabelled instances of the training. There is no model for others."""

    values: np.ndarray  # float32, shape (m, q): in [0, 1]
    thresholds: np.ndarray  # float32, shape (q,): A label is predicted if its value is at least its threshold
    n_features: int  # number of features D

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return the values of these instances; MpuError for others."""
        if matrix.shape[0] != len(self.values):
            raise MpuError("well labels only the instances that it has during training, and no others")
        return self.values

    def predictions(self, matrix: csr_array, run: Run = DEFAULT_RUN, most: int | None = None) -> np.ndarray:
        """Return all values of these instances."""
        return self.probabilities(matrix, run)


def train(
    matrix: csr_array, labels: csr_array, unlabeled: csr_array, options: WellOptions, *, run: Run = DEFAULT_RUN
) -> tuple[Answers, WellFindings]:
    """Label the unlabelled instances (m, of any width) by the training instances (transductive learning).

    Without gamma, that of the graph "rbf" is chosen by the median degree. The seed of the run draws the sample for
    that; its threads work on blocks of labels. TooLargeError where the similarities would not fit in memory.
    """
    n, m, q = matrix.shape[0], unlabeled.shape[0], labels.shape[1]
    alpha, beta, gamma = options.alpha, options.beta, options.gamma
    k = options.neighbours if options.graph == "neighbours" else None
    others = min(n + m, 4 * k) if k else n + m  # neighbours in both directions, with their indices
    refuse_beyond_free(
        8 * (n + m) * others + 8 * (n + m) * q,
        f"the similarities of {n + m:,} x {others:,} instances, training and unlabelled ones,",
        "train on fewer instances, label fewer at a time, or use another method",
    )
    width = max(matrix.shape[1], unlabeled.shape[1])
    unlabeled = with_width(unlabeled, width)
    together = csr_array(vstack([with_width(matrix, width), unlabeled], format="csr"))
    labels = csr_array(vstack([labels, csr_array((m, q), dtype=bool)], format="csr"))
    degree = beta / alpha
    with run.step(Step.SIMILARITIES, None):
        similarity: np.ndarray | csr_array
        if options.graph == "rbf":
            gamma = choose_gamma(together, degree, run.seed) if gamma is None else gamma
            similarity = rbf_kernel(together, together, gamma)
            np.fill_diagonal(similarity, 0)
        else:
            gamma = None
            similarity = nearest_neighbours(together, k, degree)
        spread = Graph.of(similarity, labels, options.sharing * degree)

    values, thresholds = np.empty((m, q), np.float32), np.empty(q, np.float32)
    steps, residual = [], []
    blocks = [slice(start, min(start + _BLOCK_SIZE, q)) for start in range(0, q, _BLOCK_SIZE)]
    with run.step(Step.LABELS, len(blocks)) as tick:
        solved = parallel.run(_label_block, ((spread, block, alpha, beta) for block in blocks), run.jobs)
        for block, (solution, cuts) in zip(blocks, solved, strict=True):
            values[:, block], thresholds[block] = solution.values[n:], cuts
            steps.append(solution.steps)
            residual.append(solution.residual)
            tick()
    unused = int((~(values >= thresholds).any(axis=0)).sum())
    report = WellFindings(gamma, max(steps), max(residual), unused)
    return Answers(values, thresholds, width), report


class Solution(NamedTuple):
    """Values of a block of labels.

    `values`: float32, shape (n, b).
    `steps`: number of steps.
    `residual`: largest change of a value by the last step.
    """

    values: np.ndarray
    steps: int
    residual: float


def solve(graph: Graph, block: slice, alpha: float, beta: float) -> Solution:
    """Minimise the objective of each label of a block.

    `block`: the labels.
    """
    annotated = graph.annotated[:, block].toarray()
    degrees = graph.degrees(block)
    bound = np.maximum(4 * alpha * degrees + 2 * beta * annotated, 1).astype(np.float32)
    f = ahead = annotated
    momentum = 1.0
    for steps in range(1, _MOST_STEPS + 1):
        smoothness = degrees * ahead - graph.neighbours(ahead, block)
        gradient = 2 * alpha * smoothness + 2 * beta * annotated * (ahead - 1) + 1
        stepped = np.clip(ahead - gradient / bound, 0, 1)
        residual = float(np.abs(stepped - ahead).max())
        if residual <= TOLERANCE:
            return Solution(stepped, steps, residual)
        if np.vdot(ahead - stepped, stepped - f) > 0:  # the momentum points uphill
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = stepped + np.float32((momentum - 1) / following) * (stepped - f)
        f, momentum = stepped, following
    return Solution(f, steps, residual)


def best_cut(graph: Graph, f: np.ndarray, k: int, alpha: float, beta: float) -> float:
    """Return the t for which {f >= t} has the smallest objective for label k; 1 if no value is positive.

    Values are below 1. Instances of value 0 are in no set.
    """
    order = np.argsort(-f, kind="stable")[: np.count_nonzero(f)]
    if not len(order):
        return 1.0
    annotated = graph.annotated[:, [k]].toarray().ravel()[order]
    objective = np.cumsum(alpha * graph.edge_costs(order, k) - beta * annotated + 1)
    ends = np.flatnonzero(np.diff(f[order], append=0))  # no cut separates equal values
    return float(f[order[ends[np.argmin(objective[ends])]]])


def _label_block(graph: Graph, block: slice, alpha: float, beta: float) -> tuple[Solution, list[float]]:
    solution = solve(graph, block, alpha, beta)
    f = np.minimum(solution.values, np.nextafter(np.float32(1), np.float32(0)))  # a threshold of 1 exceeds all values
    cuts = [best_cut(graph, f[:, i], k, alpha, beta) for i, k in enumerate(range(block.start, block.stop))]
    return solution._replace(values=f), cuts
