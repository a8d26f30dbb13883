"""Ways in which labels go missing, those of `mpu corrupt`, and the sets they are tried on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.commands.corrupt import SCHEMES, annotated
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import read

__all__ = ["SCHEMES", "SETS", "Collection", "collection", "lose", "on_sets"]

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


def on_sets(main: Callable[..., None]) -> click.Command:
    """Make a command of a function of sets by name, a run, and its own options; the sets whose files are there."""

    @click.command()
    @click.option("--data", type=click.Path(path_type=Path), required=True, help="Folder of NAME-train.svm.gz, -test.")
    @click.option("--sets", default=",".join(SETS), show_default=True)
    @click.option("--jobs", default=-1, show_default=True, help="Threads.")
    @wraps(main)
    def command(data: Path, sets: str, jobs: int, **options: Any) -> None:
        found = {name: collection(name, data) for name in sets.split(",")}
        for name in [name for name, of in found.items() if of is None]:
            click.echo(f"{name}: its files are not in {data}; left out", err=True)
        main({name: of for name, of in found.items() if of is not None}, Run(jobs=jobs), **options)

    return command
