"""The losses that a level can minimise, by name.

A loss is one module here, which has a `LOSS` and its name; nothing else has to know of it. Importing this imports no
NumPy, since help texts need the names: modules of losses are imported when they are asked for.

Throughout, z = w.x + b is a label's score, c = Pr(s=1 | y=1) the label frequency, and s whether the label is annotated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Gradient: TypeAlias = "Callable[[np.ndarray, np.ndarray, np.ndarray | float], np.ndarray]"

DEFAULT = "pu-logistic"
LOSSES = tuple(sorted((m.name.replace("_", "-") for m in iter_modules(__path__)), key=lambda n: (n != DEFAULT, n)))


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What training with a loss begins with, and what minimises it."""

    # C to begin with, 1 or 3 times a power of ten; of dual coordinate descent, for instances of unit length
    cost: float
    cost_of_many: float | None = None  # the same where labels are many; None: many labels are refused
    epochs: int = 0  # passes of dual coordinate descent; 0 with PU-SGD: by the number of instances
    # The derivative in z, a function of z, s and c, which PU-SGD follows; 0 where c is 0 (an ignored cell).
    # None: dual coordinate descent minimises the squared hinge
    gradient: "Gradient | None" = None

    @property
    def has_step(self) -> bool:
        """Whether PU-SGD minimises it, which begins anywhere, and learns in one pass or from parts of the data."""
        return self.gradient is not None


def loss_named(name: str) -> Loss:
    """Return the loss of a name, one of `LOSSES`."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").LOSS
