"""centroid: a label is probable where an instance is near the mean of those that have it.

A method of your own for `mpu experiment`, in one file:

    mpu experiment news.svm --methods mpu,centroid_method.py:sharpness=5 --out compared
"""

import numpy as np
from scipy.special import expit


class Method:
    """The parameters of the constructor are the options. A label is predicted from a score of 0.5."""

    def __init__(self, sharpness: float = 4.0) -> None:
        self.sharpness = sharpness

    def fit(self, X, S) -> None:
        """Learn from features and annotations, sparse arrays (n, D) and (n, q)."""
        mean = np.asarray(X.mean(axis=0)).ravel()
        centroids = (X.T @ S) / S.sum(axis=0) - mean[:, None]
        self.weights = self.sharpness * centroids / np.linalg.norm(centroids, axis=0).clip(min=1e-9) ** 2
        self.bias = -((mean[:, None] + centroids / 2) * self.weights).sum(axis=0)  # half of the way has probability 0.5

    def predict(self, X) -> np.ndarray:
        """Return the score of each label for each instance, (n, q)."""
        return expit(X @ self.weights + self.bias)
