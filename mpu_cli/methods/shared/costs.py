"""The choice of C for methods that solve a convex problem to its end."""

from collections.abc import Callable
from typing import NamedTuple

from mpu_cli.core.select.trials import COSTS, climb

# Held-out instances for the choice of C: more hardly change which of two is better.
HELD_OUT = 1_200
# Start of the hill climb along C, for instances of unit length.
_FIRST_COST = 3.0


class ChosenCost(NamedTuple):
    """C and its micro-F1."""

    cost: float
    f1: float


def choose_cost(evaluate: Callable[[float], float], unit: float) -> ChosenCost:
    """Choose C by a hill climb from 3 units, in half decades, while the micro-F1 rises.

    Parameters
    ----------
    evaluate : callable
        From C to a micro-F1.
    unit : float
        1 / mean ||phi(x)||^2, which makes the choice independent of the scale of the features.

    Returns
    -------
    cost, f1 : float
    """

    def at(units: float) -> ChosenCost:
        return ChosenCost(unit * units, evaluate(unit * units))

    return climb(at, COSTS, _FIRST_COST, at(_FIRST_COST))
