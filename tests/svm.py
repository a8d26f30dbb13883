"""Data files of arrays."""

from pathlib import Path

import numpy as np


def lines(X: np.ndarray, Y: np.ndarray, first: int = 1, form: str = ".4f") -> list[str]:
    """Return the line of each instance: where its row of Y is not 0, and all features; both count from `first`."""
    labels = (",".join(map(str, np.flatnonzero(y) + first)) for y in Y)
    features = ("".join(f" {j}:{v:{form}}" for j, v in enumerate(x, first)) for x in X)
    return [f"{ids}{pairs}\n" for ids, pairs in zip(labels, features, strict=True)]


def write(path: Path, X: np.ndarray, Y: np.ndarray, first: int = 1, form: str = ".4f") -> Path:
    """Write these lines; return where."""
    path.write_text("".join(lines(X, Y, first, form)))
    return path
