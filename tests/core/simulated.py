"""Annotated instances made by chance, whose complete labels are known, and what is learned of them."""

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.loss.pu_logistic import pu_gradient, pu_loss
from mpu_cli.core.sgd import LearningTask, Settings, Split
from mpu_cli.core.validation import train_splits
from mpu_cli.svmlight.reader import read


def as_features(values) -> csr_array:
    return csr_array(np.asarray(values, np.float32))


def as_labels(values) -> csr_array:
    return csr_array(np.asarray(values, bool))


def trained(
    features: Features, labels: csr_array, rows: np.ndarray, frequency: LabelFrequency, settings: Settings, **how
) -> LinearModel:
    """Learn all labels from these instances."""
    return train_splits([Split(LearningTask(features, labels, frequency, settings, **how), (rows,))])[0]


def objective(v: np.ndarray, X, s, c, cost: float, mean=0.0) -> tuple[float, np.ndarray]:
    """Return the mean loss of a label plus lambda / 2 ||w - mean||^2, lambda = 1 / (C n), and its gradient."""
    z, shift, n = X @ v[:-1] + v[-1], v[:-1] - mean, len(X)
    gradient = pu_gradient(z, s, c) / n
    value = pu_loss(z, s, c).mean() + shift @ shift / (2 * cost * n)
    return value, np.append(gradient @ X + shift / (cost * n), gradient.sum())


def assert_minimal(model: LinearModel, X, S, C, cost: float, means, atol: float) -> None:
    """Compare labels with what an independent minimiser finds; S and C: s and c of all cells; a mean for each label."""
    for k, mean in enumerate(means):
        problem = X, S[:, k], C[:, k], cost, mean
        found = np.append(model.weights[:, k], model.bias[k]).astype(float)
        least = minimize(objective, np.zeros(len(found)), problem, jac=True)
        assert objective(found, *problem)[0] <= least.fun * 1.01
        assert_allclose(found[:-1], least.x[:-1], atol=atol * np.abs(least.x).max())


def linear_problem(n: int, D: int, q: int, seed: int = 0, slope: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Features (n x D) and labels (n x q) drawn from logistic models; every label occurs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)).astype(np.float32)
    Y = rng.random((n, q)) < expit(X @ rng.normal(size=(D, q)) * slope / np.sqrt(D) - 1)
    Y[rng.integers(n, size=q), np.arange(q)] = True
    return X, Y


def hide(labels, missing: float, seed: int = 0) -> csr_array:
    """Keep a share of 1 - missing of all labels, drawn uniformly."""
    rows, columns = csr_array(labels).nonzero()
    drawn = np.random.default_rng(seed).permutation(len(rows))[round(missing * len(rows)) :]
    return csr_array((np.ones(len(drawn), bool), (rows[drawn], columns[drawn])), shape=labels.shape)


def read_digits(paths: tuple[Path, Path]) -> tuple[csr_array, csr_array, csr_array, csr_array]:
    """Training features and labels, test features and labels."""
    train, test = (read(path) for path in paths)
    labels, ids = train.occurring_labels()
    return train.features, labels, test.features, test.labels[:, ids]
