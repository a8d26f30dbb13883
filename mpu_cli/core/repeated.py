"""Instances with the same features as others: what is learned from one is no prediction of the other out of fold.

Repeated texts, and lines that stand in a file twice, often have the same annotations. Where folds are dealt, they
belong together (`core.validation.deal`).
"""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import DataError

# Where features have few values, most instances repeat others by chance: fewer different ones are not kept together.
_FEWEST = 50
# From this share of repeated instances on, people are told.
_WORTH_TELLING = 0.02
_ENTRIES = 1 << 20
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


def kin_of(features: csr_array) -> np.ndarray | None:
    """Return, for each instance, the first one with the same features: int, shape (n,).

    Instances with one feature or none count as different: they are alike by chance. None where all instances differ, or
    only few do.
    """
    n = features.shape[0]
    filled = np.flatnonzero(np.diff(features.indptr) > 1)
    hashes = _hashes(features)[filled]
    _, first, of_rows = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) == len(filled) or len(first) < _FEWEST:
        return None
    kin = np.arange(n)
    kin[filled] = filled[first[of_rows]]
    return kin


def _hashes(features: csr_array) -> np.ndarray:
    """Return a hash of the features of each instance, whatever their order: uint64, shape (n,)."""
    hashes = np.zeros(features.shape[0], np.uint64)
    indptr = features.indptr.astype(np.int64)
    starts = np.searchsorted(indptr, np.arange(0, max(features.nnz, 1), _ENTRIES), side="right") - 1
    for start, stop in zip(starts, [*starts[1:], features.shape[0]], strict=True):
        part = slice(indptr[start], indptr[stop])
        values = np.ascontiguousarray(features.data[part] + np.float32(0), np.float32).view(np.uint32)
        mixed = _mixed(features.indices[part].astype(np.uint64) << np.uint64(32) | values)
        mixed[values == 0] = 0
        rows = start + np.flatnonzero(np.diff(indptr[start : stop + 1]))
        if len(rows):
            hashes[rows] = np.add.reduceat(mixed, indptr[rows] - indptr[start])
    return hashes


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Mix 64-bit numbers (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = numbers + _ODD[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _ODD[1]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _ODD[2]
    return mixed ^ (mixed >> np.uint64(31))


def joined(kin: np.ndarray | None, same_fold: np.ndarray | None) -> np.ndarray | None:
    """Return which instances stay in one fold: equal ones, as of `kin_of`, and what the user puts together.

    Where equal instances would join nearly all that the user keeps apart, the user's alone. DataError where all
    instances are to be in one fold.
    """
    if same_fold is not None and len(same_fold) > 1 and (same_fold == same_fold[0]).all():
        raise DataError("all instances are to be in the same fold, so that nothing is left to learn from")
    if same_fold is None or kin is None:
        return kin if same_fold is None else same_fold
    from scipy.sparse.csgraph import connected_components  # which few trainings need

    n, m = len(kin), int(same_fold.max()) + 1
    links = csr_array((np.ones(n, bool), (same_fold, m + kin)), shape=(m + n, m + n))
    _, numbers = connected_components(links, directed=False)
    together: np.ndarray = numbers[same_fold]
    return together if len(np.unique(together)) >= _FEWEST else same_fold


def share_repeated(kin: np.ndarray | None) -> float:
    """Return the share of the instances that repeat an earlier one."""
    return 0.0 if kin is None else float(np.mean(kin != np.arange(len(kin))))


def caution(share: float) -> str | None:
    """Say that instances are repeated, if it is a share that matters."""
    if share < _WORTH_TELLING:
        return None
    return (
        f"{share:.0%} of the instances have exactly the features of an earlier one; folds that are dealt here keep "
        "them together"
    )
