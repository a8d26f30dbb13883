"""The posterior of a label that is not annotated: Pr(y=1 | x, s=0), after Elkan and Noto (KDD 2008), Section 2.

A true label is annotated with probability c, a false one never, so by Bayes' rule

    Pr(y=1 | x, s=0) = (1 - c) p / (1 - c p),   p = Pr(y=1 | x).
"""

import numpy as np
from numpy.typing import ArrayLike

from mpu_cli.errors import DataError


def unannotated_posterior(probabilities: ArrayLike, c: ArrayLike) -> np.ndarray:
    """Return Pr(y=1 | x, s=0): how probably a label is true that is not annotated.

    Parameters
    ----------
    probabilities : array_like, shape (n, q) or any other
        p = Pr(y=1 | x), in [0, 1]. Those of training instances must be out of fold: a model that has seen an instance
        has learned that a label is not annotated there.
    c : array_like, broadcastable to `probabilities`
        Label frequency, Pr(annotated | true), in [0, 1].

    Returns
    -------
    ndarray of float32 or float64, shape of `probabilities`
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
