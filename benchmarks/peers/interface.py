"""The command line that all peers share. Needs nothing but Python: peers have an environment of their own."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

Train = Callable[[str, Path, Path], None]
Predict = Callable[[str, Path, Path], Iterable[Iterable[int]]]
Rank = Callable[[str, Path, Path, int], Iterable[Iterable[tuple[int, float]]]]


def write_predictions(path: Path, label_sets: Iterable[Iterable[int]]) -> None:
    """Write a line ``label,label,...`` for each instance, as ``mpu predict`` does."""
    with path.open("w") as stream:
        for labels in label_sets:
            stream.write(",".join(map(str, labels)) + "\n")


def write_scores(path: Path, rankings: Iterable[Iterable[tuple[int, float]]]) -> None:
    """Write a line ``label:score label:score ...`` for each instance, as ``mpu predict --format scores`` does."""
    with path.open("w") as stream:
        for ranking in rankings:
            stream.write(" ".join(f"{label}:{score:.7g}" for label, score in ranking) + "\n")


def main(methods: Iterable[str], train: Train, *, predict: Predict | None = None, rank: Rank | None = None) -> None:
    """Run one of the commands, of which `predict` and `rank` are there where a function for them is.

    They are ``SCRIPT METHOD train DATA MODEL``, ``SCRIPT METHOD predict MODEL DATA OUTPUT`` and
    ``SCRIPT METHOD rank MODEL DATA OUTPUT LABELS``.

    Parameters
    ----------
    methods : iterable of str
        What METHOD may be.
    train : callable (method, data, model)
        Learns from a LIBSVM file and puts the model, a file or a directory, on disk.
    predict : callable (method, model, data), optional
        Gives the labels of each instance of a LIBSVM file.
    rank : callable (method, model, data, labels), optional
        Gives the most probable labels of each instance with their scores, as many as `labels` at most.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=list(methods))
    commands = parser.add_subparsers(dest="command", required=True)
    arguments = {"train": ("data", "model")}
    if predict is not None:
        arguments["predict"] = ("model", "data", "output")
    if rank is not None:
        arguments["rank"] = ("model", "data", "output")
    for name, paths in arguments.items():
        command = commands.add_parser(name)
        for path in paths:
            command.add_argument(path, type=Path)
        if name == "rank":
            command.add_argument("labels", type=int)
    given = parser.parse_args()
    if given.command == "train":
        train(given.method, given.data, given.model)
    elif given.command == "predict":
        write_predictions(given.output, predict(given.method, given.model, given.data))
    else:
        write_scores(given.output, rank(given.method, given.model, given.data, given.labels))
