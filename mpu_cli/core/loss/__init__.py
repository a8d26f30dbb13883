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

Function: TypeAlias = "Callable[[np.ndarray, np.ndarray, np.ndarray | float], np.ndarray]"

DEFAULT = "pu-logistic"
SGD, DUAL = "sgd", "dual"
LOSSES = tuple(sorted((m.name.replace("_", "-") for m in iter_modules(__path__)), key=lambda n: (n != DEFAULT, n)))


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A loss: value, gradient, solver and default settings.

    `value`, `gradient`: functions of z, s and c: the loss of each cell, and its derivative in z, in the precision of z.
    c = 0, of a cell that is ignored and so not annotated, gives 0.
    """

    value: Function
    gradient: Function
    # C to begin with, 1 or 3 times a power of ten; of dual coordinate descent, for instances of unit length
    cost: float
    cost_of_many: float | None = None  # the same where labels are many; None: many labels are refused
    epochs: int | None = None  # passes over the data; None: by the number of instances
    # `SGD`: PU-SGD, which has a step size, begins with any weights, and learns in a single pass or from parts of the
    # instances too. `DUAL`: dual coordinate descent, which is made for the squared hinge.
    solver: str = SGD

    @property
    def has_step(self) -> bool:
        """Whether PU-SGD minimises it."""
        return self.solver == SGD


def loss_named(name: str) -> Loss:
    """Return the loss of a name, one of `LOSSES`."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").LOSS
