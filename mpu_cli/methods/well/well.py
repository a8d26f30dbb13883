"""WELL: weak labels, after Sun, Zhang and Zhou (AAAI 2010), "Multi-Label Learning with Weak Label".

Transductive: n instances, training and unlabelled ones together, get values f in [0, 1] for each label k by a convex
problem,

    min  alpha f' L_k f  +  beta sum over the annotated of (f_i - 1)^2  +  sum of f_i,     0 <= f <= 1:

similar instances have similar values, annotated labels are kept, and few instances have the label. The instances with
f_i >= t have it, for the t at which that set, as a vector of zeros and ones, has the smallest objective.

Our reading, where we had no more than the idea to go by (alpha = 100 and beta = 10 are a public reimplementation's):

- L = D - W is the plain Laplacian of W_ij = exp(-gamma ||x_i - x_j||^2), W_ii = 0. Normalised to degree 1, alpha = 100
  ties every instance to its neighbours so much more than beta = 10 to its annotation that the best cut is empty for
  nearly all labels; likewise where gamma is so small that all instances are similar.
- So gamma, where it is not given, makes the median degree, the sum of an instance's similarities, w = SHARE beta/alpha:
  neighbours weigh as much as a share of an annotation.
- Labels are correlated by similarities that all labels share: for each label j, the instances annotated with j are
  similar to each other, a similarity of rank one, B_j = w s_j s_j' / |s_j|. Label k combines them by its likeness to
  j, the cosine R_kj of the annotations: W_k = W + sum_j R_kj B_j.
- Training instances that are not annotated are treated as unlabelled ones.

Held-out parts of training files, micro-F1 with complete and with half of the labels: reuters-topics 0.42 and 0.37,
yeast 0.56 and 0.59, bibtex 0.02 and 0.01. Distances tell little in many dimensions, and on bibtex the best cut keeps
the annotated instances alone: the values would do better, 0.15 with one threshold for all.

All labels of a block are solved together by accelerated projected gradient steps (Beck and Teboulle 2009) that are
scaled a coordinate by the bound D - W <= 2 D, with restarts (O'Donoghue and Candes 2015).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.features import with_width
from mpu_cli.core.limits import refuse_large_graph
from mpu_cli.errors import MpuError
from mpu_cli.methods.m3l.rbf import mean_squared_distance, rbf_kernel
from mpu_cli.methods.shared.label_correlation import cosine_similarity
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Weight of all neighbours by that of an annotation.
SHARE = 0.5
# The largest change of a value by a projected step from the solution: its distance from the optimality conditions.
TOLERANCE = 1e-4
_MOST_STEPS = 1000
_BLOCK_SIZE = 64
_ROWS = 256
# Below this share of values that are not zero, a sparse product beats a dense one.
_SPARSE_BELOW = 0.05
# Instances by which gamma is chosen.
_SAMPLE = 500


@dataclass(frozen=True)
class Report:
    """What training found.

    Attributes
    ----------
    gamma : float
        W_ij = exp(-gamma ||x_i - x_j||^2).
    steps : int
        Projected gradient steps, of the block of labels that took most.
    residual : float
        The largest change of a value by the last step.
    empty_labels : int
        Labels whose best cut is the empty set; no instance has them.
    """

    gamma: float
    steps: int
    residual: float
    empty_labels: int


@dataclass(frozen=True)
class Answers:
    """What is found of the instances that were given to be labelled; there is no model of others.

    Attributes
    ----------
    values : ndarray of float32, shape (m, q)
        In [0, 1].
    thresholds : ndarray of float32, shape (q,)
        A label is predicted where its value is at least its threshold.
    n_features : int
        Number of features D.
    """

    values: np.ndarray
    thresholds: np.ndarray
    n_features: int

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return the values of these instances, and of no others."""
        if matrix.shape[0] != len(self.values):
            raise MpuError("well labels the instances that it is given while it learns, and no others")
        return self.values

    def predictions(self, matrix: csr_array, run: Run = DEFAULT_RUN, most: int | None = None) -> np.ndarray:
        """Return the same: all of them."""
        return self.probabilities(matrix, run)


