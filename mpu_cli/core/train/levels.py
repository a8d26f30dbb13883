"""One level of the stack: a model of all instances, and predictions of instances by models that have not seen them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import HeldOut, Predictions, Top
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.loss import loss_named
from mpu_cli.core.model.calibration import calibrate
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.model.stacking import stack
from mpu_cli.core.model.thresholds import evidence
from mpu_cli.core.side.guidance import NO_GUIDANCE, Guidance
from mpu_cli.core.solver.sgd import Settings, TrainingSet, label_blocks, train_linear
from mpu_cli.core.validate.halves import train_by_halves
from mpu_cli.core.validate.nested import is_worthwhile, pairs_of, predict_nested
from mpu_cli.core.validate.progressive import train_progressively
from mpu_cli.core.validate.validation import deal, default_folds, leading, out_of_unfinished_folds
from mpu_cli.runtime.journal import Found, packed, unpacked
from mpu_cli.runtime.run import Run


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
    level_settings : Settings
        Of models of all instances; others than these where they begin warm.
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
    start : callable or None
        Gives the model with which a level begins, by the number of the level; None: levels begin cold.
    """

    labels: csr_array
    frequency: LabelFrequency
    settings: Settings
    level_settings: Settings
    folds: int | None
    run: Run
    top: Top | None = None
    prune: float | None = None
    guidance: Guidance = NO_GUIDANCE
    start: Callable[[int], LinearModel] | None = None

    def learn(
        self,
        level: int,
        features: Features,
        enough: int,
        held_out: HeldOut | None = None,
        features_of: Callable[[int], Features] | None = None,
    ) -> tuple[LinearModel, HeldOut]:
        """Learn a level from all instances, and predict at least so many of them by models that have not seen them.

        Parameters
        ----------
        level : int
        features : Features, n instances
        enough : int
        held_out : HeldOut, optional
            Such predictions, where they are there already.
        features_of : callable, optional
            Gives the features of the instances where a fold is held out. Default: `features` for all folds.
        """
        if held_out is None and self.can_predict_in_passing(enough):
            return self._learn_in_passing(level, features, enough)
        if held_out is None and self._can_learn_by_halves(enough):
            return self._learn_by_halves(level, features)
        model = self._learn_whole(level, features)
        if held_out is None:
            held_out = self._predict(level, features, enough, features_of or (lambda fold: features))
        return model, held_out

    def of_next_level(
        self, features: Features, predictions: Predictions, scale: float
    ) -> tuple["LevelLearner", Features]:
        """Return how the next level is learned, and its features, from those of this one and its predictions."""
        features = stack(features, predictions, scale, self.run.empty)
        return replace(self, guidance=self.guidance.of_next_level(predictions, features.width)), features

    def _learn_whole(self, level: int, features: Features) -> LinearModel:
        start = None
        if self.start is not None:
            start = self.start(level)
            start.refuse_overflow(features)

        def learn() -> Found:
            data = TrainingSet(features, self.labels, np.arange(len(features)), self.run, self.guidance)
            return _found(train_linear(data, self.frequency, self.level_settings, start, prune=self.prune, tick=tick))

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

    def _predict(self, level: int, features: Features, enough: int, features_of: Callable[[int], Features]) -> HeldOut:
        """Predict at least so many instances, or all, out of fold."""
        n = len(features)
        fold_rows = self.fold_rows(n)
        some = fold_rows[: leading(fold_rows, enough)]
        with self.run.step(f"level {level}, out of fold", len(some)) as tick:
            probabilities = out_of_unfinished_folds(
                features_of,
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

    def features_without(
        self, features: Features, out_of_fold: Predictions, enough: int, scale: float
    ) -> Callable[[int], Features] | None:
        """Return what gives the features of level 1 where a fold is held out, for an honest estimate of its worth.

        They come from predictions that know nothing of the fold. None where the out-of-fold predictions serve for all
        folds (`core.validate.nested`).
        """
        if not isinstance(out_of_fold, np.ndarray):
            return None
        nested = self._predict_nested(features, out_of_fold, enough)
        if nested is None:
            return None
        everything = np.arange(len(features))
        fold_rows = self.fold_rows(len(features))

        def of_fold(i: int) -> Features:
            rest = np.setdiff1d(everything, fold_rows[i], assume_unique=True)
            seen = HeldOut(rest, nested[i][rest])
            calibration = calibrate(*evidence(seen, self.labels, self.frequency))
            predictions = nested[i] if calibration is None else calibration(nested[i])
            return stack(features, predictions, scale, self.run.empty)

        return of_fold

    def _predict_nested(self, features: Features, out_of_fold: np.ndarray, enough: int) -> list[np.ndarray] | None:
        """Predict all instances by models without two folds (`validate.nested`); None where that is not worthwhile."""
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

    def can_predict_in_passing(self, enough: int) -> bool:
        """Whether a level can be learned in one cold pass, with most of the instances not among those predicted."""
        return self._is_one_cold_pass and self.labels.shape[0] >= 2 * enough

    @property
    def _is_one_cold_pass(self) -> bool:
        return self.start is None and self.settings.epochs == 1 and loss_named(self.settings.loss).has_step

    def _learn_in_passing(self, level: int, features: Features, enough: int) -> tuple[LinearModel, HeldOut]:
        """Learn a level from all instances in one pass, and predict at least so many before they are learned from."""
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

    def _can_learn_by_halves(self, enough: int) -> bool:
        """Whether a level can be learned in one cold pass over two folds, with all predictions asked for.

        Of many labels, the rarest are in one half only, and the mean of sparse weights is less sparse.
        """
        n = self.labels.shape[0]
        return self._is_one_cold_pass and (self.folds or default_folds(n)) == 2 and enough == n and self.top is None

    def _learn_by_halves(self, level: int, features: Features) -> tuple[LinearModel, HeldOut]:
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
