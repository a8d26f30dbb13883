"""The evidence for and against a label: the weights of a stacked model, column by column.

A level's log-odds of a label are a sum: the bias, each feature times its weight, and, from level 1 on, the previous
levels' predictions of all labels, times the scale, times their weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import dense, values_at
from mpu_cli.core.stacking import StackedModel

# The maximum number of features named beside a label.
MOST_REASONS = 5


@dataclass(frozen=True)
class Explanation:
    """The weights of one label."""

    # float64, shape (D',): what a unit of each feature that has weights adds to the log-odds of the label at the
    # first level, which uses features alone
    features: np.ndarray
    # float64, shape (q,): what a prediction of 1 for each label adds to the log-odds of this label at the last level,
    # summed over the levels before it. None if there is only one level.
    leans_on: np.ndarray | None = None
    # float64, shape (q,): what a prediction of 1 for this label adds to the log-odds of each label, in the same way
    leaned_on_by: np.ndarray | None = None


def explain(model: StackedModel, k: int) -> Explanation:
    """Return the weights of label k; if weights are sparse, only the label's rows and columns are made dense.

    A feature is evidence for label 0 (weight 2) and against label 1; if label 0 is predicted, label 1 is less probable.

    >>> first = LinearModel(np.array([[2, -1]], np.float32), np.zeros(2, np.float32))
    >>> second = LinearModel(np.array([[1, 0], [3, -4], [0, 3]], np.float32), np.zeros(2, np.float32))
    >>> model = StackedModel((first, second), scale=0.5, thresholds=np.full(2, 0.5, np.float32))
    >>> explain(model, 1)
    Explanation(features=array([-1.]), leans_on=array([-2. ,  1.5]), leaned_on_by=array([0. , 1.5]))
    """
    features = _column(model.levels[0], k)
    if len(model.levels) == 1:
        return Explanation(features)
    last, q = model.levels[-1], len(model.thresholds)
    rows = [len(features) + q * level + k for level in range(len(model.levels) - 1)]
    to_label = _column(last, k)[len(features) :].reshape(-1, q).sum(axis=0)
    from_label = dense(last.weights[rows]).astype(float).sum(axis=0)
    return Explanation(features, model.scale * to_label, model.scale * from_label)


def named_reasons(
    model: StackedModel, features: csr_array, rows: np.ndarray, columns: np.ndarray, names: Sequence[str] | None
) -> list[list[str]]:
    """Return, for each cell, the instance's features that are the strongest evidence for the label at the first level.

    `features`: csr_array, shape (n, D): with sorted rows.
    `rows`, `columns`: int, shape (m,): the instances and labels of the cells.
    `names`: the names of features 1, 2, ...; None: their numbers are used.
    Returns: at most `MOST_REASONS` features whose values times weights are above 0, the largest first.

    >>> first = LinearModel(np.array([[2], [-1], [3]], np.float32), np.zeros(1, np.float32))
    >>> model = StackedModel((first,), scale=1.0, thresholds=np.full(1, 0.5, np.float32))
    >>> instances = csr_array(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))
    >>> named_reasons(model, instances, np.array([0, 1]), np.array([0, 0]), None)
    [['2', '0'], ['0']]
    """
    narrowed = features if model.columns is None else model.columns.of(features)
    numbers = np.arange(features.shape[1]) if model.columns is None else model.columns.indices
    weights = model.levels[0].weights
    listed = []
    for row, k in zip(rows.tolist(), columns.tolist(), strict=True):
        part = slice(narrowed.indptr[row], narrowed.indptr[row + 1])
        there = narrowed.indices[part]
        part_of_log_odds = narrowed.data[part] * values_at(weights, there, np.full(len(there), k))
        best = np.argsort(-part_of_log_odds, kind="stable")[:MOST_REASONS]
        of_cell = numbers[there[best[part_of_log_odds[best] > 0]]].tolist()
        listed.append([str(j) if names is None else names[j - 1] for j in of_cell])
    return listed


def _column(level: LinearModel, k: int) -> np.ndarray:
    return level.block(slice(k, k + 1)).weights[:, 0].astype(float)
