"""PU-SGD in NumPy: the reference kernel, which reads like the formulas."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.loss import pu_gradient


@dataclass(frozen=True)
class Batch:
    """A mini-batch of B instances.

    Attributes
    ----------
    rows : slice
        Which instances, in the order of the `Features` the batches were cut from.
    columns : ndarray, shape (u,)
        The sparse features that occur in the batch.
    sparse : csr_array, shape (B, u)
        Their values.
    transposed : csr_array, shape (u, B)
        The same, transposed once for all epochs and label blocks.
    dense : ndarray, shape (B, d)
    """

    rows: slice
    columns: np.ndarray
    sparse: csr_array
    transposed: csr_array
    dense: np.ndarray


def prepare(features: Features, batch_size: int) -> list[Batch]:
    """Cut instances into mini-batches, in their order; shared by all label blocks and settings."""
    batches = []
    for start in range(0, len(features), batch_size):
        rows = slice(start, min(start + batch_size, len(features)))
        part = features[rows]
        columns, local = np.unique(part.sparse.indices, return_inverse=True)
        sparse = csr_array(
            (part.sparse.data, local.astype(np.int32), part.sparse.indptr), shape=(len(part), len(columns))
        )
        batches.append(Batch(rows, columns, sparse, sparse.T.tocsr(), part.dense))
    return batches


def descend(
    batches: list[Batch],
    annotated: np.ndarray,
    c: np.ndarray,
    bias: np.ndarray,
    width: int,
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
    batches : list of Batch
        From `prepare`; visited in a new random order every epoch.
    annotated : ndarray of bool, shape (n, q)
        The labels, instances in the order of the batches.
    c : ndarray of float32, shape (q,)
        Label frequency of each label.
    bias : ndarray of float32, shape (q,)
        Where the biases start.
    width : int
        Number of features, sparse and dense.
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
    v = np.zeros((width, annotated.shape[1]), np.float32)
    first_dense = width - batches[0].dense.shape[1]
    v_dense = v[first_dense:]
    bias = bias.copy()
    mean_v, mean_bias = np.zeros_like(v), np.zeros_like(bias)
    averaged = range(epochs // 2, epochs)
    t = 0
    for epoch in range(epochs):
        for b in rng.permutation(len(batches)):
            batch = batches[b]
            shrink = np.float32(1 / (1 + decay * step * t))
            v_sparse = v[batch.columns]
            z = shrink * (batch.sparse @ v_sparse + batch.dense @ v_dense) + bias
            gradient = pu_gradient(z, annotated[batch.rows], c)
            v[batch.columns] = v_sparse - np.float32(step) * (batch.transposed @ gradient)
            v_dense -= np.float32(step) * (batch.dense.T @ gradient)
            bias -= np.float32(bias_step) * shrink * gradient.sum(axis=0)
            t += len(z)
        if epoch in averaged:
            mean_v += np.float32(1 / (1 + decay * step * t) / len(averaged)) * v
            mean_bias += bias / np.float32(len(averaged))
    return mean_v, mean_bias