@dataclass(frozen=True)
class Graph:
    """The similarities of n instances, for each of q labels.

    Attributes
    ----------
    similarity : ndarray of float32, shape (n, n)
        W, with a diagonal of zeros.
    degree : ndarray of float32, shape (n,)
        Row sums of W.
    annotated : csr_array of float32, shape (n, q)
        S: 1 where instance i is annotated with label j.
    sizes : ndarray of float32, shape (q,)
        Annotations of each label, at least 1.
    combination : ndarray of float32, shape (q, q)
        w R_kj: how much of base similarity s_j s_j' / |s_j| is in that of label k.
    """

    similarity: np.ndarray
    degree: np.ndarray
    annotated: csr_array
    sizes: np.ndarray
    combination: np.ndarray

    @classmethod
    def of(cls, similarity: np.ndarray, labels: csr_array, weight: float) -> "Graph":
        """Make it of W, the annotations (n x q), and the weight w of the similarities that labels share."""
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
        """By how much f' L_k f grows where f_i goes from 0 to 1, one instance after the other: float64."""
        alone = self.degree[order] - 2 * _to_earlier(self.similarity, order)
        counts = np.cumsum(self.annotated[order].toarray(), axis=0, dtype=np.float64)
        shared = (counts - counts**2 / self.sizes) @ self.combination[k]
        return alone + np.diff(shared, prepend=0)


def train(
    matrix: csr_array,
    labels: csr_array,
    unlabeled: csr_array,
    *,
    gamma: float | None = None,
    alpha: float = 100.0,
    beta: float = 10.0,
    run: Run = DEFAULT_RUN,
) -> tuple[Answers, Report]:
    """Label instances while learning.

    Parameters
    ----------
    matrix : csr_array, shape (n, D), float32
        Features of the training instances.
    labels : csr_array of bool, shape (n, q)
        Their annotated labels.
    unlabeled : csr_array, shape (m, any), float32
        The instances to label.
    gamma : float or None
        Of the similarities; None: by their median degree.
    alpha, beta : float
        Weights of smoothness and of the annotations.
    run : Run
        Its seed is that of the sample that gamma is chosen by; its threads work on blocks of labels.

    Returns
    -------
    Answers
        Of the unlabelled instances.
    Report

    Raises
    ------
    TooLargeError
        The similarities would not fit in memory.
    """
    n, m, q = matrix.shape[0], unlabeled.shape[0], labels.shape[1]
    refuse_large_graph(n + m, q)
    width = max(matrix.shape[1], unlabeled.shape[1])
    unlabeled = with_width(unlabeled, width)
    together = csr_array(vstack([with_width(matrix, width), unlabeled], format="csr"))
    labels = csr_array(vstack([labels, csr_array((m, q), dtype=bool)], format="csr"))
    weight = SHARE * beta / alpha
    with run.step("similarities", None):
        if gamma is None:
            gamma = choose_gamma(together, weight, run.seed)
        similarity = rbf_kernel(together, together, gamma)
        np.fill_diagonal(similarity, 0)
        graph = Graph.of(similarity, labels, weight)

    values, thresholds = np.empty((m, q), np.float32), np.empty(q, np.float32)
    steps, residual = [], []
    blocks = [slice(start, min(start + _BLOCK_SIZE, q)) for start in range(0, q, _BLOCK_SIZE)]
    with run.step("labels", len(blocks)) as tick:
        solved = parallel.run(_label_block, ((graph, block, alpha, beta) for block in blocks), run.jobs)
        for block, (f, cuts, taken, left) in zip(blocks, solved, strict=True):
            values[:, block], thresholds[block] = f[n:], cuts
            steps.append(taken)
            residual.append(left)
            tick()
    report = Report(gamma, max(steps), max(residual), int((thresholds == 1).sum()))
    return Answers(values, thresholds, width), report


