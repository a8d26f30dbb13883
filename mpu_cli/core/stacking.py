"""The stacked model of Kong et al. 2014, Section 2.2, with the names used in its two figures.

Learning (`train`), from features x^(0) = x and annotated labels s:

    estimate c, choose C and eta0
    for l = 0, ..., L:
        learn f^(l) on (x^(l), s)
        y^(l) = predictions of x^(l) by cross-validation
        x^(l+1) = (x^(l), y^(l))
    calibrate y^(L), choose thresholds

Cross-validation (`plan` and `predict_out_of_fold`, in `core.validation`), of instances D:

    deal D into folds D^1, ..., D^m
    for j = 1, ..., m:
        learn f^j on D - D^j
        y = f^j(x) for x in D^j

Inference (`StackedModel.predictions`): y^(l) = f^(l)(x^(l)) and x^(l+1) = (x^(l), y^(l)), level by level. This is how
label correlations are used. Predictions used as features are calibrated and multiplied by a scale.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, hstack

from mpu_cli.core import many_labels, validation
from mpu_cli.core.calibration import (
    AnyCalibration,
    BinnedCells,
    Calibration,
    HeldOut,
    StratifiedCalibration,
    calibrate,
    calibrate_binned,
    calibrate_strata,
)
from mpu_cli.core.features import Columns, Features, RbfFeatures, Scaling, with_width
from mpu_cli.core.linear_model import LARGEST_SUM, LinearModel
from mpu_cli.core.options import PU_F1, Options
from mpu_cli.core.predictions import (
    FEW_LABELS,
    LEAST,
    Predictions,
    Top,
    as_features,
    blocks,
    count_positives,
    dense,
    refuse_labels_of_one,
    refuse_too_large,
)
from mpu_cli.core.problem import Problem
from mpu_cli.core.selection import HyperParameters, TrainingResult, choose_features, choose_hyper_parameters
from mpu_cli.core.sgd import LearningTask, Split
from mpu_cli.core.side_information import Prior
from mpu_cli.core.thresholds import best_threshold, decide
from mpu_cli.errors import OverflowingError
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# The number of levels that are learned if the number of levels is chosen automatically.
MOST_AUTOMATIC_LEVELS = 2
# Weight of a level's predictions as features of the next level, relative to the length of instances.
STACK_SCALE = 0.3


def train(
    problem: Problem, options: Options, run: Run = DEFAULT_RUN, *, hold_out_all: bool = False, calibrated: bool = True
) -> tuple["StackedModel", TrainingResult]:
    """Learn a stacked model of all labels, on one machine.

    `problem`: q >= 1 labels, at least one of them annotated. Estimates are made from the annotated ones.
    `hold_out_all`: predict all instances out of fold at the last level too, and not only as many as its thresholds
    need.
    `calibrated`: turn the predictions of the last level into probabilities.
    Raises DataError (c or the verified labels do not fit the labels, c cannot be estimated from the data, or most
    labels occur in one instance only), TooLargeError (the weights would not fit in memory), OverflowingError (weights
    or scores would exceed the range of float32).
    """
    if not options.uses_label_features:
        problem = replace(problem, label_features=None)
    refuse_labels_of_one(problem.labels)
    instances, chosen = choose_features(problem, options, run)
    n, q = instances.labels.shape
    is_automatic, n_levels = options.levels is None, options.levels or MOST_AUTOMATIC_LEVELS
    refuse_too_large(instances.features.width, q, n_levels)

    chosen = chosen or choose_hyper_parameters(instances, options, run)  # with c
    x, s, frequency = instances.features, instances.labels, chosen.estimates.frequency(instances)
    top = None if q <= FEW_LABELS else Top.enough_for(np.diff(s.indptr), q, float(chosen.c.mean()))
    if is_automatic and top is not None and chosen.settings.prior:
        n_levels = 1  # for rare labels, names are more informative than other labels
    prior = None
    if chosen.settings.prior and instances.label_features is not None:
        prior = Prior.of(x, instances.label_features, None if q <= FEW_LABELS else frequency.positives(s))
    task = LearningTask(x, s, frequency, chosen.settings, run, prior=prior, top=top, prune=chosen.prune)
    if q > FEW_LABELS and n >= many_labels.FEWEST_INSTANCES:
        with run.step("finding instances for each label"):
            task = replace(task, negatives=many_labels.sample_negatives(task))
    scale = scale_of_predictions(x.mean_squared_norm())
    learned = Stack(np.flatnonzero(instances.annotations), count_positives(task.positives), scale)
    folds = validation.deal(n, chosen.folds, run.seed, instances.kin)
    for number in range(n_levels):  # the paper's l = 0, ..., L
        below = task
        if number:
            predictions = learned.held_out.probabilities
            extended = with_predictions(task.features, predictions, scale, learned.calibration_of_features)
            task = task.above(extended, predictions)
        # With few instances, all were already predicted out of fold when C was chosen, and none are held out now.
        predicted = None if number else chosen.held_out
        enough = n if number < n_levels - 1 else validation.enough_at_last(instances, options, hold_out_all)
        # The models in `whole`, whose mean is the level, may predict held-out rows; if not, models by `fold_rows` do.
        whole, fold_rows = validation.plan(task, 0 if predicted else enough, folds, instances.kin)
        features_of = None  # the same features, whichever fold is held out
        if number == 1 and fold_rows:
            features_of = _nested_features(below, learned, folds, len(fold_rows))
        is_nested = features_of is not None  # otherwise, the F1 of the level is too high to compare
        level, held_out = _train_level(whole, fold_rows, number, features_of)
        learned.add(level, predicted or held_out, is_optional=is_automatic and is_nested)
    with run.step("choosing thresholds"):
        model, result = learned.finish(chosen, options.threshold, calibrated)
    model = replace(model, top=top, columns=instances.columns, rbf=instances.rbf)
    result = replace(result, kin=instances.kin)
    if instances.scaling is None:
        return model, result
    return model.unscaled(instances.scaling), replace(result, scaling=instances.scaling.name)


def scale_of_predictions(mean_squared_norm: float) -> float:
    """Return the factor for a level's predictions as features of the next level."""
    scale = float(STACK_SCALE * np.sqrt(mean_squared_norm))
    if scale > LARGEST_SUM:
        raise OverflowingError
    return scale


