"""Cells of every kind, and what they mean by definition: what tests of verified labels share."""

import numpy as np
from hypothesis import strategies as st

from mpu_cli.core.problem import Verdict, VerifiedLabels

UNKNOWN, TRUE, FALSE, IGNORED, IMPLIED = Verdict


def verified_of(verdicts: np.ndarray, complete=()) -> VerifiedLabels:
    """Take verdicts from a dense array."""
    lists = {name: np.nonzero(verdicts == v) for name, v in (("true", TRUE), ("false", FALSE), ("ignored", IGNORED))}
    return VerifiedLabels.of(verdicts.shape, complete=complete, **lists)


def complete_review(Y: np.ndarray, rows: np.ndarray) -> VerifiedLabels:
    """Return what a complete review of some instances finds."""
    instances, labels = np.nonzero(Y[rows])
    return VerifiedLabels.of(Y.shape, true=(rows[instances], labels), complete=rows)


seeds = st.integers(0, 2**32)


@st.composite
def cells(draw):
    """Annotations and verdicts on cells, both dense, complete instances, and rates."""
    n, q = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(seeds))
    verdicts = rng.choice(4, p=[0.4, 0.2, 0.2, 0.2], size=(n, q))
    return rng.random((n, q)) < 0.4, verdicts, np.flatnonzero(rng.random(n) < 0.3), rng.uniform(0.2, 1, q)


def true_by_definition(S, verdicts, complete, rates) -> np.ndarray:
    """How many true labels each cell stands for."""
    w = S / rates
    w[complete] = S[complete] | (verdicts[complete] == TRUE)
    w[(verdicts == FALSE) | (verdicts == IGNORED)] = 0
    return w


def by_definition(S, verdicts, complete, rates) -> tuple[np.ndarray, np.ndarray]:
    """Annotations as corrected and c, cell by cell."""
    s, c = S.copy(), np.tile(rates, (len(S), 1))
    c[complete] = 1
    s[verdicts == TRUE], c[verdicts == TRUE] = True, 1
    s[verdicts == FALSE], c[verdicts == FALSE] = False, 1
    s[verdicts == IGNORED], c[verdicts == IGNORED] = False, 0
    return s, c
