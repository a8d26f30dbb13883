"""One level of the stack: a model of all instances, and predictions of instances by models that have not seen them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.guidance import NO_GUIDANCE, Guidance
from mpu_cli.core.halves import train_by_halves
from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.core.nested import is_worthwhile, pairs_of, predict_nested
from mpu_cli.core.options import PU_LOGISTIC
from mpu_cli.core.predictions import Predictions, Top
from mpu_cli.core.progressive import train_progressively
from mpu_cli.core.sgd import LinearModel, Settings, TrainingSet, label_blocks, train_linear
from mpu_cli.core.validation import deal, default_folds, leading, out_of_unfinished_folds
from mpu_cli.runtime.journal import Found, packed, unpacked
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class HeldOut:
    """Predictions of instances by models that have not seen them.

    Attributes
    ----------
    rows : ndarray of int, shape (m,), or slice
        Which instances.
    probabilities : ndarray or csr_array of float32, shape (m, q)
    """

    rows: np.ndarray | slice
    probabilities: Predictions


@dataclass(frozen=True)
class LevelLearner:
    """How a level is learned, but for its features.

    Attributes
    ----------
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    frequency : LabelFrequency
        Of these instances and labels.
    settings : Settings
        Of models that leave instances out; with the number of epochs.
    folds : int or None
        Number of cross-validation folds; None: by the number of instances.
    run : Run
        Is told of every step, and keeps it.
    top : Top or None
        Which predictions are kept, where labels are many; None: all.
    prune : float or None
        Weights below this are dropped; None: none, and weights are dense.
    guidance : Guidance
        Of the level.
    """

    labels: csr_array
    frequency: LabelFrequency
    settings: Settings
    folds: int | None
    run: Run
    top: Top | None = None
    prune: float | None = None
    guidance: Guidance = NO_GUIDANCE

    def fit(self, level: int, features: Features, settings: Settings, start: LinearModel | None = None) -> LinearModel:
        """Learn a level from all instances."""

        def learn() -> Found:
            data = TrainingSet(features, self.labels, np.arange(len(features)), self.run, self.guidance)
            return _found(train_linear(data, self.frequency, settings, start, prune=self.prune, tick=tick))

        with self.run.step(f"level {level}", self._blocks()) as tick:
            return _model(self.run.journal.take(f"level {level}", learn))

    def _blocks(self) -> int:
        """Return how many blocks of labels there are to learn."""
        if self.guidance.shortlist is not None:
            return len(self.guidance.shortlist.groups())
        return len(label_blocks(self.labels.shape[1], self.run))

    def fold_rows(self, n: int) -> list[np.ndarray]:
        """Deal the instances into folds."""
        return deal(n, self.folds or default_folds(n), self.run.seed)

    def predict(
        self,
        level: int,
        features: Features,
        enough: int,
        features_of: Callable[[int], Features] | None = None,
    ) -> HeldOut:
        """Predict at least so many instances, or all, out of fold; perhaps with features of its own for each fold."""
        n = len(features)
        fold_rows = self.fold_rows(n)
        some = fold_rows[: leading(fold_rows, enough)]
        with self.run.step(f"level {level}, out of fold", len(some)) as tick:
            probabilities = out_of_unfinished_folds(
                (lambda fold: features) if features_of is None else features_of,
                self.labels,
                some,
                self.frequency,
                self.settings,
                self.run,
                tick,
                f"level {level}",
                self.top,
                self.prune,
                self.guidance,
            )
        if len(some) == len(fold_rows):
            return HeldOut(slice(None), probabilities)
        rows = np.sort(np.concatenate(some))
        if not isinstance(probabilities, np.ndarray):
            return HeldOut(rows, probabilities[rows])
        into = self.run.empty((len(rows), probabilities.shape[1]), np.float32)
        return HeldOut(rows, np.take(probabilities, rows, axis=0, out=into, mode="clip"))  # unbuffered

    def predict_nested(self, features: Features, out_of_fold: np.ndarray, enough: int) -> list[np.ndarray] | None:
        """Predict all instances by models without two folds (`core.nested`); None where that is not worthwhile."""
        n, q = self.labels.shape
        fold_rows = self.fold_rows(n)
        if not is_worthwhile(q, len(fold_rows)):
            return None
        outer = leading(fold_rows, enough)
        step = "level 0, without two folds"
        with self.run.step(step, len(pairs_of(len(fold_rows), outer))) as tick:

            def compute() -> Found:
                given = self.frequency, self.settings, self.run, tick, self.guidance
                found = predict_nested(features, self.labels, fold_rows, outer, out_of_fold, *given)
                return {f"fold {i}": of_fold for i, of_fold in enumerate(found)}

            found = self.run.journal.take(step, compute)
            return [found[f"fold {i}"] for i in range(outer)]

    def can_predict_in_passing(self, n: int, enough: int) -> bool:
        """Whether `fit_and_predict` will do: one pass, and most of the instances are not among those predicted."""
        return self.settings.epochs == 1 and n >= 2 * enough and self.settings.loss == PU_LOGISTIC

    def fit_and_predict(self, level: int, features: Features, enough: int) -> tuple[LinearModel, HeldOut]:
        """Learn a level from all instances in one pass, and predict at least so many in passing."""
        n = len(features)
        last = deal(n, n // enough, self.run.seed)[0]

        def learn() -> Found:
            model, predictions = train_progressively(
                features,
                self.labels,
                last,
                self.frequency,
                self.settings,
                self.run,
                self.top,
                self.prune,
                self.guidance,
                tick,
            )
            return _found(model) | packed("probabilities", predictions)

        with self.run.step(f"level {level}", self._blocks()) as tick:
            found = self.run.journal.take(f"level {level}", learn)
        return _model(found), HeldOut(last, unpacked("probabilities", found))

    def can_be_learned_by_halves(self, n: int, enough: int) -> bool:
        """Whether `fit_by_halves` will do: one pass, two folds, and all predictions are asked for.

        Of many labels, the rarest are in one half only, and the mean of sparse weights is less sparse.
        """
        one_pass = self.settings.epochs == 1 and self.settings.loss == PU_LOGISTIC
        return one_pass and (self.folds or default_folds(n)) == 2 and enough == n and self.top is None

    def fit_by_halves(self, level: int, features: Features) -> tuple[LinearModel, HeldOut]:
        """Learn a level from each half of the instances in one pass, and predict the other half."""
        halves = deal(len(features), 2, self.run.seed)

        def learn() -> Found:
            given = self.labels, halves, self.frequency, self.settings, self.run, self.guidance, tick
            model, predictions = train_by_halves(features, *given)
            return _found(model) | packed("probabilities", predictions)

        with self.run.step(f"level {level}", len(halves) * self._blocks()) as tick:
            found = self.run.journal.take(f"level {level}", learn)
        return _model(found), HeldOut(slice(None), unpacked("probabilities", found))


def _found(model: LinearModel) -> Found:
    return packed("weights", model.weights) | {"bias": model.bias}


def _model(found: Found) -> LinearModel:
    return LinearModel(unpacked("weights", found), found["bias"])
