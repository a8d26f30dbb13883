"""From annotated instances to a stacked model (Kong et al. 2014, Section 2: the algorithm figure).

estimate c -> choose C and eta0 -> for each level: train, predict out of fold, append -> calibrate -> thresholds
"""

from dataclasses import dataclass, replace

import numpy as np

from mpu_cli.core.choose_features import choose_features
from mpu_cli.core.instances import Instances
from mpu_cli.core.limits import LARGEST_SUM, refuse_too_large
from mpu_cli.core.many_labels import sample_negatives
from mpu_cli.core.model.stacking import STACK_SCALE, StackedModel
from mpu_cli.core.negative_sampling import is_worthwhile
from mpu_cli.core.options import MACRO_F1, PER_LABEL, Options
from mpu_cli.core.predictions import FEW_LABELS, HeldOut, Top
from mpu_cli.core.problem import Problem
from mpu_cli.core.selection import Estimates, HyperParameters, choose_hyper_parameters
from mpu_cli.core.sgd import Settings
from mpu_cli.core.side_information import Prior, SideInformation
from mpu_cli.core.thresholds import Decision
from mpu_cli.core.train.levels import Level, Stack
from mpu_cli.errors import OverflowingError
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step

# The better one of levels 1 to this is taken.
MOST_AUTOMATIC_LEVELS = 2
# Of many labels, annotations that tell the threshold of all of them.
_ENOUGH_ANNOTATIONS = 5_000


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """What a training estimated and chose."""

    c: np.ndarray  # shape (q,): label frequency of each label, where the label is not verified
    estimates: Estimates  # where it comes from
    settings: Settings  # of the levels, with the number of epochs
    # Micro-F1 to expect on complete labels of each level at its best pooled threshold: out of fold, corrected for the
    # missing labels. Of levels that were tried; the model may have one less.
    level_f1: list[float]
    expected_f1: float  # the same for the last level at the thresholds of the model
    # Of `expected_f1`, 90 %: by the sampling of instances, and by the interval of c where c was estimated
    f1_interval: tuple[float, float]
    # Out-of-fold predictions of the last level, calibrated, that its thresholds were chosen on: of all instances
    # where each label gets a threshold of its own, or where all were asked for
    held_out: HeldOut
    seconds: dict[str, float]  # wall time of each step

    @classmethod
    def of(
        cls, chosen: HyperParameters, stack: Stack, decision: Decision, seconds: dict[str, float]
    ) -> "TrainingResult":
        """Return the result of a training whose thresholds are decided."""
        return cls(
            c=chosen.rates,
            estimates=chosen.estimates,
            settings=chosen.settings,
            level_f1=stack.level_f1,
            expected_f1=min(decision.expected.f1, 1.0),
            f1_interval=chosen.estimates.f1_interval(decision.expected),
            held_out=stack.held_out,
            seconds=seconds,
        )

    def warnings(self) -> list[str]:
        """Say what to know before trusting the model."""
        return self.estimates.warnings()


def train(
    problem: Problem,
    options: Options,
    run: Run = DEFAULT_RUN,
    *,
    hold_out_all: bool = False,
    calibrated: bool = True,
) -> tuple[StackedModel, TrainingResult]:
    """Learn a stacked model of all labels, on one machine.

    `problem`: q >= 1 labels, at least one of them annotated. What is estimated is estimated from those.
    `run`: observes every step.
    `hold_out_all`: predict all instances out of fold at the last level too, and not only as many as its thresholds
    need.
    `calibrated`: make probabilities of the predictions of the last level.
    Raises DataError (c or the verified labels do not fit the labels, or there is nothing to estimate c from),
    TooLargeError (the weights would not fit in memory), OverflowingError (weights or scores would leave the range of
    float32).
    """
    if not options.uses_label_features:
        problem = replace(problem, label_features=None)
    features = choose_features(problem, options, run)
    instances = features.instances
    n, q = instances.labels.shape
    n_levels = options.levels or MOST_AUTOMATIC_LEVELS
    refuse_too_large(instances.width, q, n_levels)
    seconds: dict[str, float] = {}
    run = run.timed(seconds)

    chosen = features.hyper_parameters or choose_hyper_parameters(instances, options, run)
    instances = instances.with_group_rates(chosen.estimates.group_rates)
    scale = scale_of_predictions(instances.features.mean_squared_norm())
    top = None if q <= FEW_LABELS else Top.enough_for(instances.label_counts(), q, float(chosen.rates.mean()))
    level = _first_level(instances, chosen, run, top)
    is_automatic = options.levels is None
    if is_automatic and top is not None and chosen.settings.prior:
        n_levels = 1  # names say more of rare labels than other labels do
    stack = Stack(instances.annotated, instances.positives_of_labels())
    for number in range(n_levels):  # the paper's l = 0, ..., L, where L = n_levels - 1
        enough = n if number < n_levels - 1 else enough_at_last(instances, options, hold_out_all)
        if number:
            level = level.above(stack.held_out.probabilities, stack.calibrate_features(), scale, enough)
            if not (is_automatic and level.is_honest):
                stack.forget()
        stack.add(*level.learn(enough))  # the model of all instances, and predictions out of fold
    stack.drop_idle_level()
    with run.step(Step.THRESHOLDS):
        decision = stack.decide(options.threshold, calibrated)
    model = stack.model(decision, scale, top, instances.columns)
    return features.model_of(model), TrainingResult.of(chosen, stack, decision, seconds)


def scale_of_predictions(mean_squared_norm: float) -> float:
    """Return what predictions of a level are multiplied by as features of the next."""
    scale = float(STACK_SCALE * np.sqrt(mean_squared_norm))
    if scale > LARGEST_SUM:
        raise OverflowingError
    return scale


def enough_at_last(instances: Instances, options: Options, hold_out_all: bool) -> int:
    """Return how many instances to predict out of fold at the last level.

    Thresholds of single labels need all. One for all labels needs no more than the settings do, of many labels fewer.
    """
    n = len(instances)
    if hold_out_all or options.threshold in (PER_LABEL, MACRO_F1):
        return n
    if len(instances.annotations) <= FEW_LABELS:
        return options.sample
    return min(options.sample, int(np.ceil(_ENOUGH_ANNOTATIONS * n / instances.annotations.sum())))


def _first_level(instances: Instances, chosen: HyperParameters, run: Run, top: Top | None) -> Level:
    """Return level 0."""
    side = _side_information(instances, chosen, run)
    # Of few instances, choosing C has predicted them all out of fold.
    return Level(instances=instances, side=side, chosen=chosen, run=run, top=top, predicted=chosen.held_out)


def _side_information(instances: Instances, chosen: HyperParameters, run: Run) -> SideInformation:
    """Return the prior and the negative sample of level 0."""
    settings, features, (n, q) = chosen.settings, instances.features, instances.labels.shape
    prior = None
    if settings.prior and instances.label_features is not None:
        prior = Prior.of(features, instances.label_features)
        if q > FEW_LABELS and not instances.positives_of_labels().all():
            prior = prior.sparing(features, instances.positives)
    if not is_worthwhile(n, q):
        return SideInformation(prior)
    frequency = instances.frequency(chosen.rates)
    with run.step(Step.SHORTLIST):
        negatives = sample_negatives(features, instances.labels, frequency, settings, chosen.prune, run, prior)
    return SideInformation(prior, negatives)
