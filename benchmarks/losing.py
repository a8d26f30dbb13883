"""Ways in which labels go missing, those of `mpu corrupt`, and the sets they are tried on."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.commands.corrupt import SCHEMES, annotated
from mpu_cli.svmlight.reader import read

__all__ = ["SCHEMES", "SETS", "Collection", "collection", "lose"]

DIGITS = Path(__file__).parents[1] / "data"
SETS = ("reuters-topics", "bibtex", "yeast", "rcv1-small", "digits")


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


def lose(scheme: str, collection: Collection, kept: float, seed: int) -> np.ndarray:
    """Draw annotations from the true labels: bool, shape (n, q)."""
    return annotated(scheme, collection.X, collection.Y, kept, seed).toarray()
