"""Sums that do not depend on the order of their terms."""

from math import fsum

import numpy as np
from numpy.typing import ArrayLike


class Sums:
    """Sums that are rounded only once, at the end, so the sums of parts add up exactly to those of the whole.

    Parameters
    ----------
    *shape : int
        Shape of the array of sums.

    Examples
    --------
    >>> sums = Sums(2)
    >>> for term in (1.0, 1e-16, 1e-16):
    ...     sums.add([term, 2.0])
    >>> sums.total.tolist()
    [1.0000000000000002, 6.0]
    """

    def __init__(self, *shape: int) -> None:
        self._shape = shape
        self._terms: list[np.ndarray] = []

    def add(self, terms: ArrayLike) -> None:
        """Add a term to each sum: numbers of the shape of the sums."""
        self._terms.append(np.array(terms, float).reshape(self._shape))

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of the terms of both."""
        both = Sums(*self._shape)
        both._terms = self._terms + other._terms
        return both

    @property
    def total(self) -> np.ndarray:
        """The sums: float64."""
        terms = np.reshape(self._terms, (len(self._terms), int(np.prod(self._shape)))).T
        return np.array([fsum(of_one) for of_one in terms.tolist()]).reshape(self._shape)
