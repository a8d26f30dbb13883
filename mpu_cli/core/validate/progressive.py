"""Progressive validation: one pass over all instances, whose last ones are predicted before they are learned from.

A model that has made less than the whole of a single pass has not seen the instances that come last. So their
predictions are out of sample, and cost no training of their own (Blum, Kalai and Langford 1999, "Beating the hold-out:
bounds for k-fold and progressive cross-validation").
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import Block, Predictions, Top, collector
from mpu_cli.core.data.weights import pruned
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.side.guidance import NO_GUIDANCE, Guidance
from mpu_cli.core.solver import sgd
from mpu_cli.core.solver.sgd import Settings, TrainingSet, by_blocks
from mpu_cli.core.validate.validation import predict, predict_top
from mpu_cli.runtime.run import Run


def train_progressively(
    features: Features,
    labels: csr_array,
    last: np.ndarray,
    frequency: LabelFrequency,
    settings: Settings,
    run: Run,
    top: Top | None = None,
    prune: float | None = None,
    guidance: Guidance = NO_GUIDANCE,
    tick: Callable[[], None] = lambda: None,
) -> tuple[LinearModel, Predictions]:
    """Learn all labels from all instances in one pass.

    Parameters
    ----------
    features : Features, n instances
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    last : ndarray of int, shape (m,)
        The instances that come last, ascending; fewer than n.
    frequency : LabelFrequency
        Of these instances and labels.
    settings : Settings
        Its epochs are not looked at.
    run : Run
    top : Top, optional
        Which predictions are kept. Default: all.
    prune : float, optional
        As for `train_linear`; what predicts the last instances is pruned too.
    guidance : Guidance
        Of these instances and labels.
    tick : callable
        Called once per block of labels.

    Returns
    -------
    model : LinearModel
    predictions : ndarray or csr_array of float32, shape (m, q)
        Probabilities of the last instances, by the model that has learned from all others.
    """
    n = len(features)
    first = np.setdiff1d(np.arange(n), last, assume_unique=True)
    q = labels.shape[1]
    predictions = collector((len(last), q), top, run.empty)
    begun: list[tuple[LinearModel, np.ndarray]] = []  # of many labels, what predicts the last instances
    beginning, end = (TrainingSet(features, labels, rows, run, guidance) for rows in (first, last))
    start = beginning.cold_start(frequency)

    def look(block: Block, model: LinearModel) -> None:
        if top is not None and prune is not None:
            begun.append((LinearModel(pruned(model.weights, prune), model.bias), np.arange(q)[block]))
        else:
            predict(model, features, last, block, predictions, run, prune, np.arange(len(last)))

    model = train_in_turn(beginning, end, frequency, settings, start, look, prune, tick)
    if top is not None and begun:
        begun_model = LinearModel.of_blocks(*zip(*begun, strict=True))
        predict_top(begun_model, features[last], np.arange(len(last)), predictions, top, run)
    return model, predictions.result()


def train_in_turn(
    beginning: TrainingSet,
    end: TrainingSet,
    frequency: LabelFrequency,
    settings: Settings,
    start: LinearModel,
    look: Callable[[Block, LinearModel], None],
    prune: float | None,
    tick: Callable[[], None] = lambda: None,
) -> LinearModel:
    """Learn all labels in one pass, first from the beginning and then from the end; arguments as above.

    `look` is shown the model of each block of labels between the two.
    """
    n = beginning.size + end.size

    def in_part(data: TrainingSet) -> Settings:
        return replace(settings, epochs=1, cost=settings.cost * n / data.size)  # lambda is that of n instances

    def learn(block: Block) -> LinearModel:
        model = sgd.train_block(beginning, block, frequency, in_part(beginning), start.block(block))
        look(block, model)
        return sgd.train_block(end, block, frequency, in_part(end), model, beginning.size)

    return by_blocks(end, learn, prune, tick)
