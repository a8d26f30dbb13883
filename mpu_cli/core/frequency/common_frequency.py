"""Is one label frequency for all labels tenable? Evidence from annotations alone.

The classifier of annotated against not annotated predicts g = sigma(z) out of fold. Among instances of the same z, the
share annotated follows a curve that rises with z towards a ceiling, which is the label frequency where the label is
nearly sure there:

    Pr(s=1 | z) = c_k sigma(a_k z + b_k).

The likelihood of each c_k, with the best a_k and b_k, says where the ceiling of label k may lie. Ceilings are lower
than the label frequency where nothing in the features makes a label sure, and where labels were missing before, and
this does not speak against one c. So the hypothesis is that at least half of the labels have the same ceiling c, up to
about 10 % of it, and the others a lower one:

    c_k ~ pi exp(N(log c, 0.1^2)) + (1 - pi) U(0, c),   pi >= 1/2.

The likelihood ratio of any pi to pi >= 1/2, each at its best c, is the test. Where pi is exactly 1/2, it is distributed
as half of a chi-squared with one degree of freedom (Self and Liang, "Asymptotic properties of maximum likelihood
estimators and likelihood ratio tests under nonstandard conditions", JASA 1987). docs/choices.md, "Is one label
frequency tenable?", has its false alarms and what it finds. It cannot see where typical instances are annotated more
often than others: the curve is then that of a larger c.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import erfc, expit, log_expit, xlog1py

from mpu_cli.core.frequency.known_labels import KnownLabels
from mpu_cli.core.frequency.propensity import FEWEST_ANNOTATIONS, Cells

# One c is not tenable where the test says so at this level.
LEVEL = 0.05
# More labels than this, those with most annotations, make the test no better.
_MOST_LABELS = 400
# Bins of instances of similar scores, narrow at the top, where the ceiling shows.
_BINS = 40
_TOP_BIN = 5
# Ceilings that are looked at.
CEILINGS = np.geomspace(0.02, 1, 40)
_DEVIATION = 0.1
_SHARES = np.linspace(0, 1, 21)
_AGREEING = 0.5
# Priors of a and b, normal around 0 in units of the spread of z: a curve of annotations that are perfectly ordered has
# no finite slope.
_SLOPE, _OFFSET = 8.0, 20.0
_ITERATIONS = 40
_HALVINGS = 8
_CONVERGED = 1e-3


@dataclass(frozen=True)
class CommonFrequency:
    """Whether the labels have one frequency in common.

    Attributes
    ----------
    p_value : float
        How probable evidence as strong as this is where half of the labels have the same frequency; 1 where nothing
        speaks against it, or where there are less than two labels to compare.
    c : float
        The frequency that most labels agree on, as far as their curves show it. NaN without labels.
    agreeing : float
        The share of the labels that agree on it. NaN without labels.
    labels : ndarray of int
        The columns that were compared: those with at least 50 annotations.
    """

    p_value: float
    c: float
    agreeing: float
    labels: np.ndarray

    @property
    def tenable(self) -> bool:
        """Whether one label frequency for all labels is not rejected at 5 %."""
        return self.p_value >= LEVEL

    @property
    def caution(self) -> str | None:
        """What to know before one label frequency is used for all labels; None where nothing speaks against it."""
        if self.tenable:
            return None
        return (
            f"labels seem to be missing at different rates (p = {self.p_value:.2g} if at least half had the same), and "
            "one c for all costs quality then; review instances drawn at random: mpu review FILE --sample 200 -o "
            "review.html"
        )


def compare(probabilities: np.ndarray, labels: csr_array, known: KnownLabels | None = None) -> CommonFrequency:
    """Test whether labels have one frequency in common.

    Parameters
    ----------
    probabilities : ndarray of float32, shape (n, q)
        Out-of-fold Pr(s=1 | x).
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    known : KnownLabels, optional
        What is known of these instances and labels. Cells that tell nothing of the chance of annotation are left out.

    Returns
    -------
    CommonFrequency

    Examples
    --------
    Of forty labels that are nearly sure where z is large, 80 % are annotated, or from 10 to 80 %.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(-2, 4, (2000, 40))
    >>> for c in (np.full(40, 0.8), np.linspace(0.1, 0.8, 40)):
    ...     annotated = csr_array(rng.random(z.shape) < c * expit(z))
    ...     print(compare(expit(z), annotated).tenable)
    True
    False
    """
    cells = Cells.of(probabilities, labels, known)
    annotations = cells.annotated.sum(axis=0)
    most = np.argsort(-annotations, kind="stable")[:_MOST_LABELS]
    columns = np.sort(most[annotations[most] >= FEWEST_ANNOTATIONS])
    if not len(columns):
        return CommonFrequency(1.0, np.nan, np.nan, columns)
    likelihood = ceilings(cells, columns.tolist())
    by_share = _mixture(likelihood)
    best = int(np.argmax(by_share.max(axis=0)))
    c = float(CEILINGS[np.argmax(by_share[:, best])])
    ratio = 2 * (by_share.max() - by_share[:, _SHARES >= _AGREEING].max())
    beyond = float(erfc(np.sqrt(max(ratio, 0) / 2)))  # of a chi-squared with one degree of freedom
    p_value = beyond / 2 if ratio > 0 and len(columns) > 1 else 1.0
    return CommonFrequency(p_value, c, float(_SHARES[best]), columns)


def ceilings(cells: Cells, columns: Sequence[int]) -> np.ndarray:
    """Return the likelihood of each of `CEILINGS` for some labels, the largest of a label 1: float64, shape (G, r)."""
    z, size, found = np.transpose([_binned(*cells.label(k)) for k in columns], (1, 0, 2))
    return _ceilings(z, size, found)


def _binned(probabilities: np.ndarray, annotated: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put instances into bins by score; return the mean of z, and how many there are and are annotated, of each."""
    order = np.argsort(-probabilities, kind="stable")
    p = np.clip(probabilities[order].astype(float), 1e-7, 1 - 1e-7)
    z = np.log(p) - np.log1p(-p)
    ends = np.round(np.geomspace(min(_TOP_BIN, len(order)), len(order), _BINS)).astype(int)
    size = np.diff(ends, prepend=0)
    total, found = (np.diff(np.append(0, np.cumsum(part))[ends], prepend=0) for part in (z, annotated[order]))
    return total / np.maximum(size, 1), size, found


