"""Side information about the labels of a level: a prior of their weights, and their negative sample.

Label k has a vector v_k of unit length in the feature space, such as that of its name, or zero if it has none. Its
weights are regularised towards a v_k instead of 0, and start there: w_k = a v_k + u_k, with lambda / 2 ||u_k||^2 in the
objective. So u_k is learned like w_k without a prior, from scores to which a v_k . x is added. The reasons, and the
weights of labels that are never annotated: docs/method.md, "Label features".
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import expit, logit

from mpu_cli.core.features import Columns, Features, entry_rows, unit_rows, with_values
from mpu_cli.core.predictions import Block, Predictions, as_features, count_positives

# The number of instances used to set the expected number of labels without annotations, and of bins for their scores.
_DRAWN, _BINS = 500, 4_096
# Log odds whose probability is practically 0 or 1.
_FURTHEST = 40.0
_ROWS = 128


@dataclass(frozen=True)
class Prior:
    """The vectors of q labels, and the n instances to multiply with them."""

    vectors: csc_array  # float32, shape (D, q): the columns v_k, each of unit length or zero
    # float32, shape (n, D): by column, so that the time for a product depends only on the instances with the
    # features of the label
    instances: csc_array
    # With many labels, those without annotations do not learn; None: all labels learn, and all of their weights.
    # `positives`: bool, shape (n, q): annotated labels, corrected by verified ones
    # `columns`: the features of the instances, or of vectors of annotated labels, whose weights can change
    positives: csr_array | None = None
    columns: Columns | None = None

    @classmethod
    def of(cls, features: Features, label_features: csr_array, positives: csr_array | None = None) -> "Prior":
        """Make a prior for the given instances.

        `label_features`: float32, shape (q, D): a vector of any length for each label.
        `positives`: with many labels, those without positive instances keep the weights of their label features.
        """
        vectors, instances = csc_array(unit_rows(label_features).T), features.as_sparse()
        if positives is None or (counts := count_positives(positives)).all():
            return cls(vectors, instances.tocsc())
        of_annotated = csr_array(vectors[:, np.flatnonzero(counts)].T)
        return cls(vectors, instances.tocsc(), positives, Columns.occurring(instances, of_annotated))

    def counts(self, rows: np.ndarray | slice) -> np.ndarray | None:
        """Count how many of these instances have each label: int, shape (q,); None if all labels learn."""
        return None if self.positives is None else count_positives(self.positives[rows])

    def of_next_level(self, predictions: Predictions, width: int) -> "Prior":
        """Return the same for a higher level, which has predictions as features, with a mean weight of 0.

        With many labels, only predictions that are large enough count.
        """
        v, columns = self.vectors, self.columns
        if columns is not None and not isinstance(predictions, np.ndarray):
            predicted = Columns.occurring(as_features(predictions))
            indices = np.concatenate([columns.indices, columns.width + predicted.indices])
            columns = Columns(indices.astype(np.int32), columns.width + predicted.width)
        vectors = csc_array((v.data, v.indices, v.indptr), shape=(width, v.shape[1]))
        return replace(self, vectors=vectors, columns=columns)

    def mean(self, block: Block, weight: float) -> csc_array:
        """Return a v_k for a block of labels that learn: float32, shape (D, k), or with learnable columns only."""
        v = self.vectors[:, block]
        if self.columns is not None:
            v = csc_array(self.columns.of(csr_array(v.T)).T)
        return csc_array(v * np.float32(weight))

    def offsets(self, block: Block, weight: float) -> csr_array:
        """Return a v_k . x_i for a block of labels: float32, shape (n, k)."""
        v = self.vectors[:, block]
        shape = self.instances.shape[1], v.shape[1]
        weighted = csc_array((v.data * np.float32(weight), v.indices, v.indptr), shape=shape)
        return (self.instances @ weighted).tocsr()


@dataclass(frozen=True)
class NegativeSample:
    """The instances that each group of labels is learned from."""

    group_of: np.ndarray  # int32, shape (q,): the group of each label, from 0
    instances: csr_array  # bool, shape (groups, n): whether a group is learned from an instance

    def groups(self) -> list[np.ndarray]:
        """Return the labels of each group, ascending."""
        order = np.argsort(self.group_of, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.group_of))[:-1])

    def instances_of(self, labels: Block) -> np.ndarray:
        """Return the instances that labels in a single group are learned from, ascending."""
        group = self.group_of[labels][0]
        return self.instances.indices[self.instances.indptr[group] : self.instances.indptr[group + 1]]

    def widened(self, predictions: csr_array) -> "NegativeSample":
        """Return a sample in which groups also learn from instances with a predicted label of the group.

        `predictions`: float32, shape (n, q): from models that have not seen the instances; only those used as features
        of the next level count.
        """
        features = as_features(predictions)
        cells = [
            (entry_rows(self.instances), self.instances.indices),
            (self.group_of[features.indices], entry_rows(features)),
        ]
        return NegativeSample(self.group_of, joined_cells(self.instances.shape, cells))


def joined_cells(shape: tuple[int, int], cells: list[tuple[np.ndarray, np.ndarray]]) -> csr_array:
    """Return a matrix that is true in the listed cells, given as rows and columns."""
    rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape=shape)


def unannotated_bias(
    instances: csr_array, rows: np.ndarray, vectors: csr_array, expected: float, rng: np.random.Generator
) -> np.ndarray:
    """Return the biases of labels without annotations, from instances that are not annotated with them.

    Each instance with all features of a label lowers its bias: docs/method.md, "Label features". A common term of all
    biases makes the mean number of labels per instance equal to `expected`.

    `instances`: float32, shape (n, D).
    `rows`: int, shape (m,): the instances, which have none of the labels.
    `vectors`: float32, shape (D, k): the weights of the labels, a v_k.
    `expected`: the mean number of these labels per instance; above 0.
    Returns: float32, shape (k,).

    Each of two labels is named in every other instance, in which one of them is expected.

    >>> instances, vectors = csr_array(np.eye(2, dtype=np.float32)), csr_array(6 * np.eye(2, dtype=np.float32))
    >>> unannotated_bias(instances, np.arange(2), vectors, 0.5, np.random.default_rng(0)).round(2).tolist()
    [-6.0, -6.0]
    """
    from scipy.optimize import brentq  # is slow to import

    lower = np.log1p(times_named(instances, rows, vectors)).astype(np.float32)
    drawn = np.sort(rng.choice(rows, min(len(rows), _DRAWN), replace=False))
    products = csr_array(instances[drawn] @ vectors)
    scores = products.data
    scores -= lower[products.indices]
    if not len(scores):
        return -(_FURTHEST + lower).astype(np.float32)
    counts, edges = np.histogram(scores, _BINS)
    centres = (edges[1:] + edges[:-1]) / 2
    share = min(expected * len(drawn) / len(scores), 0.5)

    def excess(common: float) -> float:
        return float(counts @ expit(centres + common)) / len(scores) - share

    highest = float(logit(share)) - float(edges[0])
    return (brentq(excess, -_FURTHEST - float(edges[-1]), highest + 1) - lower).astype(np.float32)


def times_named(instances: csr_array, rows: np.ndarray, vectors: csr_array) -> np.ndarray:
    """Count the instances in some rows (n x D) that have all features of each vector (D x k): int, shape (k,).

    The count is 0 for vectors without features.

    >>> instances = csr_array(np.array([[1, 2, 0], [1, 0, 0]]))
    >>> times_named(instances, np.arange(2), csr_array(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]]))).tolist()
    [2, 1, 0]
    """
    ones = with_values(vectors, np.ones(vectors.nnz, np.float32))
    sizes = np.bincount(vectors.indices, minlength=vectors.shape[1])
    named = np.zeros(vectors.shape[1], np.int64)
    for start in range(0, len(rows), _ROWS):  # the product of all rows would take much memory
        some = instances[rows[start : start + _ROWS]]
        some = with_values(some, np.ones(some.nnz, np.float32))
        shared = csr_array(some @ ones)
        named += np.bincount(shared.indices[shared.data == sizes[shared.indices]], minlength=len(named))
    return named
