"""Models: a level, which is one linear function of the features for each label, and stacked levels.

Level 0 learns from x. Level l learns from x^(l) = (x^(l-1), scale * yhat^(l-1)), where yhat^(l-1) are the level's
out-of-fold predictions in training and its plain predictions later. That is how label correlations enter (Kong et al.
2014, Section 2.2).

Features of an RBF kernel may take the place of an instance's own, so that a linear model of them is not linear in x:
Nyström's method (Williams and Seeger, "Using the Nyström Method to Speed Up Kernel Machines", NIPS 2000), by
scikit-learn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import expit

from mpu_cli.core.features import Columns, Features, with_width
from mpu_cli.core.kernels import kernel
from mpu_cli.core.limits import largest, refuse_overflow
from mpu_cli.core.model.calibration import AnyCalibration, Calibration, StratifiedCalibration
from mpu_cli.core.predictions import LEAST, STACKED_FROM, Block, Predictions, Top, at_least
from mpu_cli.core.weights import WeightRows, joined
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Weight of the predictions of a level as features of the next, relative to the length of instances.
STACK_SCALE = 0.3


@dataclass(frozen=True)
class LinearModel:
    """One level: Pr(y^k = 1 | x) = sigma(w_k.x + b_k)."""

    weights: np.ndarray | csr_array  # ndarray or csr_array of float32, shape (D, q)
    bias: np.ndarray  # float32, shape (q,)

    def probabilities(self, features: Features, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Pr(y^k = 1 | x) for every instance and label: float32, n x q; OverflowingError where a score may overflow."""
        self.refuse_overflow(features)
        if isinstance(self.weights, csr_array):
            scores = (features.as_sparse() @ self.weights).toarray()
        else:
            scores = kernel(run).scores(features, self.weights)
        return expit(scores + self.bias)

    def top(self, features: Features, top: Top, run: Run = DEFAULT_RUN) -> csr_array:
        """Pr(y^k = 1 | x) of the most probable labels of each instance: float32, n x q; errors as above."""
        self.refuse_overflow(features)
        largest = kernel(run).top_scores(features.as_sparse(), self._rows, self.bias, top)
        np.maximum(expit(largest.data), np.float32(top.least), out=largest.data)  # rounded, it may just fall short
        return largest

    def block(self, labels: Block) -> "LinearModel":
        """Return the model of a block of labels, with dense weights."""
        block = self.of_labels(labels)
        return block if isinstance(block.weights, np.ndarray) else replace(block, weights=block.weights.toarray())

    def of_labels(self, labels: Block) -> "LinearModel":
        """Return the model of a subset of the labels; its weights are sparse where these are."""
        dense = isinstance(self.weights, np.ndarray)
        weights = self.weights[:, labels] if dense else csr_array(self._by_label[:, labels])
        return LinearModel(weights, self.bias[labels])

    def pruned(self, least: float) -> "LinearModel":
        """Return the model with dense weights without those below this absolute value."""
        return LinearModel(np.where(np.abs(self.weights) < np.float32(least), np.float32(0), self.weights), self.bias)

    @classmethod
    def of_blocks(cls, models: Sequence["LinearModel"], labels: Sequence[np.ndarray]) -> "LinearModel":
        """Return the model of all labels from sparse ones of blocks of them."""
        bias = np.empty(sum(map(len, labels)), np.float32)
        bias[np.concatenate(labels)] = np.concatenate([model.bias for model in models])
        return cls(joined([model.weights for model in models], labels), bias)

    def __reduce__(self) -> tuple[Any, ...]:
        return LinearModel, (self.weights, self.bias)  # without what is derived from them

    @cached_property
    def _by_label(self) -> csc_array:
        return csc_array(self.weights)

    @cached_property
    def _rows(self) -> WeightRows:
        return WeightRows.of(self.weights)

    def refuse_overflow(self, features: Features) -> None:
        """Raise OverflowingError where a score of one of the instances may overflow."""
        refuse_overflow(features, self.weights, self.bias, self._largest_weight)

    @cached_property
    def _largest_weight(self) -> float:
        return largest(self.weights if isinstance(self.weights, np.ndarray) else self.weights.data)


# Instances whose kernel values are in memory at a time, for each thread.
_ROWS = 1 << 10


