"""One level: a linear function of the features for each label."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from mpu_cli.core.features import Features, Scaling, entry_rows, with_values
from mpu_cli.core.kernels import kernel
from mpu_cli.core.predictions import LEAST, Block, Top, dense
from mpu_cli.errors import OverflowingError
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Half the limit of float32, since sums are rounded.
LARGEST_SUM = 2.0**127
# Above this score, float32 has few different probabilities.
_SURE = 4.0


@dataclass(frozen=True)
class LinearModel:
    """One level: Pr(y^k = 1 | x) = sigma(w_k.x + b_k)."""

    weights: np.ndarray | csr_array  # ndarray or csr_array of float32, shape (D, q)
    bias: np.ndarray  # float32, shape (q,)

    def probabilities(self, features: Features, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return Pr(y^k = 1 | x) of every cell: float32, n x q; OverflowingError if a score may overflow."""
        self.refuse_overflow(features)
        if isinstance(self.weights, csr_array):
            scores = (features.as_sparse() @ self.weights).toarray()
        else:
            scores = kernel(run).scores(features, self.weights)
        return expit(scores + self.bias)

    def top(self, features: Features, top: Top, run: Run = DEFAULT_RUN, strata: np.ndarray | None = None) -> csr_array:
        """Return Pr(y^k = 1 | x) of the most probable labels of each instance: float32, n x q; errors as above.

        `strata`: int8, shape (q,): return the most probable labels of each stratum, since a calibration keeps their
        order only within one; and make an instance's probabilities near 1 distinct, in the order of their scores.
        """
        self.refuse_overflow(features)
        largest = kernel(run).top_scores(features.as_sparse(), csr_array(self.weights), self.bias, top, strata)
        probabilities = np.maximum(expit(largest.data), np.float32(top.least))  # rounding may put it just below
        if strata is not None:
            sure = np.flatnonzero(largest.data > _SURE)
            instances = entry_rows(largest)[sure]
            order = np.lexsort((-largest.data[sure], instances))
            place = np.arange(len(sure)) - np.searchsorted(instances, instances)
            probabilities[sure[order]] -= place * np.finfo(np.float32).epsneg
        largest.data = probabilities
        return largest

    def block(self, labels: Block) -> "LinearModel":
        """Return the model of a block of labels, with dense weights."""
        return LinearModel(dense(self.weights[:, labels]), self.bias[labels])

    def pruned(self, least: float) -> "LinearModel":
        """Return a model with dense weights without the weights below this absolute value."""
        kept = np.abs(self.weights) >= np.float32(max(least, LEAST))
        return LinearModel(np.where(kept, self.weights, np.float32(0)), self.bias)

    @classmethod
    def of_blocks(cls, models: Sequence["LinearModel"], labels: Sequence[np.ndarray]) -> "LinearModel":
        """Return the model of all labels from sparse models of blocks of labels; every label is in one of the blocks.

        >>> weights = [csr_array(np.float32([[5, 7]])), csr_array(np.float32([[6]]))]
        >>> blocks = [LinearModel(of_block, np.zeros(of_block.shape[1], np.float32)) for of_block in weights]
        >>> both = LinearModel.of_blocks(blocks, [np.array([0, 2]), np.array([1])]).weights
        >>> both.toarray().tolist(), both.indices.tolist()
        ([[5.0, 6.0, 7.0]], [0, 1, 2])
        """
        places = np.argsort(np.concatenate(labels))
        weights = csr_array(hstack([model.weights for model in models], format="csr")[:, places]).sorted_indices()
        if weights.nnz <= np.iinfo(np.int32).max:
            weights.indices, weights.indptr = weights.indices.astype(np.int32), weights.indptr.astype(np.int32)
        return cls(weights, np.concatenate([model.bias for model in models])[places])

    def unscaled(self, scaling: Scaling, of_predictions: float) -> "LinearModel":
        """Convert a model of scaled features to a model of the unscaled features.

        `of_predictions`: the factor for the weights of the lower levels' predictions, which follow the features.
        Raises OverflowingError if a weight exceeds the range of float32.
        """
        width = len(scaling.factor)
        factors = np.full(self.weights.shape[0], of_predictions)
        factors[:width] = scaling.factor
        bias = self.bias - (scaling.shift * scaling.factor) @ self.weights[:width]
        with np.errstate(over="ignore"):
            if isinstance(self.weights, np.ndarray):
                values = weights = (self.weights * factors[:, None]).astype(np.float32)
            else:
                values = (self.weights.data * factors[entry_rows(self.weights)]).astype(np.float32)
                weights = with_values(self.weights, values)
            bias = bias.astype(np.float32)
        if not (np.isfinite(values).all() and np.isfinite(bias).all()):
            raise OverflowingError
        return LinearModel(weights, bias)

    @cached_property
    def _largest_weight(self) -> float:
        return _largest(self.weights)

    def refuse_overflow(self, features: Features) -> None:
        """Raise OverflowingError if the sum over j of |x_ij| |w_jk|, plus the largest |b_k|, may exceed float32.

        A BLAS chooses the order of the sum w.x, and whether it overflows depends on the order. The sum of the
        magnitudes does not: if it is in range, the sum overflows in no order. The largest value times the largest
        weight bounds all sums, which are computed if that bound is not enough.
        """
        sparse, dense, largest_bias = features.sparse, features.dense, _largest(self.bias)
        terms = int(np.diff(sparse.indptr).max(initial=0)) + dense.shape[1]
        if terms * max(_largest(sparse.data), _largest(dense)) * self._largest_weight + largest_bias <= LARGEST_SUM:
            return  # not if it is NaN
        matrix = features.as_sparse()
        columns, places = np.unique(matrix.indices, return_inverse=True)  # there may be many others
        values = csr_array((np.abs(matrix.data), places, matrix.indptr), (len(features), len(columns)), np.float64)
        if not _largest(values @ abs(self.weights[columns].astype(np.float64))) + largest_bias <= LARGEST_SUM:
            raise OverflowingError


def _largest(values: np.ndarray | csr_array) -> float:
    """Return the largest magnitude, without a copy of the values; 0 if there are none, NaN if one is NaN."""
    stored = values.data if isinstance(values, csr_array) else values
    return float(max(np.max(stored, initial=0), -np.min(stored, initial=0)))


def rows_among(matrix: csr_array, places: np.ndarray, n: int) -> csr_array:
    """Put the rows of a matrix, such as weights of some features, at their places among n; the others are empty."""
    rows = places.astype(np.int32)[entry_rows(matrix)]
    return csr_array((matrix.data, (rows, matrix.indices)), shape=(n, matrix.shape[1]))
