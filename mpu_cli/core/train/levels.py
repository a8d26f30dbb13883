"""Levels of the stack: a model of all instances, predictions of instances that it has not seen, and what these say."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core import parts
from mpu_cli.core.data.features import Features
from mpu_cli.core.data.predictions import HeldOut, Predictions, SourceModels, Top
from mpu_cli.core.data.verified_labels import joined_verified
from mpu_cli.core.frequency.label_frequency import LabelFrequency
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
from mpu_cli.core.model.stacking import LinearModel, stack
from mpu_cli.core.model.thresholds import ComparedCells, Decision, best_threshold, decide
from mpu_cli.core.parts import PartRows
from mpu_cli.core.select.hyper_parameters import HyperParameters
from mpu_cli.core.validation import Chain, Plan, Selection, deal, default_folds, leading
from mpu_cli.runtime.parallel import Executor, Handle, reduced
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.steps import Step


@dataclass(frozen=True, kw_only=True)
class Level(ABC):
    """How a level is learned, wherever the instances are; subclasses say by whom."""

    instances: Instances
    parts: Sequence[Handle]  # of `parts.PartRows`, as the level learns from them
    chosen: HyperParameters
    run: Run  # observes every step
    top: Top | None = None  # which predictions are kept, where labels are many; None: all
    number: int = 0

    @property
    def executor(self) -> Executor:
        """Where units of work run."""
        return self.instances.executor

    @property
    def is_honest(self) -> bool:
        """Whether its expected F1 is unbiased, so that it can be compared with the level below."""
        return False

    @property
    def is_guided(self) -> bool:
        """Whether something besides annotations teaches labels: then it matters how many of them a model has seen."""
        return bool(self.chosen.settings.prior)

    def plan(self, enough: int) -> Plan:
        """Return which models are learned, so that enough instances are predicted."""
        return Plan.of(
            len(self.instances),
            enough,
            self.chosen.settings,
            self.chosen.folds,
            many=self.top is not None,
        )

    @abstractmethod
    def learn(self, enough: int) -> tuple[LinearModel, list[Handle]]:
        """Learn the level, and predict at least `enough` instances by models that have not seen them.

        Returns: `held_out`: handles of a `HeldOut` of each part.
        """

    def above(self, held_out: list[Handle], calibration: Calibration | None, scale: float, enough: int) -> Self:
        """Return the next level, which learns from the predictions of this one, of all instances, too.

        Probabilities, which the calibration makes of them, are multiplied by the scale as features. The next level is
        to predict `enough` instances.
        """
        return replace(self, parts=self.each(parts.stacked, held_out, calibration, scale), number=self.number + 1)

    @property
    def unit_run(self) -> Run:
        """What units of work run with."""
        return self.run.on_a_worker()

    def each(self, unit: Callable[..., Any], held_out: Sequence[Handle], *arguments: object) -> list[Handle]:
        """Have a unit run on each part and what was predicted of it."""
        both = zip(self.parts, held_out, strict=True)
        return [self.executor.submit(unit, part, of_part, *arguments) for part, of_part in both]

    def count(self, held_out: list[Handle]) -> BinnedCells:
        """Count the cells of all parts by their predictions."""
        counted = self.each(parts.count_cells, held_out, self.chosen.rates, self.instances.annotated)
        return self.executor.gather([reduced(self.executor, add, counted)])[0]

    def fetch(self, held_out: list[Handle]) -> ComparedCells:
        """Return held-out predictions, and what they are compared with."""
        fetched: list[HeldOut] = self.executor.gather(held_out)
        compared = self.each(parts.compared, held_out, self.chosen.rates)
        labels, frequencies = zip(*self.executor.gather(compared), strict=True)
        together = csr_array(vstack(labels, format="csr"))
        of_instances = [one.of_instances for one in frequencies if one.of_instances is not None]
        frequency = LabelFrequency(
            self.chosen.rates,
            joined_verified([one.verified for one in frequencies]),
            np.concatenate(of_instances) if of_instances else None,
        )
        predictions = _one_after_another([of_part.probabilities for of_part in fetched])
        made_by = SourceModels.joined([of_part.made_by for of_part in fetched if of_part.made_by is not None])
        return ComparedCells(HeldOut(slice(None), predictions, made_by), together, frequency)


def _one_after_another(predictions: list[Predictions]) -> Predictions:
    if not isinstance(predictions[0], np.ndarray):
        return csr_array(vstack(predictions, format="csr"))
    return np.concatenate(predictions)


@dataclass(frozen=True, kw_only=True)
class OnePart(Level):
    """A level that threads of this process learn from all instances."""

    predicted: HeldOut | None = None  # predictions of all instances that are there already
    # Gives the features of the instances where a fold is held out; None: they are the same for all folds
    features_of: Callable[[int], Features] | None = None

    @property
    def unit_run(self) -> Run:
        """Units have all threads."""
        return self.run

    @property
    def is_honest(self) -> bool:
        """Whether the features of each fold know nothing of it."""
        return self.features_of is not None

    @property
    def part(self) -> PartRows:
        """The instances."""
        return self.parts[0]

    @cached_property
    def task(self) -> LearningTask:
        """What all models of the level share."""
        part, chosen = self.part, self.chosen
        frequency = part.frequency(chosen.rates)
        return LearningTask(
            part.features, part.labels, frequency, chosen.settings, self.run, part.side, self.top, chosen.prune
        )

    def learn(self, enough: int) -> tuple[LinearModel, list[Handle]]:
        """Learn the level; see `Level`."""
        plan, name = self.plan(enough), f"level {self.number}"
        if self.predicted is not None:
            plan = replace(plan, whole=Plan.cross_validation(1, 0).whole, folds=())
        learned = self._whole(plan, name)
        if self.predicted is not None:
            return learned.model, [self.predicted]
        if not plan.folds:
            return learned.model, [self._with_source_models(learned.held_out, plan.whole)]
        features_of = self.features_of or (lambda _: self.part.features)
        rows = [self.part.rows(chain.predicted, self.run.seed) for chain in plan.folds if chain.predicted is not None]
        with self.run.step(f"{name}, out of fold", len(rows)) as tick:
            held_out = predict_out_of_fold(self.task, rows, features_of, tick)
        return learned.model, [self._with_source_models(held_out, plan.folds)]

    def _with_source_models(self, held_out: HeldOut, chains: Sequence[Chain[Selection]]) -> HeldOut:
        """Return predictions by chains, with what each had learned from when it predicted."""
        if not self.is_guided:
            return held_out
        of_part = [self.part.chain(chain, self.run.seed) for chain in chains]
        predicted = [chain.predicted for chain in of_part if chain.predicted is not None]
        learned = [chain.learned[0] for chain in of_part]
        return replace(held_out, made_by=SourceModels.learned(predicted, learned, self.part.positives))

    def _whole(self, plan: Plan, name: str) -> Learned:
        """Learn the model of all instances, with what it predicts in passing."""
        chains = [self.part.chain(chain, self.run.seed) for chain in plan.whole]
        with self.run.step(name, len(chains) * len(self.task.blocks())) as tick:
            return learn(self.task, chains, plan.larger_steps, tick)

    def above(self, held_out: list[Handle], calibration: Calibration | None, scale: float, enough: int) -> "OnePart":
        """Return the next level; see `Level`."""
        above = super().above(held_out, calibration, scale, enough)
        features_of = None
        if not self.number and not above.plan(enough).is_progressive:
            features_of = self._features_without(held_out[0].probabilities, enough, scale)
        return replace(above, predicted=None, features_of=features_of)

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
        fold_rows = deal(n, self.chosen.folds or default_folds(n), self.run.seed)
        if not is_worthwhile(q, len(fold_rows)):
            return None
        task, features = self.task, self.part.features
        nested = self._nested(fold_rows, leading(fold_rows, enough), out_of_fold)
        everything, annotated = np.arange(n), self.instances.annotated

        def of_fold(i: int) -> Features:
            rest = np.setdiff1d(everything, fold_rows[i], assume_unique=True)
            seen = HeldOut(rest, nested[i][rest])
            calibration = calibrate(*ComparedCells(seen, task.labels, task.frequency).of_labels(annotated))
            return stack(features, nested[i], scale, calibration)

        return of_fold

    def _nested(self, fold_rows: list[np.ndarray], outer: int, out_of_fold: np.ndarray) -> list[np.ndarray]:
        """Predict all instances by models without two folds."""
        step = Step.WITHOUT_TWO_FOLDS
        with self.run.step(step, len(pairs_of(len(fold_rows), outer))) as tick:
            return predict_nested(self.task, fold_rows, outer, out_of_fold, tick)

    def fetch(self, held_out: list[Handle]) -> ComparedCells:
        """Return held-out predictions, and what they are compared with, without a copy."""
        return ComparedCells(held_out[0], self.task.labels, self.task.frequency)


@dataclass(frozen=True)
class _Learned:
    """The last level, which may become the last of the model."""

    level: Level
    counted: BinnedCells
    calibration: AnyCalibration | None  # what makes probabilities of its predictions
    held_out: list[Handle]


class Stack:
    """Levels, in the order in which they are learned.

    `may_drop`: whether a level that is worth less than the one below may be left out.
    `calibrations`: what makes probabilities of the predictions of each level but the last.
    `level_f1`: micro-F1 to expect on complete labels of each level at its best pooled threshold, also of one that was
    dropped.
    """

    def __init__(self, may_drop: bool) -> None:
        self._may_drop = may_drop
        self.models: list[LinearModel] = []
        self.calibrations: list[Calibration | None] = []
        self.level_f1: list[float] = []
        self._learned: list[_Learned] = []  # the last one, and the one below where it may take its place
        self._compared: ComparedCells | None = None

    def add(self, level: Level, model: LinearModel, held_out: list[Handle]) -> None:
        """Put a level on top."""
        counted = level.count(held_out)
        candidates = counted if level.top is None else counted.kept()
        calibration = calibrate_strata(candidates, level.instances.positives_of_labels())
        _, f1 = best_threshold(counted, calibration)
        self.models.append(model)
        self.level_f1.append(min(f1, 1.0))  # an estimate by few labels may exceed it
        self._learned.append(_Learned(level, counted, calibration, held_out))

    def next_level(self, scale: float, enough: int) -> Level:
        """Return the next level, which learns from the calibrated predictions of the last one too.

        Of many labels, predictions are features as they are.
        """
        last = self._learned[-1]
        calibration = None
        if last.level.top is None:
            calibration = calibrate_binned(last.counted)
        self.calibrations.append(calibration)
        above = last.level.above(last.held_out, calibration, scale, enough)
        if not (self._may_drop and above.is_honest):
            self._learned.clear()  # and what they hold in memory
        return above

    def drop_idle_level(self) -> None:
        """Leave out the last level where the one below is worth more, and that can be compared."""
        if len(self._learned) > 1 and self.level_f1[-1] < self.level_f1[-2]:
            for of_levels in (self._learned, self.models, self.calibrations):
                of_levels.pop()

    def decide(self, criterion: str | float, calibrated: bool) -> Decision:
        """Make the predictions of the last level probabilities, and choose thresholds."""
        last = self._learned[-1]
        self._learned.clear()
        self._compared = last.level.fetch(last.held_out)
        calibration = last.calibration if calibrated else None
        threshold, _ = best_threshold(last.counted, calibration)
        return decide(self._compared, threshold, criterion, last.level.instances.annotated, calibration)

    @property
    def held_out(self) -> HeldOut:
        """Return the predictions that thresholds were chosen on."""
        if self._compared is None:
            raise ValueError("nothing is decided yet")
        return self._compared.held_out
