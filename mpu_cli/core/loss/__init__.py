"""The losses that a level can minimise, by name.

Each loss is a module here with a `LOSS`, and is used by its name only. Importing this package does not import NumPy,
since help texts need the names: modules of losses are imported when needed.

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
    """The initial settings for training with a loss, and how it is minimised."""

    # The initial C, 1 or 3 times a power of ten; for dual coordinate descent, with instances of unit length
    cost: float
    cost_of_many: float | None = None  # the same for many labels; None: many labels are refused
    epochs: int = 0  # passes of dual coordinate descent; 0 with PU-SGD: by the number of instances
    # The derivative in z, a function of z, s and c, which PU-SGD follows; 0 if c is 0 (an ignored cell).
    # None: dual coordinate descent minimises the squared hinge
    gradient: "Gradient | None" = None

    @property
    def has_step(self) -> bool:
        """Whether PU-SGD minimises it, which can start anywhere, and learn in one pass or from parts of the data."""
        return self.gradient is not None


def loss_named(name: str) -> Loss:
    """Return the loss with this name, one of `LOSSES`."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").LOSS
