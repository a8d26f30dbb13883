"""Omikuji: trees of labels. Reads files with a first line ``instances features labels``."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import omikuji
from interface import main

# Trees of three levels with up to 100 unbalanced branches, as in Bonsai; the defaults are as in Parabel.
METHODS = {"bonsai": {"cluster_k": 100, "cluster_balanced": False, "max_depth": 3}, "parabel": {}}


def train(method: str, data: Path, model: Path) -> None:
    """Train on a file."""
    settings = omikuji.Model.default_hyper_param()
    for name, value in METHODS[method].items():
        setattr(settings, name, value)
    omikuji.Model.train_on_data(str(data), settings).save(str(model))


def rank(_method: str, model: Path, data: Path, labels: int) -> Iterator[Iterable[tuple[int, float]]]:
    """Rank the labels of a file; features that training had none of are left out."""
    learned = omikuji.Model.load(str(model))
    width = learned.n_features
    with data.open() as lines:
        next(lines)
        for line in lines:
            entries = (part.split(":") for part in line.split() if ":" in part)
            features = [(int(index), float(value)) for index, value in entries]
            yield learned.predict([entry for entry in features if entry[0] < width], top_k=labels)


if __name__ == "__main__":
    main(METHODS, train, rank=rank)
