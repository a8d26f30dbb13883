"""The reference kernel in NumPy, written like the formulas: PU-SGD and dual coordinate descent."""

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import logit

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import LARGEST_COST, SMALL_GRADIENT, THINNED_TO_ONE_IN, Batches
from mpu_cli.core.loss import Gradient
from mpu_cli.core.loss.pu_logistic import pu_gradient
from mpu_cli.core.loss.squared_hinge import cell_weights
from mpu_cli.core.predictions import Top

# Labels learned together: many, since weights are gathered again for each block.
BLOCK_SIZE = 128
# Scores computed at a time if only the largest are kept.
_SCORES = 1 << 20


def descend(
    batches: Batches,
    annotated: csr_array,
    frequency: LabelFrequency,
    bias: np.ndarray,
    *,
    step: float,
    bias_step: float,
    decay: float,
    epochs: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
    seen: int = 0,
    offsets: csr_array | None = None,
    thin: bool = False,
    gradient: Gradient = pu_gradient,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the loss of a block of labels by stochastic gradient descent (Kong et al. 2014, Section 2.1).

    With step eta_t = eta0 / (1 + lambda eta0 t) and implicit weight decay, w <- w / (1 + lambda eta_t) per instance,
    the product of all decays up to t telescopes to a_t = 1 / (1 + lambda eta0 t). So w_t = a_t v_t, where v moves by
    the constant step eta0, and the decay does not need to change the weights that a batch does not use.

    The result is the mean of the weights after each epoch in the second half, rounded up for an odd number of epochs
    (averaged SGD, Polyak and Juditsky 1992), which removes part of the noise of the last steps.

    `batches`: visited in a new random order every epoch.
    `annotated`: bool or float32, shape (N, q): the positives of all instances in the features
    (`LabelFrequency.positives`).
    `frequency`: for all instances in the features and q labels, in single precision.
    `bias`: float32, shape (q,): the initial biases.
    `step`, `bias_step`: eta0 of the weights and of the biases.
    `decay`: lambda.
    `weights`: float32, shape (width, q): the initial weights. Default: zero.
    `seen`: the number of instances that these weights were learned from before: t starts there.
    `offsets`: float32, shape (N, q): added to the scores of all instances in the features.
    `thin`: whether weights may move by a sample of the small gradients, drawn by `thinned`.
    `gradient`: of the loss (`core.loss.Loss`).
    Returns: `weights`: float32, shape (width, q); `bias`: float32, shape (q,).
    """
    if weights is None:
        v = np.zeros((batches.features.width, annotated.shape[1]), np.float32)
    else:
        v = np.multiply(weights, np.float32(1 + decay * step * seen), order="C")
    bias = bias.copy()
    mean_v, mean_bias = np.zeros_like(v), np.zeros_like(bias)
    annotated = annotated.toarray()
    averaged = range(epochs // 2, epochs)
    t = seen
    for epoch in range(epochs):
        for b in rng.permutation(len(batches)):
            batch = batches[b]
            shrink = np.float32(1 / (1 + decay * step * t))
            z = shrink * batch.product(v) + bias
            if offsets is not None:
                z += offsets[batch.rows].toarray()
            g = gradient(z, annotated[batch.rows], frequency.of_cells(batch.rows))
            bias -= np.float32(bias_step) * shrink * g.sum(axis=0)
            if thin:
                g = thinned(g, b * batches.size, epoch)
            batch.move(v, g, -step)
            t += len(z)
        if epoch in averaged:
            share = 1 / len(averaged)
            mean_v += np.float32(share / (1 + decay * step * t)) * v
            mean_bias += np.float32(share) * bias
    return mean_v, mean_bias


def thinned(gradient: np.ndarray, first: int, epoch: int) -> np.ndarray:
    """Subsample gradients (B x q): drop most instances with small gradients, and weight the others to keep the mean.

    With many labels, most instances are unrelated to a block, and moving its weights by each of them takes half the
    time. One in `THINNED_TO_ONE_IN` is used, different ones in each epoch. Since instances are in random order, in
    which the first one here has the place `first`, the sum of the gradients is right on average.
    """
    small = np.abs(gradient).max(axis=1) < np.float32(SMALL_GRADIENT)
    due = (first + np.arange(len(gradient)) + epoch) % THINNED_TO_ONE_IN == 0
    stands_for = np.where(small, np.where(due, THINNED_TO_ONE_IN, 0), 1)
    return gradient * stands_for[:, np.newaxis].astype(np.float32)


def scores(features: Features, weights: np.ndarray) -> np.ndarray:
    """Return the product of features (n x D) and weights (D x q): float32, n x q."""
    D = features.sparse.shape[1]
    return features.sparse @ weights[:D] + features.dense @ weights[D:]


def top_scores(
    matrix: csr_array, weights: csr_array, bias: np.ndarray, top: Top, strata: np.ndarray | None = None
) -> csr_array:
    """Return each instance's largest scores with a probability of at least `top.least`: float32, shape (n, q).

    They may be 0, and are in ascending order of labels. `matrix`: shape (n, D); `weights`: (D, q). `strata`: int8,
    shape (q,): return the largest scores in each stratum of labels.
    """
    n, q = matrix.shape[0], len(bias)
    in_scores, strata = Top(top.most, float(logit(top.least))), np.zeros(q, np.int8) if strata is None else strata
    parts = [csr_array((0, q), dtype=np.float32)]
    for start in range(0, n, size := max(1, _SCORES // q)):
        scores = (matrix[start : start + size] @ weights).toarray() + bias
        of_strata = (np.where(strata == s, scores, np.float32(-np.inf)) for s in np.unique(strata))
        cells = np.nonzero(np.any([*map(in_scores.among, of_strata)], axis=0))
        parts.append(csr_array((scores[cells], cells), shape=scores.shape))
    return csr_array(vstack(parts, format="csr"))


def descend_dual(
    batches: Batches,
    annotated: csr_array,
    frequency: LabelFrequency,
    *,
    cost: float,
    bias_norm: float,
    epochs: int,
    rng: np.random.Generator,
    offsets: csr_array | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise ||w||^2 / 2 + C sum of weighted squared hinges for a block of labels (Hsieh et al. 2008, Algorithm 1).

    The dual variable a of a cell with y = +-1 and weight m is set to its optimum with all others fixed, so that
    w = sum of a y x at any time:

        k = 2 C m,   a <- max(a - (k (y z - 1) + a) / (k ||x||^2 + 1), 0).

    The bias is the weight of an additional feature, so it is regularised too. Instances are visited in a new random
    order in each pass: with a new order of the same mini-batches only, the objective after ten passes was 1 % above its
    minimum on bibtex, not 0.0003 %. Within 32 instances, scores are updated by the products of the instances.

    `batches`, `annotated`, `frequency`, `epochs`, `rng`, `offsets`: as for `descend`.
    `bias_norm`: the square of the feature whose weight is the bias.
    Returns: `weights`: float32, shape (width, q); `bias`: float32, shape (q,).
    """
    q = annotated.shape[1]
    v, bias = np.zeros((batches.features.width, q), np.float32), np.zeros(q, np.float32)
    a = np.zeros((len(batches.rows), q), np.float32)
    annotated = annotated.astype(bool).toarray()
    for _ in range(epochs):
        order = rng.permutation(len(batches.rows))
        mixed = Batches(batches.features, batches.rows[order], batches.size)
        for b in range(len(mixed)):
            batch = mixed[b]
            z = batch.product(v) + bias
            if offsets is not None:
                z += offsets[batch.rows].toarray()
            products = (batch.sparse @ batch.transposed).toarray() + batch.dense @ batch.dense.T + np.float32(bias_norm)
            s = annotated[batch.rows]
            y = np.where(s, np.float32(1), np.float32(-1))
            weights = cell_weights(s, frequency.of_cells(batch.rows).astype(float))
            k = np.minimum(2 * cost * weights, LARGEST_COST).astype(np.float32)
            change = np.zeros_like(z)
            for i, place in enumerate(order[b * batches.size : (b + 1) * batches.size]):
                margin = y[i] * (z[i] + products[i, :i] @ change[:i]) - 1
                before = a[place]
                after = np.maximum(before - (k[i] * margin + before) / (k[i] * products[i, i] + 1), 0)
                change[i] = y[i] * (after - before)
                a[place] = after
            batch.move(v, change)
            bias += np.float32(bias_norm) * change.sum(axis=0)
    return v, bias
