"""How alike labels are, by the instances that are annotated with them."""

import numpy as np
from scipy.sparse import csr_array


def cosine_similarity(labels: csr_array) -> np.ndarray:
    """Cosine of each pair of label columns: |a and b| / sqrt(|a| |b|).

    Parameters
    ----------
    labels : csr_array of bool, shape (n, q)
        Annotated labels.

    Returns
    -------
    ndarray of float64, shape (q, q)
        Positive semi-definite with a diagonal of ones. A label that no instance has is like none but itself.
    """
    counts = labels.astype(np.float64)
    together = (counts.T @ counts).toarray()
    frequency = np.diagonal(together)
    lengths = np.sqrt(np.where(frequency, frequency, 1))
    similarity = together / np.outer(lengths, lengths)
    np.fill_diagonal(similarity, 1)
    return similarity


def correlation_prior(labels: csr_array, rho: float) -> np.ndarray:
    """R = (1 - rho) I + rho S, where S are the cosine similarities of the label columns.

    Parameters
    ----------
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    rho : float
        0 <= rho < 1. 0: labels are independent of each other.

    Returns
    -------
    ndarray of float64, shape (q, q)
        Positive definite: no eigenvalue is less than 1 - rho. Its diagonal is one.
    """
    prior = rho * cosine_similarity(labels)
    np.fill_diagonal(prior, 1)
    return prior
