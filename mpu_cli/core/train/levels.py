"""Levels of the stack: a model of all instances, predictions of instances that it has not seen, and what these say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mpu_cli.core.features import Columns, Features
from mpu_cli.core.instances import Instances
from mpu_cli.core.linear_learner import (
    Learned,
    LearningTask,
    is_worthwhile,
    learn,
    pairs_of,
    predict_nested,
    predict_out_of_fold,
)
from mpu_cli.core.model.calibration import (
    AnyCalibration,
    BinnedCells,
    Calibration,
    calibrate,
    calibrate_binned,
    calibrate_strata,
)
from mpu_cli.core.model.stacking import LinearModel, StackedModel, stack
from mpu_cli.core.predictions import HeldOut, Predictions, SourceModels, Top
from mpu_cli.core.selection import HyperParameters
from mpu_cli.core.side_information import SideInformation
from mpu_cli.core.thresholds import ComparedCells, Decision, best_threshold, decide
from mpu_cli.core.validation import Chain, Plan, deal, default_folds, leading
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.steps import Step


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level, and how it is learned."""

    instances: Instances  # with the features of this level
    side: SideInformation  # of these instances and the labels
    chosen: HyperParameters
    run: Run
    top: Top | None = None  # which predictions are kept, where labels are many; None: all
    number: int = 0
    predicted: HeldOut | None = None  # predictions of all instances that are there already
    # Gives the features of the instances where a fold is held out; None: they are the same for all folds
    features_of: Callable[[int], Features] | None = None

    @property
    def is_honest(self) -> bool:
        """Whether the features of each fold know nothing of it, so that F1 can be compared with the level below."""
        return self.features_of is not None

    def plan(self, enough: int) -> Plan:
        """Return which models are learned, so that enough instances are predicted."""
        settings, folds = self.chosen.settings, self.chosen.folds
        return Plan.of(
            len(self.instances),
            enough,
            settings,
            folds,
            self.run.seed,
            many=self.top is not None,
            kin=self.instances.kin,
        )

    @cached_property
    def task(self) -> LearningTask:
        """What all models of the level share."""
        rows, chosen = self.instances, self.chosen
        frequency = rows.frequency(chosen.rates)
        return LearningTask(
            rows.features, rows.labels, frequency, chosen.settings, self.run, self.side, self.top, chosen.prune
        )

    def learn(self, enough: int) -> tuple[LinearModel, ComparedCells]:
        """Learn the level, and predict at least `enough` instances by models that have not seen them."""
        model, held_out = self._learn(enough)
        return model, ComparedCells(held_out, self.task.labels, self.task.frequency)

    def _learn(self, enough: int) -> tuple[LinearModel, HeldOut]:
        plan, name = self.plan(enough), f"level {self.number}"
        if self.predicted is not None:
            everything = Chain((np.arange(len(self.instances)),))
            return self._whole(replace(plan, whole=(everything,)), name).model, self.predicted
        learned = self._whole(plan, name)
        if not plan.folds:
            return learned.model, self._with_source_models(learned.held_out, plan.whole)
        features_of = self.features_of or (lambda _: self.instances.features)
        rows = [chain.predicted for chain in plan.folds if chain.predicted is not None]
        with self.run.step(f"{name}, out of fold", len(rows)) as tick:
            held_out = predict_out_of_fold(self.task, rows, features_of, tick)
        return learned.model, self._with_source_models(held_out, plan.folds)

    def _whole(self, plan: Plan, name: str) -> Learned:
        """Learn the model of all instances, with what it predicts in passing."""
        with self.run.step(name, len(plan.whole) * len(self.task.blocks())) as tick:
            return learn(self.task, plan.whole, plan.larger_steps, tick)

    def _with_source_models(self, held_out: HeldOut, chains: Sequence[Chain]) -> HeldOut:
        """Return predictions by chains, with what each had learned from when it predicted.

        That matters where something besides annotations teaches labels.
        """
        if not self.chosen.settings.prior:
            return held_out
        predicted = [chain.predicted for chain in chains if chain.predicted is not None]
        learned = [chain.learned[0] for chain in chains]
        return replace(held_out, made_by=SourceModels.learned(predicted, learned, self.instances.positives))

    def above(self, predictions: Predictions, calibration: Calibration | None, scale: float, enough: int) -> "Level":
        """Return the next level, which learns from the predictions of this one, of all instances, too.

        Probabilities, which the calibration makes of them, are multiplied by the scale as features. The next level is
        to predict `enough` instances.
        """
        features = stack(self.instances.features, predictions, scale, calibration)
        side = self.side.of_next_level(predictions, features.width)
        instances = replace(self.instances, features=features)
        above = replace(self, instances=instances, side=side, number=self.number + 1, predicted=None, features_of=None)
        if self.number or above.plan(enough).is_progressive:
            return above
        return replace(above, features_of=self._features_without(predictions, enough, scale))

    def _features_without(
        self, out_of_fold: Predictions, enough: int, scale: float
    ) -> Callable[[int], Features] | None:
        """Return what gives the features of level 1 where a fold is held out, for an honest estimate of its worth.

        They come from predictions that know nothing of the fold. None where the out-of-fold predictions serve for all
        folds (`core.linear_learner`).
        """
        if not isinstance(out_of_fold, np.ndarray):
            return None
        n, q = out_of_fold.shape
        fold_rows = deal(n, self.chosen.folds or default_folds(n), self.run.seed, self.instances.kin)
        if not is_worthwhile(q, len(fold_rows)):
            return None
        task, features = self.task, self.instances.features
        outer = leading(fold_rows, enough)
        with self.run.step(Step.WITHOUT_TWO_FOLDS, len(pairs_of(len(fold_rows), outer))) as tick:
            nested = predict_nested(task, fold_rows, outer, out_of_fold, tick)
        everything, annotated = np.arange(n), self.instances.annotated

        def of_fold(i: int) -> Features:
            rest = np.setdiff1d(everything, fold_rows[i], assume_unique=True)
            seen = HeldOut(rest, nested[i][rest])
            calibration = calibrate(*ComparedCells(seen, task.labels, task.frequency).of_labels(annotated))
            return stack(features, nested[i], scale, calibration)

        return of_fold


