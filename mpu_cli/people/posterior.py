"""The posterior of a label that is not annotated: Pr(y=1 | x, s=0), after Elkan and Noto (KDD 2008), Section 2.

A true label is annotated with probability c, a false one never, so by Bayes' rule

    Pr(y=1 | x, s=0) = (1 - c) p / (1 - c p),   p = Pr(y=1 | x).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from scipy.special import logit

from mpu_cli.core.features import entry_rows
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.predictions import FEW_LABELS, Predictions, values_at
from mpu_cli.errors import DataError

_CELLS = 1 << 21  # of a block


def unannotated_posterior(probabilities: Any, c: ArrayLike) -> Any:
    """Return Pr(y=1 | x, s=0): how probably a label is true that is not annotated.

    Parameters
    ----------
    probabilities : array_like, shape (n, q) or any other, or sparse matrix
        p = Pr(y=1 | x), in [0, 1]. Training instances must be predicted out of fold: a model that has seen an instance
        has learned that a label is not annotated there.
    c : array_like, broadcastable to `probabilities`
        Label frequency, Pr(annotated | true), in [0, 1].

    Returns
    -------
    ndarray, or csr_array of a sparse matrix, of float32 or float64, shape of `probabilities`
        Never above p. 0 where c is 1, since a label that is not annotated is then false.

    Raises
    ------
    DataError
        A number is not in [0, 1]. (A ValueError.)

    References
    ----------
    Elkan and Noto, "Learning Classifiers from Only Positive and Unlabeled Data", KDD 2008, Section 2.

    Examples
    --------
    >>> from mpu_cli import unannotated_posterior
    >>> unannotated_posterior([0.5, 0.9, 0.99], c=0.5).round(3).tolist()
    [0.333, 0.818, 0.98]
    """
    if issparse(probabilities):
        entries = csr_array(probabilities)
        rates = np.broadcast_to(c, entries.shape)[entries.nonzero()]
        return csr_array(
            (unannotated_posterior(entries.data, rates), entries.indices, entries.indptr), shape=entries.shape
        )
    p = np.asarray(probabilities)
    p = p if p.dtype == np.float32 else p.astype(float)
    frequency = np.asarray(c, p.dtype)
    for name, values in (("probabilities", p), ("c", frequency)):
        if not ((values >= 0) & (values <= 1)).all():
            raise DataError(f"{name}: give numbers from 0 to 1")
    missing = (1 - frequency) * p
    unannotated = missing + (1 - p)  # 1 - c p, without a difference of nearly equal numbers
    posterior: np.ndarray = np.divide(missing, unannotated, out=np.zeros_like(unannotated), where=unannotated > 0)
    return posterior


def log_odds(probabilities: np.ndarray, largest: float, least: float | None = None) -> np.ndarray:
    """Return log odds of probabilities from 0 to 1, which end at `largest`, and at `least` or minus the same."""
    with np.errstate(divide="ignore"):
        unlimited: np.ndarray = logit(probabilities)
    return unlimited.clip(-largest if least is None else least, largest)


def posterior_blocks(predictions: Predictions, frequency: LabelFrequency) -> Iterator[tuple[slice, Predictions]]:
    """Yield posteriors of a block of instances after another, as if no cell were verified."""
    n, q = predictions.shape
    by_chance = replace(frequency, verified=None)
    for start in range(0, n, size := max(1, _CELLS // min(q, FEW_LABELS))):
        rows = slice(start, min(start + size, n))
        p = predictions[rows]
        if isinstance(p, np.ndarray):
            yield rows, unannotated_posterior(p, by_chance.of_cells(rows))
        else:
            of_entries = start + entry_rows(p), p.indices
            posterior = unannotated_posterior(p.data, by_chance.by_chance(*of_entries))
            yield rows, csr_array((posterior, p.indices, p.indptr), shape=p.shape)


def posterior_at(
    probabilities: Predictions, frequency: LabelFrequency, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return posteriors of a subset of the cells, as if they were not verified."""
    p = values_at(probabilities, rows, columns)
    posterior: np.ndarray = unannotated_posterior(p, frequency.by_chance(rows, columns))
    return posterior
