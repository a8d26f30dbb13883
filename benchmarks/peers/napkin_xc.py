"""napkinXC: binary relevance (one classifier a label) and probabilistic label trees."""

from collections.abc import Iterable
from pathlib import Path

from interface import main
from napkinxc.models import BR, PLT

ADAGRAD = {"optimizer": "adagrad"}  # the default, one epoch, is better here than the three of the authors' experiments
METHODS = {"br": (BR, {}), "br-adagrad": (BR, ADAGRAD), "plt": (PLT, {}), "plt-adagrad": (PLT, ADAGRAD)}
THRESHOLD = 0.5


def train(method: str, data: Path, model: Path) -> None:
    """Train on a file."""
    kind, options = METHODS[method]
    kind(str(model), seed=0, **options).fit_on_file(str(data))


def predict(method: str, model: Path, data: Path) -> Iterable[Iterable[int]]:
    """Predict a file."""
    kind, _ = METHODS[method]
    return kind(str(model)).predict_for_file(str(data), threshold=THRESHOLD)


def rank(method: str, model: Path, data: Path, labels: int) -> Iterable[Iterable[tuple[int, float]]]:
    """Rank the labels of a file."""
    kind, _ = METHODS[method]
    return kind(str(model)).predict_proba_for_file(str(data), top_k=labels)


if __name__ == "__main__":
    main(METHODS, train, predict=predict, rank=rank)
