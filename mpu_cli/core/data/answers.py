"""Answers to questions: decisions on single cells that were not annotated, each drawn by chance."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Answers:
    """Whether labels are true in some cells that are not annotated.

    Attributes
    ----------
    rows, columns : ndarray of int, shape (m,)
        The instance and the label of each cell.
    true : ndarray of bool, shape (m,)
    chance : ndarray of float64, shape (m,)
        The probability with which the cell was drawn, in (0, 1].
    """

    rows: np.ndarray
    columns: np.ndarray
    true: np.ndarray
    chance: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: np.ndarray | slice) -> "Answers":
        """Return some of them."""
        return Answers(self.rows[index], self.columns[index], self.true[index], self.chance[index])

    def among(self, rows: np.ndarray) -> "Answers":
        """Return those on some instances, ascending, by their places among these."""
        inside = self[np.isin(self.rows, rows)]
        return replace(inside, rows=np.searchsorted(rows, inside.rows))

    def joined(self, others: "Answers") -> "Answers":
        """Return these, then others."""
        pairs = zip(vars(self).values(), vars(others).values(), strict=True)
        return Answers(*map(np.concatenate, pairs))

    @classmethod
    def none(cls) -> "Answers":
        """Return no answers."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0))
