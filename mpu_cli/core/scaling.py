"""Scalings of features, where one column has far larger numbers than others, and what tells that one has.

A model of scaled features is made one of the features themselves (`StackedModel.unscaled`): no prediction scales any.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.options import LARGEST, STANDARDISED

SCALINGS = STANDARDISED, LARGEST
# The share of instances that have a value in a column from which on its mean is subtracted: it is dense then anyway.
_FILLED = 0.5
# Deviations, by the largest value of the column, that are rounding errors of float32.
_CONSTANT = 1e-6
# Instances that tell whether columns are uneven.
_ENOUGH = 2_000
# Columns are uneven where one has this share of the squared length of instances, and as many times its part; or where
# mean squares of filled columns differ by this factor.
_SHARE, _TIMES, _FACTOR = 0.1, 10.0, 100.0
_DOMINATING = 0.9
_ROWS = 1 << 14


class Dominating(NamedTuple):
    """A column that has nearly all of the squared length of the instances, by values far larger than others."""

    column: int
    share: float

    def caution(self, name: str) -> str:
        """Say so, by the name of the column."""
        return (
            f"feature {name} has {self.share:.1%} of the squared length of the instances: its numbers are far larger "
            "than those of the others; give all features numbers of one size"
        )


@dataclass(frozen=True)
class Evenness:
    """How large the columns of some features are beside each other."""

    uneven: bool  # whether a scaling may help
    dominating: Dominating | None

    @classmethod
    def of(cls, features: Features) -> "Evenness":
        """Compare columns by some of the instances, evenly spaced."""
        n, width = len(features), features.width
        some = features[:: -(-n // _ENOUGH) or 1]
        squares = np.square(some.dense, dtype=np.float64).sum(axis=0)
        counts: np.ndarray = np.count_nonzero(some.dense, axis=0)
        if some.sparse.nnz:
            values, columns = some.sparse.data.astype(np.float64), some.sparse.indices
            squares = np.concatenate([np.bincount(columns, values**2, some.sparse.shape[1]), squares])
            counts = np.concatenate([np.bincount(columns, minlength=some.sparse.shape[1]), counts])
        if not squares.any():
            return cls(False, None)
        column = int(squares.argmax())
        share = float(squares[column] / squares.sum())
        filled = squares[(counts >= _FILLED * len(some)) & (squares > 0)]
        differ = len(filled) > 1 and bool(filled.max() >= _FACTOR * np.quantile(filled, 0.1))
        sizes = np.divide(squares, counts, out=np.zeros_like(squares), where=counts > 0)  # of values, squared
        others = np.delete(sizes, column)[np.delete(counts, column) > 0]
        is_large = len(others) > 0 and bool(sizes[column] >= _FACTOR * np.median(others))
        dominating = Dominating(column, share) if share >= _DOMINATING and is_large else None
        return cls(differ or share >= min(max(_SHARE, _TIMES / width), _DOMINATING), dominating)


@dataclass(frozen=True)
class Scaling:
    """z = (x - shift) factor, column by column; columns that few instances have are not shifted, and stay sparse."""

    name: str
    # `shift`, `factor`: float64, shape (D,)
    shift: np.ndarray
    factor: np.ndarray
    mean_squared_norm: float  # of the instances as in the data

    @classmethod
    def learned(cls, features: Features, name: str) -> "Scaling":
        """Take the deviation of each column, or its largest absolute value, as 1; a constant column is left out."""
        if features.dense.shape[1]:
            dense = features.dense
            shift = dense.mean(axis=0, dtype=np.float64)
            squares, largest, peak = np.zeros((3, dense.shape[1]))
            for start in range(0, len(dense), _ROWS):
                part = dense[start : start + _ROWS]
                moved = np.abs(part - shift)
                squares += np.square(moved).sum(axis=0)
                largest = np.maximum(largest, moved.max(axis=0))
                peak = np.maximum(peak, np.abs(part).max(axis=0))
        else:
            matrix, width = features.sparse, features.width
            counts = np.bincount(matrix.indices, minlength=width)
            sums = np.bincount(matrix.indices, matrix.data, width)
            shift = np.where(counts >= _FILLED * len(features), sums / len(features), 0.0)
            values = matrix.data - shift[matrix.indices]
            without = (len(features) - counts).astype(np.float64)
            squares = without * np.square(shift)
            squares += np.bincount(matrix.indices, np.square(values), width)
            largest, peak = np.where(without, np.abs(shift), 0.0), np.zeros(width)
            np.maximum.at(largest, matrix.indices, np.abs(values))
            np.maximum.at(peak, matrix.indices, np.abs(matrix.data).astype(np.float64))
        deviation = np.sqrt(squares / len(features))
        unit = deviation if name == STANDARDISED else largest
        varies = deviation > _CONSTANT * peak
        factor = np.divide(1.0, unit, out=np.zeros_like(unit), where=varies)
        return cls(name, shift, factor, features.mean_squared_norm())

    def of(self, features: Features) -> Features:
        """Return the scaled features."""
        if features.dense.shape[1]:
            dense = np.empty_like(features.dense)
            for start in range(0, len(dense), _ROWS):
                part = slice(start, start + _ROWS)
                dense[part] = (features.dense[part] - self.shift) * self.factor
            return Features(features.sparse, dense)
        matrix = features.sparse
        values = (matrix.data - self.shift[matrix.indices]) * self.factor[matrix.indices]
        scaled = csr_array((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
        return Features(csr_array(scaled + self._of_zeros(matrix)), features.dense)

    def _of_zeros(self, matrix: csr_array) -> csr_array:
        """Return what becomes of the zeros of columns that are shifted."""
        shifted = np.flatnonzero(self.shift)
        part = matrix[:, shifted]
        there = np.zeros(part.shape, bool)
        there[np.repeat(np.arange(len(there)), np.diff(part.indptr)), part.indices] = True
        rows, places = np.nonzero(~there)
        values = (-self.shift * self.factor)[shifted[places]].astype(np.float32)
        return csr_array((values, (rows, shifted[places])), shape=matrix.shape)
