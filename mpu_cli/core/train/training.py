"""From annotated instances to a stacked model: the algorithm figure of Kong et al. 2014, Section 3.

estimate c -> choose C and eta0 -> for each level: train, predict out of fold, append -> calibrate -> thresholds
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import Columns, Features, with_width
from mpu_cli.core.data.limits import refuse_too_large
from mpu_cli.core.data.overflow import LARGEST_SUM
from mpu_cli.core.data.predictions import FEW_LABELS, HeldOut, Top
from mpu_cli.core.frequency.label_frequency import count_annotations
from mpu_cli.core.frequency.propensity import FrequencyEstimate
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.model import thresholds
from mpu_cli.core.model.calibration import Calibration, calibrate
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.model.stacking import StackedModel, calibrated
from mpu_cli.core.model.thresholds import decide, evidence
from mpu_cli.core.options import MACRO_F1, PER_LABEL, Options
from mpu_cli.core.select.settling import Settled, settle
from mpu_cli.core.select.warm_start import WarmStart
from mpu_cli.core.side.guidance import Guidance
from mpu_cli.core.side.prior import Prior
from mpu_cli.core.side.shortlist import Shortlist, is_worthwhile
from mpu_cli.core.solver.sgd import Settings
from mpu_cli.core.train.levels import LevelLearner
from mpu_cli.core.train.make_shortlist import make_shortlist
from mpu_cli.errors import OverflowingError
from mpu_cli.runtime.journal import Found
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Of which the better is taken.
MOST_AUTOMATIC_LEVELS = 2
# Of many labels, annotations that tell the threshold of all of them.
_ENOUGH_ANNOTATIONS = 5_000


@dataclass(frozen=True)
class Report:
    """What training found.

    Attributes
    ----------
    c : ndarray, shape (q,)
        Label frequency of each label, where nothing else is known.
    estimate : FrequencyEstimate or None
        From the annotations alone; None when c was given, or when a review leaves no annotation to estimate it from.
    reviewed : ReviewedFrequency or None
        From the instances that were drawn at random and completely reviewed, where there are any: c comes from here.
    settings : Settings
        Of the levels, with the number of epochs.
    level_f1 : list of float
        Micro-F1 to expect on complete labels of each level at its best pooled threshold: out of fold, corrected for
        the missing labels. Of levels that were tried; the model may have one less.
    expected_f1 : float
        The same for the last level at the thresholds of the model.
    held_out : HeldOut
        Out-of-fold predictions of the last level, calibrated, by which its thresholds were chosen: of all instances
        where each label gets a threshold of its own, or where all were asked for.
    seconds : dict
        Wall time of each step.
    """

    c: np.ndarray
    estimate: FrequencyEstimate | None
    reviewed: ReviewedFrequency | None
    settings: Settings
    level_f1: list[float]
    expected_f1: float
    held_out: HeldOut
    seconds: dict[str, float]

    @classmethod
    def of(
        cls, settled: Settled, level_f1: list[float], f1: float, held_out: HeldOut, seconds: dict[str, float]
    ) -> "Report":
        """Make one of what was settled before the levels were learned, and of what these have given."""
        return cls(
            settled.frequency.rates,
            settled.estimate,
            settled.reviewed,
            settled.level_settings,
            level_f1,
            min(f1, 1.0),
            held_out,
            seconds,
        )

    def warnings(self) -> list[str]:
        """Say what to know before trusting the model."""
        if self.reviewed is not None:
            warning = self.reviewed.contradiction(self.estimate)
        else:
            warning = None if self.estimate is None else self.estimate.caution
        return [] if warning is None else [warning]


def train(
    matrix: csr_array,
    labels: csr_array,
    options: Options,
    run: Run = DEFAULT_RUN,
    start: WarmStart | None = None,
    hold_out_all: bool = False,
) -> tuple[StackedModel, Report]:
    """Learn a stacked model of all labels.

    Parameters
    ----------
    matrix : csr_array, shape (n, D), float32
        Features.
    labels : csr_array of bool, shape (n, q)
        Annotated labels: q >= 1, at least one of them annotated. What is estimated is estimated from those.
    options : Options
    run : Run
        Is told of every step; its journal has those that an interrupted training of the same data and options finished.
    start : WarmStart, optional
        Begin the levels with the weights of an earlier model of as many levels, and take its C (unless given) and
        eta0. Models of folds begin cold with the default epochs: the earlier model may have seen what they hold out.
    hold_out_all : bool
        Predict all instances out of fold at the last level too, and not only as many as its thresholds need.

    Returns
    -------
    StackedModel, Report

    Raises
    ------
    DataError
        c or the known labels do not fit the labels, or there is nothing to estimate c from.
    TooLargeError
        The weights would not fit in memory.
    OverflowingError
        Weights or scores would leave the range of float32.
    """
    n, q = labels.shape
    matrix, label_features, occurring, compact = _narrowed(matrix, options)
    many = q > FEW_LABELS
    n_levels = options.levels or (MOST_AUTOMATIC_LEVELS if start is None else len(start.model.levels))
    refuse_too_large(matrix.shape[1], q, n_levels)
    seconds: dict[str, float] = {}
    run = run.timed(seconds)

    features = Features.of(matrix, empty=run.empty)
    settled = settle(features, labels, count_annotations(labels), options, run, label_features, start)
    frequency, held_out = settled.frequency, settled.held_out

    scale = float(options.stack_scale * np.sqrt(features.mean_squared_norm()))
    if scale > LARGEST_SUM:
        raise OverflowingError
    begin = None
    if start is not None:
        new = {"labels": labels, "frequency": frequency, "scale": scale}
        begin = partial(start.level, features=occurring, **new, compact=compact, many=many)
    top = Top.enough_for(labels, float(frequency.rates.mean()))
    learner = LevelLearner(
        labels,
        frequency,
        settled.settings,
        settled.level_settings,
        settled.folds,
        run,
        top,
        settled.prune,
        _guidance(features, labels, settled, label_features, run),
        begin,
    )
    levels: list[LinearModel] = []
    calibrations: list[Calibration | None] = []
    level_f1 = []
    below = None  # what was held out of the level before, where it may become the last
    for level in range(n_levels):
        is_last = level == n_levels - 1
        enough = enough_at_last(labels, options, hold_out_all) if is_last else n  # the next level needs all
        features_of = None
        if level:
            if level == 1 and not learner.can_predict_in_passing(enough):
                features_of = learner.features_without(features, held_out.probabilities, enough, scale)
            calibrations.append(None if many else calibrate(*evidence(held_out, labels, frequency)))
            predictions = calibrated(held_out.probabilities, calibrations[-1])
            learner, features = learner.of_next_level(features, predictions, scale)
            held_out = None
        model, held_out = learner.learn(level, features, enough, held_out, features_of)
        levels.append(model)
        threshold, f1 = thresholds.pooled_threshold(*evidence(held_out, labels, frequency))
        level_f1.append(min(f1, 1.0))  # an estimate by few labels may exceed it
        if options.levels is None and start is None and not is_last and not many:
            below = replace(held_out, probabilities=held_out.probabilities.copy()), threshold

    # Only where the estimates of both levels are honest.
    if below is not None and features_of is not None and level_f1[-1] < level_f1[-2]:
        (held_out, threshold), levels, calibrations = below, levels[:-1], calibrations[:-1]

    with run.step("thresholds"):
        chosen, f1, calibration = decide(held_out, labels, frequency, threshold, options)
    stacked = StackedModel(
        tuple(levels),
        scale,
        chosen,
        calibrations=(*calibrations, calibration),
        top=top,
        columns=occurring if compact else None,
    )
    return stacked, Report.of(settled, level_f1, f1, held_out, seconds)


def _narrowed(matrix: csr_array, options: Options) -> tuple[csr_array, csr_array | None, Columns, bool]:
    """Return features and label features, the columns that occur, and whether only these are left."""
    label_features = None if options.prior in ("none", 0) else options.label_features
    if label_features is not None:  # also features of labels that no instance has: others may have them
        width = max(matrix.shape[1], label_features.shape[1])
        matrix, label_features = with_width(matrix, width), with_width(label_features, width)
    occurring = Columns.occurring(matrix, *([] if label_features is None else [label_features]))
    if 2 * len(occurring.indices) >= matrix.shape[1]:
        return matrix, label_features, occurring, False
    narrow = None if label_features is None else occurring.of(label_features)
    return occurring.of(matrix), narrow, occurring, True


def _guidance(
    features: Features, labels: csr_array, settled: Settled, label_features: csr_array | None, run: Run
) -> Guidance:
    """Return what guides level 0."""
    settings = settled.settings
    prior = Prior.of(features, label_features) if settings.prior else None
    if not is_worthwhile(*labels.shape):
        return Guidance(prior)

    def make() -> Found:
        return make_shortlist(features, labels, settled.frequency, settings, settled.prune, run, prior).found()

    with run.step("shortlist"):
        return Guidance(prior, Shortlist.of_found(run.journal.take("shortlist", make)))


def enough_at_last(labels: csr_array, options: Options, hold_out_all: bool) -> int:
    """Return how many instances to predict out of fold at the last level.

    Thresholds of single labels need all. One for all labels needs no more than the settings do, of many labels fewer.
    """
    n, q = labels.shape
    if hold_out_all or options.threshold in (PER_LABEL, MACRO_F1):
        return n
    if q <= FEW_LABELS:
        return options.sample
    return min(options.sample, int(np.ceil(_ENOUGH_ANNOTATIONS * n / labels.nnz)))
