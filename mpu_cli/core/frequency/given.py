"""A label frequency that is given: what was estimated of it before, and what annotations say against it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaincinv

from mpu_cli.core.problem import VerifiedLabels
from mpu_cli.errors import DataError

# A label frequency under which annotations are less probable than this, over the number of labels, is refuted.
_REFUTED = 1e-3


@dataclass(frozen=True)
class EarlierEstimate:
    """What was estimated when label frequencies were written to a file."""

    c: float  # of all labels
    interval: tuple[float, float] | None  # of c, 90 %; None: c was unknown
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class EstimatedRates:
    """The label frequency of each label, from a file that an estimate was written to; otherwise like an array."""

    rates: np.ndarray  # float64, shape (q,)
    earlier: EarlierEstimate

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.rates, dtype=dtype)


def earlier_estimate(c: Any) -> EarlierEstimate | None:
    """Return the estimate that a label frequency of the options comes from; None: the user says it."""
    return c.earlier if isinstance(c, EstimatedRates) else None


def is_estimated(c: Any) -> bool:
    """Whether the label frequency of all labels, None, or of some of them, NaN, is to be estimated."""
    return c is None or bool(np.isnan(c).any())


def with_estimates(c: Any, rates: Callable[[int], np.ndarray], q: int) -> Any:
    """Return a label frequency that is given; that of labels of which it is not given is estimated.

    `rates`: returns the estimates of q labels.
    """
    if not is_estimated(c):
        return c
    return rates(q) if c is None else np.where(np.isnan(c), rates(q), c)


def annotated_and_counted(labels: csr_array, verified: VerifiedLabels | None) -> tuple[np.ndarray, np.ndarray]:
    """Count, of each label, the cells that are annotated by chance, and all cells that may have been: int, shape (q,).

    `labels`: csr_array of bool, shape (n, q): annotated labels.
    """
    n, q = labels.shape
    if verified is None:
        return np.bincount(labels.indices, minlength=q), np.full(q, n)
    by_chance = verified.left_to_chance()
    annotated = np.bincount(by_chance.part(labels)[0].indices, minlength=q)
    return annotated, np.full(q, n) - by_chance.count_ignored()


def refuse_refuted(
    c: Any, labels: csr_array, verified: VerifiedLabels | None = None, shown: Callable[[int], str] = str
) -> None:
    """Raise DataError where annotations refute a label frequency: it does not allow as many as a label has.

    `c`: a number, or one for each label; `labels`, `verified`: of n instances and q labels; `shown`: gives the name of
    a label by its column.
    """
    annotated, counted = annotated_and_counted(labels, verified)
    rates = np.broadcast_to(np.asarray(c, float), annotated.shape)
    least = np.zeros(len(annotated))
    there = annotated > 0
    least[there] = betaincinv(annotated[there], (counted - annotated)[there] + 1, _REFUTED / len(annotated))
    if not (rates < least).any():
        return
    k = int(np.argmax(least - rates))
    raise DataError(
        f"c = {rates[k]:.3g} contradicts the annotations: label {shown(k)} is annotated in {annotated[k]:,} of "
        f"{counted[k]:,} instances ({annotated[k] / counted[k]:.0%}), so its c is at least {_rounded_up(least[k])}; "
        "give a larger c, or leave it out and have it estimated"
    )


def _rounded_up(value: float) -> str:
    return f"{min(np.ceil(value * 1000) / 1000, 1):.3f}"
