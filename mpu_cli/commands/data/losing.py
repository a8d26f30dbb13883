"""Ways in which labels go missing: the chance of each true label to be annotated, by label, instance or features.

Each is a function of the features X, shape (n, D); the true labels Y, shape (n, q), bool, a csr_array with sorted
columns; the share that is to be kept; and a generator. It returns a chance for each entry of Y: float64, in the order
of its rows, or one number.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import only_entries

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

    The rank is that of the score of a logistic regression of the label, which is fitted for it.
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


def lost(scheme: str, X: csr_array, Y: csr_array, kept: float, seed: int, keep_one: bool = False) -> np.ndarray:
    """Draw the labels that go missing.

    Parameters
    ----------
    scheme : str
        One of `SCHEMES`.
    X, Y : csr_array, shapes (n, D) and (n, q)
        Features and true labels.
    kept : float
        Share of the labels to keep, from 0 to 1.
    seed : int
    keep_one : bool
        Whether an instance with labels keeps at least one: the one that was nearest to it.

    Returns
    -------
    bool array, shape (Y.nnz,)
        For each entry of Y, in the order of its rows.
    """
    if not Y.nnz:
        return np.zeros(0, bool)
    rng = np.random.default_rng(seed)
    margin = SCHEMES[scheme](X, Y, kept, rng) - rng.random(Y.nnz)
    missing = margin <= 0
    return missing & (margin < _largest_of_row(Y, margin)) if keep_one else missing


def annotated(scheme: str, X: csr_array, Y: csr_array, kept: float, seed: int) -> csr_array:
    """Return the true labels without those that `lost` draws: csr_array of bool, shape (n, q)."""
    return only_entries(Y, ~lost(scheme, X, Y, kept, seed))


def _largest_of_row(Y: csr_array, values: np.ndarray) -> np.ndarray:
    """Return, for each entry of Y, the largest value of its row."""
    sizes = np.diff(Y.indptr)
    has = sizes > 0
    return np.repeat(np.maximum.reduceat(values, Y.indptr[:-1][has]), sizes[has])
