"""PU-SGD in NumPy: the reference kernel, which reads like the formulas."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.loss import pu_gradient

# Labels learned together: many, since every block pays for the gathering of weights again.
BLOCK_SIZE = 128


@dataclass(frozen=True)
class Batch:
    """A mini-batch of B instances.

    Attributes
    ----------
    rows : ndarray of int, shape (B,)
        Which instances of the features.
    columns : ndarray of int, shape (u,)
        The sparse features that occur in the batch.
    sparse : csr_array, shape (B, u)
        Their values.
    transposed : csr_array, shape (u, B)
        The same, transposed once for all epochs, settings and label blocks.
    dense : ndarray of float32, shape (B, d)
    """

    rows: np.ndarray
    columns: np.ndarray
    sparse: csr_array
    transposed: csr_array
    dense: np.ndarray


@dataclass(frozen=True)
class Batches:
    """Mini-batches of instances with `width` features."""

    batches: list[Batch]
    width: int


def prepare(features: Features, rows: np.ndarray, batch_size: int) -> Batches:
    """Cut instances into mini-batches, to be used for any number of settings and label blocks.

    Parameters
    ----------
    features : Features
    rows : ndarray of int, shape (n,)
        The instances to learn from, in the order in which they fall into batches.
    batch_size : int
    """
    batches = []
    for start in range(0, len(rows), batch_size):
        of_batch = rows[start : start + batch_size]
        part = features[of_batch]
        columns, local = np.unique(part.sparse.indices, return_inverse=True)
        shape = (len(of_batch), len(columns))
        sparse = csr_array((part.sparse.data, local.astype(np.int32), part.sparse.indptr), shape=shape)
        batches.append(Batch(of_batch, columns, sparse, sparse.T.tocsr(), part.dense))
    return Batches(batches, features.width)


def descend(
    batches: Batches,
    annotated: np.ndarray,
    c: np.ndarray,
    bias: np.ndarray,
    *,
    step: float,
    bias_step: float,
    decay: float,
    epochs: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the PU loss of a block of labels by stochastic gradient descent (Kong et al. 2014, Section 2.2).

    With step eta_t = eta0 / (1 + lambda eta0 t) and the weight decay taken implicitly, w <- w / (1 + lambda eta_t)
    an instance, the product of all decays up to t telescopes to a_t = 1 / (1 + lambda eta0 t). So w_t = a_t v_t where
    v moves by the constant step eta0: the decay never touches the weights that a batch does not use.

    The result is the mean of the weights after each of the last epochs / 2 epochs (averaged SGD, Polyak and Juditsky
    1992), which takes out part of the noise of the last steps.

    Parameters
    ----------
    batches : Batches
        From `prepare`; visited in a new random order every epoch.
    annotated : ndarray of bool, shape (N, q)
        The labels of all instances of the features.
    c : ndarray of float32, shape (q,)
        Label frequency of each label.
    bias : ndarray of float32, shape (q,)
        Where the biases start.
    step, bias_step : float
        eta0 of the weights and of the biases.
    decay : float
        lambda.
    epochs : int
        Passes over the batches.
    rng : numpy.random.Generator

    Returns
    -------
    weights : ndarray of float32, shape (width, q)
    bias : ndarray of float32, shape (q,)
    """
    v = np.zeros((batches.width, annotated.shape[1]), np.float32)
    bias = bias.copy()
    mean_v, mean_bias = np.zeros_like(v), np.zeros_like(bias)
    averaged = range(epochs // 2, epochs)
    t = 0
    for epoch in range(epochs):
        for b in rng.permutation(len(batches.batches)):
            batch = batches.batches[b]
            v_dense = v[len(v) - batch.dense.shape[1] :]
            shrink = np.float32(1 / (1 + decay * step * t))
            v_sparse = v[batch.columns]
            z = shrink * (batch.sparse @ v_sparse + batch.dense @ v_dense) + bias
            gradient = pu_gradient(z, annotated[batch.rows], c)
            v[batch.columns] = v_sparse - np.float32(step) * (batch.transposed @ gradient)
            v_dense -= np.float32(step) * (batch.dense.T @ gradient)
            bias -= np.float32(bias_step) * shrink * gradient.sum(axis=0)
            t += len(z)
        if epoch in averaged:
            share = 1 / len(averaged)
            mean_v += np.float32(share / (1 + decay * step * t)) * v
            mean_bias += np.float32(share) * bias
    return mean_v, mean_bias


def scores(features: Features, weights: np.ndarray) -> np.ndarray:
    """Product of features (n x D) and weights (D x q): float32, n x q."""
    D = features.sparse.shape[1]
    return features.sparse @ weights[:D] + features.dense @ weights[D:]
