"""Ways in which labels go missing, and the sets they are tried on.

A way is a function of the features X, shape (n, D); the true labels Y, shape (n, q), bool, a csr_array with sorted
columns; the share that is to be kept; and a generator. It returns the chance of each entry of Y to be annotated:
float64, in the order of its rows, or one number.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import only_entries
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import read

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


# Fewer instances, and a classifier cannot say which of them are typical of a label.
_FEWEST = 3
# How far the rates of labels, and of instances, are from their mean, by the distance of that from 0 or 1.
_SPREAD, _SPREAD_OF_INSTANCES = 0.8, 0.6


def uniform(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> float:
    """Give every true label the same chance."""
    return kept


def label(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Give each label a rate of its own: uniform about `kept`."""
    width = min(kept, 1 - kept) * _SPREAD
    return rng.uniform(kept - width, kept + width, Y.shape[1])[Y.indices]


def rare(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Miss rare labels more: the rate rises with the logarithm of a label's frequency, from 0.4 to 1.5 times `kept`."""
    size = np.log(np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1))
    place = (size - size.min()) / max(np.ptp(size), 1e-9)
    return (kept * (0.4 + 1.1 * place)).clip(max=1)[Y.indices]


def single(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Keep one label of each instance, drawn at random; `kept` is not used."""
    lottery = rng.random(Y.nnz)
    return (lottery == _largest_of_row(Y, lottery)).astype(float)


def instance(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Annotate half of the instances well and half badly: about 0.5, they keep 80 % and 20 % of their labels."""
    width = min(kept, 1 - kept) * _SPREAD_OF_INSTANCES
    return np.repeat(rng.choice([kept - width, kept + width], Y.shape[0]), np.diff(Y.indptr))


def hard(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Miss the less typical more: the rate rises with the rank of an instance among those that have the label.

    The rank is by the score of a logistic regression of the label, which is fitted for it.
    """
    from sklearn.exceptions import ConvergenceWarning  # which other ways need not wait for
    from sklearn.linear_model import LogisticRegression

    chance = np.full(Y.nnz, kept)
    width = min(kept, 1 - kept) * _SPREAD
    places = csr_array((np.arange(Y.nnz), Y.indices, Y.indptr), shape=Y.shape).tocsc()
    for start, stop in zip(places.indptr, places.indptr[1:], strict=False):
        rows, size = places.indices[start:stop], stop - start
        if not _FEWEST <= size < Y.shape[0]:
            continue
        true = np.bincount(rows, minlength=Y.shape[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # ranks no longer change then
            scores = LogisticRegression(C=1, max_iter=200).fit(X, true).decision_function(X[rows])
        rank = np.argsort(np.argsort(scores)) / (size - 1)
        chance[places.data[start:stop]] = kept + width * (2 * rank - 1)
    return chance


Scheme = Callable[[csr_array, csr_array, float, np.random.Generator], np.ndarray | float]
SCHEMES: dict[str, Scheme] = {way.__name__: way for way in (uniform, label, rare, single, hard, instance)}


def annotated(scheme: str, X: csr_array, Y: csr_array, kept: float, seed: int) -> csr_array:
    """Draw annotations from the true labels by one of `SCHEMES`, which have the other arguments: csr_array of bool."""
    rng = np.random.default_rng(seed)
    return only_entries(Y, SCHEMES[scheme](X, Y, kept, rng) > rng.random(Y.nnz))


def lose(scheme: str, collection: Collection, kept: float, seed: int) -> np.ndarray:
    """Draw annotations from the true labels: bool, shape (n, q)."""
    return annotated(scheme, collection.X, collection.Y, kept, seed).toarray()


def _largest_of_row(Y: csr_array, values: np.ndarray) -> np.ndarray:
    """Return, for each entry of Y, the largest value of its row."""
    sizes = np.diff(Y.indptr)
    has = sizes > 0
    return np.repeat(np.maximum.reduceat(values, Y.indptr[:-1][has]), sizes[has])


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
