"""The command line that all peers share. Needs nothing but Python: peers have an environment of their own."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path


def write_predictions(path: Path, label_sets: Iterable[Iterable[int]]) -> None:
    """Write a line ``label,label,...`` for each instance, as ``mpu predict`` does."""
    with path.open("w") as stream:
        for labels in label_sets:
            stream.write(",".join(map(str, labels)) + "\n")


def main(
    methods: Iterable[str],
    train: Callable[[str, Path, Path], None],
    predict: Callable[[str, Path, Path], Iterable[Iterable[int]]],
) -> None:
    """Run ``SCRIPT METHOD train DATA MODEL`` or ``SCRIPT METHOD predict MODEL DATA OUTPUT``.

    Parameters
    ----------
    methods : iterable of str
        What METHOD may be.
    train : callable (method, data, model)
        Learns from a LIBSVM file and puts the model, a file or a directory, on disk.
    predict : callable (method, model, data)
        Gives the labels of each instance of a LIBSVM file.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=list(methods))
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    prediction = commands.add_parser("predict")
    for command, arguments in ((training, ("data", "model")), (prediction, ("model", "data", "output"))):
        for argument in arguments:
            command.add_argument(argument, type=Path)
    given = parser.parse_args()
    if given.command == "train":
        train(given.method, given.data, given.model)
    else:
        write_predictions(given.output, predict(given.method, given.model, given.data))
