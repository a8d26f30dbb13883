"""Annotated instances made by chance, whose complete labels are known."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.linear_model import LinearModel
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
