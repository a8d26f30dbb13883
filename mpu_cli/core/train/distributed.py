"""The algorithm of `training` on instances in parts, each of which stays where it is.

c, C and eta0 are settled on a sample, which is fetched. The levels are learned by shards (`mixing`), as a single
machine learns those of large data: two halves in one pass each, of which each predicts the other, and at the last level
one pass whose last instances are predicted before they are learned from (`halves`, `progressive`). Thresholds and
calibration come from counts. Where labels are many, groups of them are learned (`distributed_groups`). One part alone
that is learned in one pass gives the same model as `training.train`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.data.limits import refuse_too_large
from mpu_cli.core.data.overflow import LARGEST_SUM
from mpu_cli.core.data.predictions import FEW_LABELS, HeldOut, Top
from mpu_cli.core.loss import DEFAULT, LOSSES, loss_named
from mpu_cli.core.model.calibration import Calibration, calibrate_binned
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.model.thresholds import best_threshold, decide, pooled_threshold
from mpu_cli.core.options import FEW_SHARDS, Options
from mpu_cli.core.select.settling import settle
from mpu_cli.core.solver.sgd import label_blocks
from mpu_cli.core.train import parts
from mpu_cli.core.train.distributed_groups import GroupLearner
from mpu_cli.core.train.instances import FeaturesOfAll, Instances, LabelsOfAll
from mpu_cli.core.train.level_parts import LevelParts, found_of, models_of
from mpu_cli.core.train.mixing import Mixing
from mpu_cli.core.train.parts import EVERYTHING, Selection
from mpu_cli.core.train.training import MOST_AUTOMATIC_LEVELS, Report, enough_at_last
from mpu_cli.core.validate.halves import LARGER_STEPS
from mpu_cli.core.validate.validation import default_folds
from mpu_cli.errors import DataError, OverflowingError
from mpu_cli.runtime.executor import Handle
from mpu_cli.runtime.run import Run


def train_on_parts(
    instances: Instances, options: Options, run: Run, n_shards: int = FEW_SHARDS, hold_out_all: bool = False
) -> tuple[StackedModel, Report]:
    """Learn a stacked model of all labels.

    Parameters
    ----------
    instances : Instances
        More than `options.sample`, and of many labels so many that a shortlist is worthwhile; each label is annotated
        somewhere.
    options : Options
        Without known labels and label features, and, where labels are few, without pruning.
    run : Run
        Is told of every step; its journal has those that an interrupted training finished.
    n_shards : int
        Shards that learn side by side, at most as many as there are parts.
    hold_out_all : bool
        As for `training.train`.

    Returns
    -------
    StackedModel, Report
        Without columns.

    Raises
    ------
    DataError
        The loss is not learned by PU-SGD, or weights of few labels are to be dropped.
    TooLargeError, OverflowingError
        As for `training.train`.
    """
    q = len(instances.annotations)
    many = q > FEW_LABELS
    by_all = f"{len(instances):,} instances are learned by all workers"
    if not loss_named(options.loss or DEFAULT).has_step:
        able = " or ".join(loss for loss in LOSSES if loss_named(loss).has_step)
        raise DataError(f"{by_all}, with the loss {able} only; leave out {options.loss}, or use one machine")
    if options.prune and not many:
        raise DataError(f"{by_all}, which keep all weights; leave out prune, or use one machine")
    n_levels = options.levels or MOST_AUTOMATIC_LEVELS
    refuse_too_large(instances.width, q, n_levels)
    seconds: dict[str, float] = {}
    run = run.timed(seconds)
    features, annotated = FeaturesOfAll(instances), LabelsOfAll(instances)
    settled = settle(features, annotated, instances.annotations, options, run)
    scale = float(options.stack_scale * np.sqrt(features.mean_squared_norm()))
    if scale > LARGEST_SUM:
        raise OverflowingError
    top = Top.enough_for(annotated, float(settled.frequency.rates.mean()))
    given = instances, instances.parts, settled, run, min(n_shards, len(instances.parts))
    learner = _Learner(*given) if top is None else GroupLearner.at_first(LevelParts(*given), top)

    levels: list[LinearModel] = []
    calibrations: list[Calibration | None] = []
    level_f1 = []
    for level in range(n_levels - 1):
        model, predictions = learner.learn(level)
        binned = learner.count_cells(predictions)
        levels.append(model)
        level_f1.append(min(best_threshold(binned)[1], 1.0))
        calibrations.append(None if many else calibrate_binned(binned, int(instances.annotations.sum())))
        learner = learner.of_next_level(predictions, calibrations[-1], scale)
    model, held_out, labels = learner.learn_last(n_levels - 1, enough_at_last(annotated, options, hold_out_all))
    levels.append(model)
    threshold, f1 = pooled_threshold(held_out.probabilities, labels, settled.frequency)
    level_f1.append(min(f1, 1.0))

    with run.step("thresholds"):
        every = np.arange(q)
        chosen, f1, calibration = decide(held_out, labels, settled.frequency, threshold, options, every)
    stacked = StackedModel(tuple(levels), scale, chosen, calibrations=(*calibrations, calibration), top=top)
    return stacked, Report.of(settled, level_f1, f1, held_out, seconds)


class _Learner(LevelParts):
    """How a level of few labels is learned."""

    def learn(self, level: int) -> tuple[LinearModel, list[Handle]]:
        """Learn a level; return its model, and predictions of each part by models that have not seen what they predict.

        The mean of the models of two halves is the model of all, as in `halves`.
        """
        settings = self.settled.settings
        n_folds = self.settled.folds or default_folds(len(self.instances))
        by_halves = settings.epochs == 1 and n_folds == 2
        if by_halves:
            settings = replace(settings, step=LARGER_STEPS * settings.step)
        selected = [self.instances.count(Selection(n_folds, fold), self.run) for fold in range(n_folds)]
        if not by_halves:
            selected.append(self.instances.count(EVERYTHING, self.run))

        def learn(mixing: Mixing) -> list[Handle]:
            models = [mixing.learn(self.level_parts, some, settings, len(some)) for some in selected]
            return [*models, mixing.mean(models, [1] * n_folds)] if by_halves else models

        *of_folds, whole = self._learned(level, len(selected) * self.rounds, learn)
        executor, run = self.instances.executor, self.run.on_a_worker()
        predictions = [executor.submit(parts.predict_out_of_fold, part, of_folds, run) for part in self.level_parts]
        return executor.gather([whole])[0], predictions

    def learn_last(self, level: int, enough: int) -> tuple[LinearModel, HeldOut, csr_array]:
        """Learn the last level; return its model, held-out predictions of so many instances, and their annotations.

        Where one pass will do, the last instances are predicted before they are learned from, as in `progressive`.
        """
        n, executor = len(self.instances), self.instances.executor
        if self.settled.settings.epochs != 1 or n < 2 * enough:
            model, predictions = self.learn(level)
            labels = [executor.submit(parts.labels_of, part) for part in self.level_parts]
            return model, *self._held_out(predictions, labels)
        first = self.instances.count(Selection(n // enough), self.run)
        last = self.instances.count(Selection(n // enough, inside=True), self.run)

        def learn(mixing: Mixing) -> list[Handle]:
            begun = mixing.learn(self.level_parts, first, self.settled.settings, n)
            return [begun, mixing.go_on(self.level_parts, last, self.settled.settings, begun, len(first))]

        begun, whole = self._learned(level, self.rounds + 1, learn)
        predicted = [
            executor.submit(parts.predict_selected, part, last.selection, begun, self.run.on_a_worker())
            for part in self.level_parts
        ]
        labels = [executor.submit(parts.labels_of, part, last.selection, self.run.seed) for part in self.level_parts]
        return executor.gather([whole])[0], *self._held_out(predicted, labels)

    def _held_out(self, predictions: list[Handle], labels: list[Handle]) -> tuple[HeldOut, csr_array]:
        gather = self.instances.executor.gather
        found = gather(predictions)
        into = self.run.empty((sum(map(len, found)), len(self.instances.annotations)), np.float32)
        np.concatenate(found, out=into)
        return HeldOut(slice(None), into), csr_array(vstack(gather(labels), format="csr"))

    def _learned(self, level: int, passes: int, learn: Callable[[Mixing], list[Handle]]) -> list[Handle]:
        """Return the models of a level, which are learned in so many passes over the parts, or kept."""
        executor, step = self.instances.executor, f"level {level}"
        blocks = label_blocks(len(self.instances.annotations), self.run)
        with self.run.step(step, passes * len(self.level_parts) * len(blocks)) as tick:
            found = self.run.journal.kept(step)
            if found is not None:
                return [executor.keep(model) for model in models_of(found)]
            submitted: list[Handle] = []
            run, frequency = self.run.on_a_worker(), self.settled.frequency
            models = learn(Mixing(executor, frequency, self.n_shards, self.rounds, run, submitted.append))
            executor.wait(submitted, tick)
            self.run.journal.keep(step, lambda: found_of(executor.gather(models)))
        return models