def _train_level(
    whole: list[Split], fold_rows: list[np.ndarray], number: int, features_of: Callable[[int], Features] | None
) -> tuple[LinearModel, HeldOut]:
    """Train a level, as planned, on all instances, and predict those held out by models that have not seen them."""
    task = whole[0].task
    with task.run.step(f"learning level {number}", len(whole) * len(task.blocks())) as tick:
        model, held_out = validation.train_splits(whole, tick)
    if fold_rows:
        with task.run.step(f"predicting level {number} out of fold", len(fold_rows)) as tick:
            held_out = validation.predict_out_of_fold(task, fold_rows, tick, features_of)
    if task.settings.prior:  # with a prior, models also predict labels whose annotations they have not seen
        made_by = validation.source_models(task, fold_rows or [split.held_out for split in whole])
        held_out = replace(held_out, made_by=made_by)
    return model, held_out


def _nested_features(
    task: LearningTask, learned: "Stack", folds: list[np.ndarray], outer: int
) -> Callable[[int], Features] | None:
    """Predict level 0 by nested cross-validation; return a function that maps a held-out fold to level 1's features.

    With many labels or few folds, this returns None: the features are the same for all folds.

    `task`, `learned`: level 0, as it was learned.
    `outer`: how many of the folds level 1 holds out.
    """
    out_of_fold = learned.held_out.probabilities
    if not (isinstance(out_of_fold, np.ndarray) and len(folds) >= validation.FEWEST_FOLDS):
        return None
    nested = validation.predict_nested(task, folds, outer, out_of_fold)

    def of_fold(i: int) -> Features:
        rest = validation.without(folds[i], len(task))
        seen = HeldOut(nested[i][rest], task.labels[rest], task.frequency.rows(rest))
        calibration = calibrate(seen.of_labels(learned.annotated))
        return with_predictions(task.features, nested[i], learned.scale, calibration)

    return of_fold


class Stack:
    """Levels, in the order in which they are learned.

    `annotated`: the labels that are annotated in at least one instance.
    `positives`: int, shape (q,): the number of instances with each label.
    `scale`: the factor for predictions as features of the next level.
    `held_out`: predictions of the last level for instances that its models have not seen.
    `calibration_of_features`: of these as features of the next level; None with many labels.
    """

    held_out: HeldOut
    calibration_of_features: Calibration | None
    _calibration: AnyCalibration | None  # turns `held_out` into probabilities

    def __init__(self, annotated: np.ndarray, positives: np.ndarray, scale: float) -> None:
        self.annotated, self._positives, self.scale = annotated, positives, scale
        # Each level, with its `held_out` in counts, and its `calibration_of_features`
        self._levels: list[tuple[LinearModel, BinnedCells, Calibration | None]] = []
        # Expected micro-F1 of each level on complete labels, at its best pooled threshold, including a dropped level
        self._f1_by_level: list[float] = []

    def add(self, model: LinearModel, held_out: HeldOut, is_optional: bool = False) -> None:
        """Add a level; drop it at once if it `is_optional`, and the level below has a higher F1."""
        is_dense = isinstance(held_out.probabilities, np.ndarray)
        binned = BinnedCells.of(held_out.of_labels(self.annotated) if held_out.made_by is None else held_out)
        calibration = calibrate_strata(binned if is_dense else binned.kept(), self._positives)
        _, f1 = best_threshold(binned, calibration)
        self._f1_by_level.append(min(f1, 1.0))  # an estimate from few labels may exceed 1
        if not (is_optional and self._f1_by_level[-1] < self._f1_by_level[-2]):
            self.calibration_of_features = calibrate_binned(binned) if is_dense else None
            self._levels.append((model, binned, self.calibration_of_features))
            self.held_out, self._calibration = held_out, calibration

    def finish(
        self, chosen: HyperParameters, criterion: str | float, calibrated: bool = True
    ) -> tuple["StackedModel", TrainingResult]:
        """Turn the predictions of the last level into probabilities, and choose thresholds by them."""
        held_out, calibration = self.held_out, self._calibration if calibrated else None
        models, binned, of_features = zip(*self._levels, strict=True)
        thresholds, expected = decide(held_out, binned[-1], criterion, self.annotated, calibration)
        if criterion == PU_F1:  # the exact F1 replaces the one from counts
            self._f1_by_level[len(models) - 1] = expected.f1
        model = StackedModel(models, self.scale, thresholds, (*of_features[:-1], calibration))
        interval = expected.interval(chosen.estimates.range_of_c)
        return model, TrainingResult(
            chosen=chosen, level_f1=self._f1_by_level, expected_f1=expected.f1, f1_interval=interval, held_out=held_out
        )