@dataclass(frozen=True)
class _Learned:
    """What the predictions of a level say."""

    compared: ComparedCells
    counted: BinnedCells
    calibration: AnyCalibration | None  # what makes probabilities of its predictions


class Stack:
    """Levels, in the order in which they are learned.

    `annotated`: the labels that are annotated somewhere.
    `positives`: int, shape (q,): how many instances have each label.
    `calibrations`: what makes probabilities of the predictions of each level but the last.
    `level_f1`: micro-F1 to expect on complete labels of each level at its best pooled threshold, also of one that was
    dropped.
    """

    def __init__(self, annotated: np.ndarray, positives: np.ndarray) -> None:
        self._annotated, self._positives = annotated, positives
        self.models: list[LinearModel] = []
        self.calibrations: list[Calibration | None] = []
        self.level_f1: list[float] = []
        self._learned: list[_Learned] = []  # the last one, and the one below where it may take its place

    def add(self, model: LinearModel, compared: ComparedCells) -> None:
        """Put a level on top, by its predictions of instances that it has not seen."""
        made_by, is_dense = compared.held_out.made_by, isinstance(compared.held_out.probabilities, np.ndarray)
        of_labels = self._annotated if made_by is None else np.arange(len(self._positives))
        counted = BinnedCells.of(*compared.of_labels(of_labels), made_by=made_by)
        calibration = calibrate_strata(counted if is_dense else counted.kept(), self._positives)
        _, f1 = best_threshold(counted, calibration)
        self.models.append(model)
        self.level_f1.append(min(f1, 1.0))  # an estimate by few labels may exceed it
        self._learned.append(_Learned(compared, counted, calibration))

    def calibrate_features(self) -> Calibration | None:
        """Return what makes features of the next level of the predictions of the last one.

        Of many labels, predictions are features as they are.
        """
        is_dense = isinstance(self.held_out.probabilities, np.ndarray)
        self.calibrations.append(calibrate_binned(self._learned[-1].counted) if is_dense else None)
        return self.calibrations[-1]

    def forget(self) -> None:
        """Keep the levels so far, whatever the next one is worth: what they were compared by leaves the memory."""
        self._learned.clear()

    def drop_idle_level(self) -> None:
        """Leave out the last level where the one below is worth more, and was not forgotten."""
        if len(self._learned) > 1 and self.level_f1[-1] < self.level_f1[-2]:
            for of_levels in (self._learned, self.models, self.calibrations):
                of_levels.pop()

    def decide(self, criterion: str | float, calibrated: bool = True) -> Decision:
        """Make the predictions of the last level probabilities, and choose thresholds by them."""
        last = self._learned[-1]
        self._learned = [last]
        calibration = last.calibration if calibrated else None
        threshold, _ = best_threshold(last.counted, calibration)
        return decide(last.compared, threshold, criterion, self._annotated, calibration)

    @property
    def held_out(self) -> HeldOut:
        """Return the predictions of the last level, which thresholds are chosen by."""
        return self._learned[-1].compared.held_out

    def model(self, decision: Decision, scale: float, top: Top | None, columns: Columns | None) -> StackedModel:
        """Return the model; arguments as of `StackedModel`."""
        calibrations = (*self.calibrations, decision.calibration)
        return StackedModel(
            tuple(self.models), scale, decision.thresholds, calibrations=calibrations, top=top, columns=columns
        )
