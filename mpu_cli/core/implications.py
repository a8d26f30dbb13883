"""Which labels imply others."""

from collections.abc import Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

import numpy as np
from scipy.sparse import csr_array


class Implications:
    """Pairs of a narrower and a broader label, transitively closed.

    `pairs`: narrower and broader label, by their numbers in files. Labels that imply each other are equivalent here.
    Numbers below 0 are labels not in use, which only pass on their implications.

    >>> rules = Implications([(7, 3), (3, 1)])
    >>> rules.broader(7), rules.broader(1)
    ({1, 3}, set())
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        self._broader: dict[int, set[int]] = {}
        for narrower, broader in pairs:
            self._broader.setdefault(narrower, set()).add(broader)

    def broader(self, label: int) -> set[int]:
        """Return all labels that a label implies, except itself."""
        implied: set[int] = set()
        ahead = [label]
        while ahead:
            new = self._broader.get(ahead.pop(), set()) - implied
            implied |= new
            ahead.extend(new)
        return implied - {label}

    def among(self, ids: np.ndarray, wanted: np.ndarray) -> csr_array:
        """Return which labels imply which others.

        `ids`: int, shape (q,).
        `wanted`: int, shape (r,), ascending.
        Returns: bool, shape (q, r): whether label `ids[j]` implies label `wanted[k]`.
        """
        return _pairs({label: self.broader(label) for label in ids.tolist()}, ids, wanted)

    def implied(self, labels: csr_array, ids: np.ndarray, wanted: np.ndarray) -> csr_array:
        """Return which labels are implied by other labels of each instance, whether it has them or not.

        `ids`, `wanted`: int, shapes (q,) and (r,), as for `among`: the label of each input and output column.
        Returns: bool, shape (n, r).
        """
        return csr_array(labels.astype(np.int32) @ self.among(ids, wanted).astype(np.int32)) > 0

    def agreement(self, labels: csr_array, ids: np.ndarray) -> tuple[float, float, int]:
        """Measure how well the rules fit annotations, and how well with narrower and broader labels swapped.

        Returns: the share of the next broader labels of annotated labels that are annotated too; the same for the next
        narrower labels; and the smaller of the numbers of both.
        """
        rules = _pairs(self.next_broader(), ids, ids).astype(np.int32)
        implied = [csr_array(labels.astype(np.int32) @ matrix) for matrix in (rules, rules.T)]
        now, swapped = (cells.multiply(labels).nnz / max(cells.nnz, 1) for cells in implied)
        return now, swapped, min(cells.nnz for cells in implied)

    @property
    def circle(self) -> list[int]:
        """Return labels that imply each other in turn, with the first repeated at the end; empty if there are none."""
        try:
            TopologicalSorter(self._broader).prepare()
        except CycleError as error:
            return list(reversed(error.args[1]))
        return []

    def labels(self) -> np.ndarray:
        """Return all broader labels in use, ascending."""
        labels = {label for broader in self._broader.values() for label in broader if label >= 0}
        return np.array(sorted(labels), np.int64)

    def __bool__(self) -> bool:
        return bool(self._broader)

    def lines(self) -> str:
        """Return the content of a file of these rules: lines with the numbers of a label and a next broader one."""
        return "".join(f"{label}\t{wide}\n" for label, above in self.next_broader().items() for wide in above)

    def next_broader(self) -> dict[int, tuple[int, ...]]:
        """Return the next broader labels of each label that has any, including those via labels not in use."""
        found: dict[int, tuple[int, ...]] = {}
        for label in sorted(label for label in self._broader if label >= 0):
            several = (self.broader(wide) if wide < 0 else {wide} for wide in self._broader[label])
            if above := {wide for them in several for wide in them if wide >= 0} - {label}:
                found[label] = tuple(sorted(above))
        return found


def _pairs(broader: Mapping[int, Collection[int]], ids: np.ndarray, wanted: np.ndarray) -> csr_array:
    """Return the broader labels of labels: bool, labels `ids` x labels `wanted`."""
    place = {label: column for column, label in enumerate(wanted.tolist())}
    cells = [
        (row, place[wide]) for row, label in enumerate(ids.tolist()) for wide in broader.get(label, ()) if wide in place
    ]
    rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(len(ids), len(wanted)))