def choose_gamma(matrix: csr_array, degree: float, seed: int) -> float:
    """Return the gamma under which the similarities of an instance to all others sum to `degree`, in the median.

    Parameters
    ----------
    matrix : csr_array, shape (n, D), float32
    degree : float
        > 0.
    seed : int
        Seed of the sample of instances whose median it is.
    """
    rows = np.random.default_rng(seed).permutation(matrix.shape[0])[:_SAMPLE]
    start = 1 / mean_squared_distance(matrix)
    similarity = rbf_kernel(matrix[rows], matrix, start)
    low, high = 1e-3, 1e3  # in units of the start; where no gamma will do, an end of it
    for _ in range(30):
        power = np.sqrt(low * high)
        if np.median((similarity**power).sum(axis=1)) - 1 > degree:  # 1 is the similarity to itself
            low = power
        else:
            high = power
    return float(start * high)


def solve(graph: Graph, block: slice, alpha: float, beta: float) -> tuple[np.ndarray, int, float]:
    """Minimise the objective of each label of a block.

    Parameters
    ----------
    graph : Graph
    block : slice
        The labels.
    alpha, beta : float

    Returns
    -------
    f : ndarray of float32, shape (n, b)
    steps : int
        Steps taken.
    residual : float
        The largest change by the last one.
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
            return stepped, steps, residual
        if np.vdot(ahead - stepped, stepped - f) > 0:  # it runs uphill
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = stepped + np.float32((momentum - 1) / following) * (stepped - f)
        f, momentum = stepped, following
    return f, steps, residual


def best_cut(graph: Graph, f: np.ndarray, k: int, alpha: float, beta: float) -> float:
    """Return the t for which {f >= t} has the smallest objective for label k; 1 where that is the empty set.

    Parameters
    ----------
    graph : Graph
    f : ndarray of float32, shape (n,)
        Values below 1. Instances of value 0 are in no set.
    k : int
    alpha, beta : float
    """
    order = np.argsort(-f, kind="stable")[: np.count_nonzero(f)]
    annotated = graph.annotated[:, [k]].toarray().ravel()[order]
    objective = np.cumsum(alpha * graph.edge_costs(order, k) - beta * annotated + 1)
    ends = np.flatnonzero(np.diff(f[order], append=0))  # no cut parts equal values
    if not len(ends) or objective[ends].min() >= 0:
        return 1.0
    return float(f[order[ends[np.argmin(objective[ends])]]])


def _product(similarity: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Multiply; where few instances have a label most values are zero, and are left out."""
    if np.count_nonzero(f) < _SPARSE_BELOW * f.size:
        return (csr_array(f.T) @ similarity).T  # W is symmetric
    return similarity @ f


def _to_earlier(similarity: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Sum the similarities of each instance to those before it: float64. In parts, since all at once is a copy of W."""
    sums = np.empty(len(order))
    earlier = np.zeros(len(similarity), np.float32)
    for start in range(0, len(order), _ROWS):
        rows = order[start : start + _ROWS]
        part = similarity[rows]
        sums[start : start + _ROWS] = part @ earlier + np.tril(part[:, rows], -1).sum(axis=1)
        earlier[rows] = 1
    return sums


def _label_block(graph: Graph, block: slice, alpha: float, beta: float) -> tuple[np.ndarray, list[float], int, float]:
    f, steps, residual = solve(graph, block, alpha, beta)
    f = np.minimum(f, np.nextafter(np.float32(1), np.float32(0)))  # so that a threshold of 1 is above all
    cuts = [best_cut(graph, f[:, i], k, alpha, beta) for i, k in enumerate(range(block.start, block.stop))]
    return f, cuts, steps, residual
