"""Level models: PU-SGD for every label at once (Kong et al. 2014, Section 2)."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logit

from mpu_cli.core import parallel
from mpu_cli.core.features import Features
from mpu_cli.core.kernels import kernel
from mpu_cli.errors import MpuError

BATCH_SIZE = 32
# eta0 of the biases by that of the weights of unit-length instances: small, since they start near their place. They
# are not regularised.
BIAS_STEP = 0.02


@dataclass(frozen=True)
class Settings:
    """What PU-SGD leaves open.

    Attributes
    ----------
    cost : float
        C; the weights are regularised by lambda / 2 ||w||^2 with lambda = 1 / (C n).
    step : float
        eta0 in units of 1 / mean ||x||^2, which makes it independent of the scale of the features.
    epochs : int or None
        Passes over the data; None: `default_epochs`.
    """

    cost: float = 30.0
    step: float = 1.0
    epochs: int | None = None


@dataclass(frozen=True)
class LinearModel:
    """One level: Pr(y^k = 1 | x) = sigma(w_k.x + b_k).

    Attributes
    ----------
    weights : ndarray of float32, shape (D, q)
    bias : ndarray of float32, shape (q,)
    """

    weights: np.ndarray
    bias: np.ndarray

    def probabilities(self, features: Features) -> np.ndarray:
        """Pr(y^k = 1 | x) for every instance and label: float32, n x q."""
        return expit(kernel().scores(features, self.weights) + self.bias)


class TrainingSet:
    """Instances to learn from, cut into mini-batches once for any number of settings and label blocks.

    Parameters
    ----------
    features : Features, N instances
    labels : csr_array of bool, shape (N, q)
        Annotated labels.
    rows : ndarray of int, shape (n,)
        The instances to learn from.
    seed : int
        Seed of the order of the instances, the same for every label block.
    """

    def __init__(self, features: Features, labels: csr_array, rows: np.ndarray, seed: int) -> None:
        self.rows = np.random.default_rng(seed).permutation(rows)
        self.seed = seed
        self.labels = labels
        self.mean_squared_norm = features.mean_squared_norm(rows)
        self.batches = kernel().prepare(features, self.rows, BATCH_SIZE)

    def blocks(self) -> list[slice]:
        """Cut the labels into blocks of nearly equal size.

        The cut depends on the number of labels only, so that a label's weights never depend on the number of threads.
        """
        q = self.labels.shape[1]
        n_blocks = -(-q // kernel().BLOCK_SIZE)
        return [slice(b * q // n_blocks, (b + 1) * q // n_blocks) for b in range(n_blocks)]


def train_linear(data: TrainingSet, c: np.ndarray, settings: Settings, jobs: int = 1) -> LinearModel:
    """Learn all labels from all instances.

    Parameters
    ----------
    data : TrainingSet, n instances, q labels
    c : ndarray, shape (q,)
        Label frequency of each label, 0 < c <= 1.
    settings : Settings
    jobs : int
        Threads over label blocks. The model is the same bytes whatever their number.

    Returns
    -------
    LinearModel
    """
    blocks = parallel.run(train_block, ((data, block, c, settings) for block in data.blocks()), jobs)
    models = list(blocks)
    return LinearModel(np.hstack([m.weights for m in models]), np.hstack([m.bias for m in models]))


def train_block(data: TrainingSet, block: slice, c: np.ndarray, settings: Settings) -> LinearModel:
    """Learn one block of labels: the unit of work, a plain function of arrays."""
    annotated = data.labels[:, block].toarray()
    c = np.asarray(c[block], np.float32)
    n = len(data.rows)
    step = settings.step / data.mean_squared_norm
    with np.errstate(over="ignore", invalid="ignore"):
        weights, bias = kernel().descend(
            data.batches,
            annotated,
            c,
            _log_odds(annotated[data.rows].mean(axis=0) / c, n),
            step=step,
            bias_step=BIAS_STEP * settings.step,
            decay=1 / (settings.cost * n),
            epochs=settings.epochs or default_epochs(n),
            rng=np.random.default_rng(data.seed),
        )
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise MpuError(
            "the weights left the range of 32-bit numbers: bring the feature values to the order of 1, or give less "
            "extreme options"
        )
    return LinearModel(weights, bias)


def default_epochs(n: int) -> int:
    """Ten passes over the data; up to fifty below 5,000 instances, fewer, but two, above 30,000."""
    return int(np.clip(300_000 // n, 2, 10) if n > 5_000 else np.clip(50_000 // n, 10, 50))


def _log_odds(share: np.ndarray, n: int) -> np.ndarray:
    """Log-odds of a label's share, kept as far from 0 and 1 as n instances can tell."""
    margin = 1 / (n + 2)
    return logit(np.clip(share, margin, 1 - margin)).astype(np.float32)