def _ceilings(z: np.ndarray, size: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Likelihood of each ceiling for each label at the best curve, the largest of a label 1: shape (G, q)."""
    there = size > 0
    count = there.sum(axis=1, keepdims=True)
    centred = np.where(there, z - np.where(there, z, 0).sum(axis=1, keepdims=True) / count, 0)
    x = centred / np.maximum(np.sqrt((centred**2).sum(axis=1, keepdims=True) / count), 1e-9)
    share = np.clip(found.sum(axis=1) / size.sum(axis=1), 1e-4, 0.9)
    curve = np.ones(len(z)), np.log(share / (1 - share))
    log_likelihood = np.empty((len(CEILINGS), len(z)))
    for i in reversed(range(len(CEILINGS))):  # each starts where the last one ended
        curve, log_likelihood[i] = _fit(x, size, found, float(CEILINGS[i]), curve)
    likelihood: np.ndarray = np.exp(log_likelihood - log_likelihood.max(axis=0))
    return likelihood


Curve = tuple[np.ndarray, np.ndarray]


def _fit(x: np.ndarray, size: np.ndarray, found: np.ndarray, c: float, curve: Curve) -> tuple[Curve, np.ndarray]:
    """Fit c sigma(a x + b) for all labels at once by Fisher scoring; return a and b, and their log likelihood."""
    missed = size - found

    def log_likelihood(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        score = a[:, None] * x + b[:, None]
        of_bins = found * (np.log(c) + log_expit(score)) + xlog1py(missed, -np.minimum(c * expit(score), 1 - 1e-12))
        total: np.ndarray = of_bins.sum(axis=1) - (a / _SLOPE) ** 2 / 2 - (b / _OFFSET) ** 2 / 2
        return total

    a, b = curve
    reached = log_likelihood(a, b)
    for _ in range(_ITERATIONS):
        p = expit(a[:, None] * x + b[:, None])
        unsure = c * (1 - p) / np.maximum(1 - c * p, 1e-12)
        gradient = found * (1 - p) - missed * p * unsure
        weight = size * p * (1 - p) * unsure
        to_a, to_b = (gradient * x).sum(axis=1) - a / _SLOPE**2, gradient.sum(axis=1) - b / _OFFSET**2
        aa, ab, bb = (
            (weight * x * x).sum(axis=1) + _SLOPE**-2,
            (weight * x).sum(axis=1),
            weight.sum(axis=1) + _OFFSET**-2,
        )
        determinant = aa * bb - ab * ab
        step_a, step_b = (bb * to_a - ab * to_b) / determinant, (aa * to_b - ab * to_a) / determinant
        length = np.ones(len(a))
        for _ in range(_HALVINGS):
            new_a, new_b = np.maximum(a + length * step_a, 0), b + length * step_b  # more z is never less probable
            new = log_likelihood(new_a, new_b)
            if (new >= reached).all():
                break
            length = np.where(new < reached, length / 2, length)
        better = new > reached
        gained = np.where(better, new - reached, 0).max()
        a, b, reached = np.where(better, new_a, a), np.where(better, new_b, b), np.where(better, new, reached)
        if gained < _CONVERGED:
            break
    return (a, b), reached


def _mixture(likelihood: np.ndarray) -> np.ndarray:
    """Log likelihood of every c, and every share of labels that agree on it: shape (G, P)."""
    logs = np.log(CEILINGS)
    near = np.exp(-(((logs[:, None] - logs) / _DEVIATION) ** 2) / 2)
    below = np.tril(np.broadcast_to(CEILINGS, near.shape))  # the grid is logarithmic: uniform is proportional to c
    agree, lower = ((weights / weights.sum(axis=1, keepdims=True)) @ likelihood for weights in (near, below))
    mixed = _SHARES[:, None] * agree[:, None] + (1 - _SHARES[:, None]) * lower[:, None]  # (G, P, q)
    total: np.ndarray = np.log(np.maximum(mixed, np.finfo(float).tiny)).sum(axis=2)
    return total
