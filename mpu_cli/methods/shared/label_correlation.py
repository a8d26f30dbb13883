"""Similarities of labels, by the instances that are annotated with them."""

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
        Positive semi-definite with a diagonal of ones. A label without instances is similar to itself alone.
    """
    return _normalised(_together(labels))


def pearson_correlation(labels: csr_array) -> np.ndarray:
    """Correlation coefficient of each pair of label columns: less than 0 if labels exclude each other.

    Parameters
    ----------
    labels : csr_array of bool, shape (n, q)
        Annotated labels.

    Returns
    -------
    ndarray of float64, shape (q, q)
        Positive semi-definite with a diagonal of ones. A label of no instance, or of all, is similar to itself alone.
    """
    together = _together(labels)
    frequency = np.diagonal(together)
    return _normalised(labels.shape[0] * together - np.outer(frequency, frequency))


def _together(labels: csr_array) -> np.ndarray:
    """Count the instances that have both of two labels: float64, q x q."""
    counts = labels.astype(np.float64)
    return (counts.T @ counts).toarray()


def _normalised(products: np.ndarray) -> np.ndarray:
    """Divide products of vectors by their lengths; a vector of length 0 is similar to itself alone."""
    squared = np.diagonal(products)
    lengths = np.sqrt(np.where(squared > 0, squared, 1))
    similarity = products / np.outer(lengths, lengths)
    np.fill_diagonal(similarity, 1)
    return similarity


# S of `correlation_prior`, by its name in options.
LIKENESS = {"cosine": cosine_similarity, "pearson": pearson_correlation}


def correlation_prior(labels: csr_array, rho: float, likeness: str = "cosine") -> np.ndarray:
    """R = (1 - rho) I + rho S, where S has the similarities of labels by their annotations.

    Parameters
    ----------
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    rho : float
        0 <= rho < 1. 0: labels are independent of each other.
    likeness : str
        S: "cosine", from 0 to 1, or "pearson", from -1 to 1.

    Returns
    -------
    ndarray of float64, shape (q, q)
        Positive definite: no eigenvalue is less than 1 - rho. Its diagonal is one.
    """
    prior = rho * LIKENESS[likeness](labels)
    np.fill_diagonal(prior, 1)
    return prior