@dataclass(frozen=True)
class RbfFeatures:
    """phi(x) = N (K(z, z_1), ..., K(z, z_m)), where z is x with each feature standardised, and z_j are m instances.

    <phi(x), phi(x')> is about K(z, z') = exp(-gamma ||z - z'||^2).
    """

    # `mean`, `deviation`: float64, shape (D,): z = (x - mean) / deviation, feature by feature
    mean: np.ndarray
    deviation: np.ndarray
    landmarks: np.ndarray  # float32, shape (m, D): z_1, ..., z_m
    normalization: np.ndarray  # float32, shape (m, m): N, the inverse square root of the kernel of the landmarks
    gamma: float  # in units of the inverse squared distance of standardised instances

    @classmethod
    def learned(cls, matrix: csr_array, gamma: float, m: int, seed: int = 0) -> "RbfFeatures":
        """Draw at most m landmarks among instances.

        `matrix`: float32, shape (n, D).
        `gamma`: by D: gamma / D is the kernel's, since the mean squared distance of standardised instances is 2 D.
        """
        from sklearn.kernel_approximation import Nystroem  # takes half a second, which only kernels need

        dense = matrix.toarray().astype(np.float64)
        mean, deviation = dense.mean(axis=0), dense.std(axis=0)
        deviation[deviation <= 1e-9 * np.abs(dense).max(axis=0, initial=0)] = 1  # constant but for rounding
        gamma /= matrix.shape[1]
        kernel = Nystroem(gamma=gamma, n_components=min(m, len(dense)), random_state=seed)
        with parallel.blas_on_one_thread():
            kernel.fit((dense - mean) / deviation)
        landmarks, normalization = (array.astype(np.float32) for array in (kernel.components_, kernel.normalization_))
        return cls(mean, deviation, landmarks, normalization, gamma)

    def __len__(self) -> int:
        return len(self.landmarks)

    @property
    def width(self) -> int:
        """Number of features D of an instance."""
        return len(self.mean)

    def of(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> csr_array:
        """Return phi of instances (n x any, float32), all of whose entries are stored: csr_array of float32, (n, m)."""
        from sklearn.metrics import pairwise

        matrix = with_width(matrix, self.width)
        n, m = matrix.shape[0], len(self)
        values = np.empty((n, m), np.float32)
        landmarks, normalization = (a.astype(np.float64) for a in (self.landmarks, self.normalization))

        def compute(start: int) -> None:
            part = slice(start, start + _ROWS)
            standardised = (matrix[part].toarray() - self.mean) / self.deviation
            values[part] = pairwise.rbf_kernel(standardised, landmarks, gamma=self.gamma) @ normalization.T

        for _ in parallel.run(compute, ((start,) for start in range(0, n, _ROWS)), run.jobs):
            pass
        columns = np.tile(np.arange(m, dtype=np.int32), n)
        return csr_array((values.ravel(), columns, np.arange(0, n * m + 1, m)), shape=(n, m))


@dataclass(frozen=True)
class StackedModel:
    """Levels that run in turn, and a decision threshold for each label."""

    # Level l has weights of shape (D' + l q, q), where D' of the D features have weights
    levels: tuple[LinearModel, ...]
    scale: float  # what probabilities are multiplied by when they become features
    thresholds: np.ndarray  # float32, shape (q,): a label is predicted where its probability is at least its threshold
    # What makes probabilities of the predictions of each level; None, or none: they are taken for such as they are.
    # The calibration of the last level alone may be in strata.
    calibrations: tuple[AnyCalibration | None, ...] = ()
    top: Top | None = None  # which predictions of a level are kept, where labels are many; None: all
    columns: Columns | None = None  # the features that have weights; None: all
    kernel: RbfFeatures | None = None  # what makes the features of level 0 of an instance's own; None: they are its own

    @property
    def calibration(self) -> AnyCalibration | None:
        """Return what makes probabilities of the predictions of the last level, if anything does."""
        return self.calibrations[-1] if self.calibrations else None

    @property
    def n_features(self) -> int:
        """Number of features D of an instance."""
        if self.kernel is not None:
            return self.kernel.width
        return self.levels[0].weights.shape[0] if self.columns is None else self.columns.width

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Pr(y^k = 1 | x) by the last level; of many labels 0 where it is not among the largest of the instance.

        `matrix`: csr_array, shape (n, any), float32: features; columns beyond the model's are ignored.
        Returns: float32, shape (n, q).
        """
        predictions = self.predictions(matrix, run)
        return predictions if isinstance(predictions, np.ndarray) else predictions.toarray()

    def predictions(self, matrix: csr_array, run: Run = DEFAULT_RUN, most: int | None = None) -> Predictions:
        """Return the same as an array, or, of many labels, the largest of each instance as a sparse matrix.

        `most`: how many of each instance, however improbable they are. Default: the number of `top`.
        """
        if self.kernel is not None:
            matrix = self.kernel.of(matrix, run)
        features = Features.of(matrix if self.columns is None else self.columns.of(matrix), self._width)
        last = self.top
        if last is not None and most is not None:  # in strata, the most probable labels may not have the largest scores
            last = Top(max(most, last.most) if self._is_in_strata else most, LEAST)
        tops = [*[self.top] * (len(self.levels) - 1), last]
        calibrations = self.calibrations or (None,) * len(self.levels)
        predictions = _predicted(self.levels[0], features, tops[0], run)
        for level, top, calibration in zip(self.levels[1:], tops[1:], calibrations[:-1], strict=True):
            features = stack(features, calibrated(predictions, calibration), self.scale)
            predictions = _predicted(level, features, top, run)
        predictions = calibrated(predictions, calibrations[-1])
        if most is None or isinstance(predictions, np.ndarray) or not self._is_in_strata:
            return predictions
        return Top(most, LEAST).of_sparse(predictions)

    @property
    def _is_in_strata(self) -> bool:
        return isinstance(self.calibration, StratifiedCalibration)

    @property
    def _width(self) -> int:
        return self.levels[0].weights.shape[0]


def _predicted(level: LinearModel, features: Features, top: Top | None, run: Run) -> Predictions:
    return level.probabilities(features, run) if top is None else level.top(features, top, run)


def calibrated(predictions: Predictions, calibration: AnyCalibration | None) -> Predictions:
    """Make probabilities of predictions, in place."""
    if calibration is not None:
        calibration.apply(predictions)
    return predictions


def stack(
    features: Features,
    predictions: Predictions,
    scale: float,
    calibration: Calibration | None = None,
) -> Features:
    """Return x^(l) = (x^(l-1), scale * yhat^(l-1)), of calibrated dense predictions."""
    if isinstance(predictions, np.ndarray):
        return features.append(predictions, scale, calibration)
    return features.append_sparse(at_least(predictions, STACKED_FROM), scale)
