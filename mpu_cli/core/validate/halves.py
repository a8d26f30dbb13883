"""Two halves: each is learned in one pass and predicts the other, and the mean of both is the model of all instances.

Where a pass over half of the instances is enough to learn from, a third training, on all of them, has nothing to add:
the mean of models of parts, each learned with larger steps, is as good as one model of all (McDonald, Hall and Mann
2010, "Distributed training strategies for the structured perceptron"; Zinkevich et al. 2010, "Parallelized stochastic
gradient descent").
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import Block, DensePredictions
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.side.guidance import Guidance
from mpu_cli.core.solver import sgd
from mpu_cli.core.validate.validation import Fold, predict, split
from mpu_cli.runtime import parallel
from mpu_cli.runtime.run import Run

# A half makes half of the steps.
LARGER_STEPS = 2.0


def train_by_halves(
    features: Features,
    labels: csr_array,
    halves: list[np.ndarray],
    frequency: LabelFrequency,
    settings: sgd.Settings,
    run: Run,
    guidance: Guidance,
    tick: Callable[[], None] = lambda: None,
) -> tuple[LinearModel, np.ndarray]:
    """Learn all labels from all instances, and predict all by a model that has not seen them.

    Parameters
    ----------
    features : Features, n instances
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    halves : list of two ndarrays of int
        The instances of each half, from `deal`.
    frequency : LabelFrequency
        Of these instances and labels.
    settings : Settings
        Of a model of all instances.
    run : Run
        Its threads work on halves and label blocks.
    guidance : Guidance
        Of these instances and labels.
    tick : callable
        Called once per half and block of labels.

    Returns
    -------
    model : LinearModel
    predictions : ndarray of float32, shape (n, q)
        Probabilities.
    """
    settings = replace(settings, step=LARGER_STEPS * settings.step)
    predictions = run.empty(labels.shape, np.float32)
    weights = run.empty((features.width, labels.shape[1]), np.float32)
    weights[:] = 0
    bias = np.zeros(labels.shape[1], np.float32)

    def learn(half: Fold, block: Block, start: LinearModel) -> tuple[Block, LinearModel]:
        model = sgd.train_block(half.training, block, frequency, settings, start.block(block))
        predict(model, features, half.rows, block, DensePredictions(predictions), run)
        tick()
        return block, model

    def tasks() -> Iterator[tuple[Fold, Block, LinearModel]]:
        for held_out in halves:
            half = split(features, labels, held_out, run, guidance)
            start = half.training.cold_start(frequency)
            yield from ((half, block, start) for block in half.training.blocks())

    for block, model in parallel.run(learn, tasks(), run.jobs):
        weights[:, block] += model.weights / len(halves)
        bias[block] += model.bias / len(halves)
    return LinearModel(weights, bias), predictions
