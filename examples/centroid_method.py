"""centroid: a label is probable where an instance is near the mean of those that have it.

A method for mpu in one file. In the pyproject.toml of its package:

    [project.entry-points."mpu.methods"]
    centroid = "centroid_method:METHOD"
"""

from dataclasses import dataclass

from mpu_cli.methods import Fitted, Method, Task
from mpu_cli.runtime.options import WEIGHT, option


@dataclass(frozen=True, kw_only=True)
class Options:
    """An option: a field with its range, default and help."""

    sharpness: float = option(WEIGHT, 4.0, "How fast the probability of a label falls with the distance.")


def fit(task: Task) -> Fitted:
    """Learn a linear model from annotations. What it computes with is imported here: `mpu --help` reads this file."""
    import numpy as np

    from mpu_cli.core.linear_model import LinearModel
    from mpu_cli.core.stacking import StackedModel

    X, S = task.problem.features, task.problem.labels  # sparse, (n, D) and (n, q)
    with task.run.step("train"):
        mean = np.asarray(X.mean(axis=0)).ravel()
        centroids = (X.T @ S).toarray() / S.sum(axis=0) - mean[:, None]
        weights = task.options.sharpness * centroids / np.linalg.norm(centroids, axis=0).clip(min=1e-9) ** 2
        bias = -(mean + centroids.T / 2) * weights.T  # half of the way to the centroid has probability 0.5
    level = LinearModel(weights.astype(np.float32), bias.sum(axis=1).astype(np.float32))
    thresholds = np.full(S.shape[1], 0.5, np.float32)
    return Fitted(StackedModel((level,), 0.0, thresholds), findings={}, c=np.ones(S.shape[1]))


METHOD = Method("centroid", "nearness to the mean of the annotated instances.", Options, fit)