@dataclass(frozen=True)
class StackedModel:
    """Levels that are applied in turn, and a decision threshold for each label."""

    # Level l has weights of shape (D' + l q, q), where D' of the D features have weights
    levels: tuple[LinearModel, ...]
    scale: float  # the factor for probabilities that are used as features
    thresholds: np.ndarray  # float32, shape (q,): a label is predicted if its probability is at least its threshold
    # The calibration of each level; None, or an empty tuple: predictions are used as probabilities unchanged. Only the
    # calibration of the last level may be in strata.
    calibrations: tuple[AnyCalibration | None, ...] = ()
    top: Top | None = None  # which predictions of a level are kept, with many labels; None: all
    columns: Columns | None = None  # the features that have weights; None: all
    rbf: RbfFeatures | None = None  # computes the features of level 0 from an instance's own; None: they are the same

    @property
    def calibration(self) -> AnyCalibration | None:
        """Return the calibration of the last level; None if absent."""
        return self.calibrations[-1] if self.calibrations else None

    @property
    def n_features(self) -> int:
        """Number of features D of an instance."""
        if self.rbf is not None:
            return self.rbf.width
        return self.levels[0].weights.shape[0] if self.columns is None else self.columns.width

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return Pr(y^k = 1 | x) from the last level; with many labels, 0 unless among the instance's largest.

        `matrix`: csr_array, shape (n, any), float32: features; columns beyond the model's are ignored.
        Returns: float32, shape (n, q).
        """
        return dense(self.predictions(matrix, run))

    def predictions(self, matrix: csr_array, run: Run = DEFAULT_RUN, most: int | None = None) -> Predictions:
        """Return the same as an array, or, with many labels, the largest ones of each instance as a sparse matrix.

        `most`: how many per instance, however improbable they are. Default: as many as `top` keeps.
        """
        if self.rbf is not None:
            matrix = self.rbf.of(matrix, run)
        matrix = matrix if self.columns is None else self.columns.of(matrix)
        features = Features.of(with_width(matrix, self.levels[0].weights.shape[0]))
        kept = self.top if self.top is None or most is None else Top(most, LEAST)
        strata = self.calibration.strata if isinstance(self.calibration, StratifiedCalibration) else None
        predictions: Predictions | None = None
        for number, level in enumerate(self.levels, 1):
            if predictions is not None:
                features = with_predictions(features, predictions, self.scale)
            top, within = (self.top, None) if number < len(self.levels) else (kept, strata)
            predictions = level.probabilities(features, run) if top is None else level.top(features, top, run, within)
            if self.calibrations and (calibration := self.calibrations[number - 1]) is not None:
                calibration.apply(predictions)
        assert predictions is not None
        if kept is None or isinstance(predictions, np.ndarray) or strata is None:
            return predictions
        return kept.of_sparse(predictions)

    def unscaled(self, scaling: Scaling) -> "StackedModel":
        """Convert a model of scaled features to a model of the unscaled features."""
        scale = scale_of_predictions(scaling.mean_squared_norm)
        levels = tuple(level.unscaled(scaling, self.scale / scale) for level in self.levels)
        return replace(self, levels=levels, scale=scale)


def with_predictions(
    features: Features, predictions: Predictions, scale: float, calibration: Calibration | None = None
) -> Features:
    """Return x^(l) = (x^(l-1), scale * yhat^(l-1)). Dense predictions are calibrated; sparse ones are not."""
    if isinstance(predictions, np.ndarray):
        extended = np.hstack([features.dense, predictions])
        for _, _, added in blocks(extended[:, -predictions.shape[1] :]):
            np.multiply(added if calibration is None else calibration(added), np.float32(scale), out=added)
        return Features(features.sparse, extended)
    kept = as_features(predictions)
    kept.data *= np.float32(scale)
    both = csr_array(hstack([features.as_sparse(), kept], format="csr"))
    return Features(both, np.empty((len(features), 0), np.float32))
