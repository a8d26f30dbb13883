"""Ways in which labels go missing, one of which is uniform, and the sets they are tried on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from mpu_cli.svmlight.reader import read

DIGITS = Path(__file__).parents[1] / "data"
SETS = ("reuters-topics", "bibtex", "yeast", "rcv1-small", "digits")
# Fewer positives, and a classifier cannot say which of them are typical.
_FEWEST = 3


@dataclass(frozen=True)
class Collection:
    """A training file and a test file with complete labels.

    Attributes
    ----------
    X, Y, X_test, Y_test : csr_array
        Features, and labels in bool; the columns are the labels that occur in training.
    """

    X: csr_array
    Y: csr_array
    X_test: csr_array
    Y_test: csr_array


def collection(name: str, data: Path) -> Collection | None:
    """Read a set by its name; None where its files are not there."""
    folder, ending = (DIGITS, "svm") if name == "digits" else (data, "svm.gz")
    train, test = (folder / f"{name}-{part}.{ending}" for part in ("train", "test"))
    if not (train.exists() and test.exists()):
        return None
    parts = read(train), read(test)
    Y, ids = parts[0].occurring_labels()
    width = max(part.labels.shape[1] for part in parts)
    labels = parts[1].labels.copy()
    labels.resize((labels.shape[0], width))
    return Collection(parts[0].features, Y, parts[1].features, labels[:, ids])


def uniform(X: csr_array, Y: np.ndarray, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Give every true label the same chance to be annotated: a chance for each cell, as all of these functions do."""
    return np.full(Y.shape, kept)


def label(X: csr_array, Y: np.ndarray, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Give each label a rate of its own."""
    width = min(kept, 1 - kept) * 0.8
    return np.broadcast_to(rng.uniform(kept - width, kept + width, Y.shape[1]), Y.shape)


def rare(X: csr_array, Y: np.ndarray, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Miss rare labels more: the rate rises with the logarithm of a label's frequency."""
    size = np.log(np.maximum(Y.sum(axis=0), 1))
    place = (size - size.min()) / max(np.ptp(size), 1e-9)
    return np.broadcast_to(kept * (0.4 + 1.1 * place), Y.shape).clip(0, 1)


def single(X: csr_array, Y: np.ndarray, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Keep one label of each instance."""
    one = np.where(Y, rng.random(Y.shape), -1).argmax(axis=1)
    return (np.arange(Y.shape[1]) == one[:, None]).astype(float)


def hard(X: csr_array, Y: np.ndarray, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Miss the less typical more: the rate rises with the rank of an instance among those that have the label."""
    chance = np.full(Y.shape, kept)
    width = min(kept, 1 - kept) * 0.8
    for k in range(Y.shape[1]):
        true = Y[:, k]
        if true.sum() < _FEWEST or true.all():
            continue
        scores = LogisticRegression(C=1, max_iter=200).fit(X, true).decision_function(X)[true]
        rank = np.argsort(np.argsort(scores)) / (len(scores) - 1)
        chance[true, k] = kept + width * (2 * rank - 1)
    return chance


Scheme = Callable[[csr_array, np.ndarray, float, np.random.Generator], np.ndarray]
SCHEMES: dict[str, Scheme] = {"uniform": uniform, "label": label, "rare": rare, "single": single, "hard": hard}


def lose(scheme: str, collection: Collection, kept: float, seed: int) -> np.ndarray:
    """Draw annotations from the true labels: bool, shape (n, q)."""
    rng = np.random.default_rng(seed)
    Y = collection.Y.toarray()
    return Y & (rng.random(Y.shape) < SCHEMES[scheme](collection.X, Y, kept, rng))
