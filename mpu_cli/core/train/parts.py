"""Units of work on one part of the instances: plain functions of arrays, which any process can run.

Only models, counts and the instances of a sample leave the process that has the part.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import DensePredictions, Predictions
from mpu_cli.core.frequency.label_frequency import LabelFrequency, count_annotations
from mpu_cli.core.model.bins import BinnedCells
from mpu_cli.core.model.calibration import Calibration
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.model.stacking import stack
from mpu_cli.core.side.guidance import NO_GUIDANCE, Guidance
from mpu_cli.core.solver import sgd
from mpu_cli.core.validate.validation import fold_of, predict
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class PartRows:
    """The instances of a part, as a level learns from them.

    Attributes
    ----------
    features : Features, n_i instances
    labels : csr_array of bool, shape (n_i, q)
        Annotated labels.
    number : int
        Of the part. Its order and folds are drawn with a seed of its own.
    guidance : Guidance
        Of these instances.
    """

    features: Features
    labels: csr_array
    number: int
    guidance: Guidance = NO_GUIDANCE

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Selection:
    """Some instances of each part: one of its folds, or all but that fold.

    Attributes
    ----------
    folds : int
        Number of folds that each part is dealt into; 1: all of its instances are meant.
    fold : int
    inside : bool
        Whether the instances of the fold are meant, and not the others.
    """

    folds: int = 1
    fold: int = 0
    inside: bool = False

    def rows(self, part: PartRows, seed: int) -> np.ndarray:
        """Return the instances of a part that are meant, ascending."""
        n = len(part)
        if self.folds == 1:
            return np.arange(n)
        held_out = fold_of(n, self.folds, self.fold, seed_of(seed, part.number))
        return held_out if self.inside else np.delete(np.arange(n), held_out)


EVERYTHING = Selection()


def seed_of(seed: int, part: int, round_: int = 0) -> int:
    """Return the seed of a part in a round; of the first part in the first round it is the seed itself."""
    if not part and not round_:
        return seed
    return int(np.random.SeedSequence((seed, part, round_)).generate_state(1)[0])


def count(part: PartRows, selection: Selection, seed: int) -> tuple[int, np.ndarray]:
    """Count the selected instances, and those of them that are annotated with each label."""
    rows = selection.rows(part, seed)
    return len(rows), count_annotations(part.labels[rows])


def pick(part: PartRows, rows: np.ndarray) -> PartRows:
    """Return some instances."""
    return PartRows(part.features[rows], part.labels[rows], part.number)


def sum_of_squared_norms(part: PartRows, selection: Selection = EVERYTHING, seed: int = 0) -> float:
    """Return the sum of the squared norms of the selected instances."""
    return float(part.features.squared_norms[selection.rows(part, seed)].sum())


def learn(
    part: PartRows,
    selection: Selection,
    block: slice,
    rates: np.ndarray,
    settings: sgd.Settings,
    start: LinearModel,
    seen: int,
    n: int,
    round_: int,
    run: Run,
) -> LinearModel:
    """Go on learning a block of labels, in one pass over the selected instances of a part.

    Parameters
    ----------
    part : PartRows
    selection : Selection
    block : slice
        The labels.
    rates : ndarray of float64, shape (q,)
        Label frequencies.
    settings : Settings
    start : LinearModel
        What the parts before have left, of these labels.
    seen : int
        Instances that it has learned from.
    n : int
        Instances that all of this is to learn from: the weights are regularised by 1 / (C n).
    round_ : int
        Of the passes over all parts.
    run : Run
    """
    rows = selection.rows(part, run.seed)
    if not len(rows):
        return start
    run = replace(run, seed=seed_of(run.seed, part.number, round_))
    data = sgd.TrainingSet(part.features, part.labels, rows, run, part.guidance)
    frequency = LabelFrequency.of(rates, part.labels.shape)
    settings = replace(settings, epochs=1, cost=settings.cost * n / len(rows))
    return sgd.train_block(data, block, frequency, settings, start, seen)


def joined(blocks: list[LinearModel]) -> LinearModel:
    """Return the model of all labels from those of consecutive blocks."""
    weights = np.hstack([model.weights for model in blocks])
    return LinearModel(weights, np.concatenate([model.bias for model in blocks]))


def scaled(model: LinearModel, share: float) -> LinearModel:
    """Return a model times its share of a mean; 0 is added, which leaves no negative zero."""
    return LinearModel(model.weights * np.float32(share) + np.float32(0), model.bias * np.float32(share))


def added(first: LinearModel, second: LinearModel) -> LinearModel:
    """Return the sum of two models."""
    return LinearModel(first.weights + second.weights, first.bias + second.bias)


def predict_out_of_fold(part: PartRows, models: list[LinearModel], run: Run) -> np.ndarray:
    """Predict the instances of each fold by the model that has left it out: float32, shape (n_i, q)."""
    predictions = np.empty(part.labels.shape, np.float32)
    for fold, model in enumerate(models):
        rows = Selection(len(models), fold, inside=True).rows(part, run.seed)
        predict(model, part.features, rows, slice(None), DensePredictions(predictions), run)
    return predictions


def predict_selected(part: PartRows, selection: Selection, model: LinearModel, run: Run) -> np.ndarray:
    """Predict the selected instances: float32, shape (m_i, q)."""
    rows = selection.rows(part, run.seed)
    predictions = np.empty((len(rows), part.labels.shape[1]), np.float32)
    places = np.arange(len(rows))
    predict(model, part.features, rows, slice(None), DensePredictions(predictions), run, places=places)
    return predictions


def labels_of(part: PartRows, selection: Selection = EVERYTHING, seed: int = 0) -> csr_array:
    """Return the annotated labels of the selected instances."""
    return part.labels[selection.rows(part, seed)]


def count_cells(part: PartRows, predictions: Predictions, rates: np.ndarray) -> BinnedCells:
    """Count the cells of a part by their predictions."""
    return BinnedCells.of(predictions, part.labels, LabelFrequency.of(rates, part.labels.shape))


def stacked(part: PartRows, predictions: Predictions, calibration: Calibration | None, scale: float) -> PartRows:
    """Return a part as the next level learns from it."""
    probabilities = predictions
    if calibration is not None:
        probabilities = predictions.copy()
        calibration.apply(probabilities)  # some rows at a time
    features = stack(part.features, probabilities, scale)
    return replace(part, features=features, guidance=part.guidance.of_next_level(probabilities, features.width))


def label_counts(part: PartRows) -> np.ndarray:
    """Return how many labels each instance is annotated with."""
    return np.diff(part.labels.indptr)
