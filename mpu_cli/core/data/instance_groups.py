"""Groups of instances that were annotated with a chance of their own: by who annotated them, and when."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class InstanceGroups:
    """The group of each instance.

    Attributes
    ----------
    of_instances : ndarray of int, shape (n,)
        Numbers from 0.
    names : tuple of str
        The name of each group.
    rates : ndarray of float64, shape (groups,), or None
        Label frequency of each, as soon as it has been estimated.
    """

    of_instances: np.ndarray
    names: tuple[str, ...]
    rates: np.ndarray | None = None

    def sums(self, of_instances: np.ndarray) -> np.ndarray:
        """Add up numbers of instances in each group: float64, shape (groups,)."""
        return np.bincount(self.of_instances, of_instances, len(self.names))

    def rows(self, index: np.ndarray | slice) -> "InstanceGroups":
        """Return those of some instances, in the order of the index."""
        return replace(self, of_instances=self.of_instances[index])

    @property
    def instance_rates(self) -> np.ndarray | None:
        """The label frequency of each instance: float64, shape (n,)."""
        return None if self.rates is None else self.rates[self.of_instances]
