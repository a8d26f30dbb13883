"""Labels that imply others: where a narrower one is true, so is each broader one, and what that implies in turn."""

from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array


class Implications:
    """Pairs of a narrower and a broader label, transitively closed.

    Parameters
    ----------
    pairs : iterable of (int, int)
        Narrower and broader label, by their numbers in files. Labels that imply each other are the same to this.
        Numbers below 0 are of labels not in use, which only hand on what they imply.

    Examples
    --------
    >>> rules = Implications([(7, 3), (3, 1)])
    >>> rules.broader(7), rules.broader(1)
    ({1, 3}, set())
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        self._broader: dict[int, set[int]] = {}
        for narrower, broader in pairs:
            self._broader.setdefault(narrower, set()).add(broader)

    def broader(self, label: int) -> set[int]:
        """Return all labels that a label implies, itself aside."""
        implied: set[int] = set()
        ahead = [label]
        while ahead:
            new = self._broader.get(ahead.pop(), set()) - implied
            implied |= new
            ahead.extend(new)
        return implied - {label}

    def implied(self, labels: csr_array, ids: np.ndarray, wanted: np.ndarray) -> csr_array:
        """Tell which labels are implied by those of each instance, and are not among them.

        Parameters
        ----------
        labels : csr_array of bool, shape (n, q)
        ids : ndarray of int, shape (q,)
            The label of each column.
        wanted : ndarray of int, shape (r,), ascending
            The labels to tell of.

        Returns
        -------
        csr_array of bool, shape (n, r)
        """
        place = {label: column for column, label in enumerate(wanted.tolist())}
        cells = [
            (row, place[label])
            for row, narrower in enumerate(ids.tolist())
            for label in self.broader(narrower)
            if label in place
        ]
        rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
        implies = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(len(ids), len(wanted)))
        implied = csr_array(labels.astype(np.int32) @ implies) > 0
        there = _columns_of(labels, ids, wanted)
        return csr_array(implied.astype(np.int8) - implied.multiply(there).astype(np.int8)).astype(bool)

    def labels(self) -> np.ndarray:
        """Return all broader labels in use, ascending."""
        labels = {label for broader in self._broader.values() for label in broader if label >= 0}
        return np.array(sorted(labels), np.int64)


def _columns_of(labels: csr_array, ids: np.ndarray, wanted: np.ndarray) -> csr_array:
    """Give the columns of labels another order, and leave out the others: bool, n x r."""
    shared = np.isin(ids, wanted)
    choose = csr_array(
        (np.ones(int(shared.sum()), np.int8), (np.flatnonzero(shared), np.searchsorted(wanted, ids[shared]))),
        shape=(len(ids), len(wanted)),
    )
    return csr_array(labels.astype(np.int8) @ choose) > 0
