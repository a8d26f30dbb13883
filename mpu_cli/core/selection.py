"""The choice of features, C, eta0, the prior and the weights to drop; the result of training.

Settings are chosen on a sample, by the cross-validated F1 estimated from its incomplete labels. The hill climb along C
also works for methods that solve a convex problem to convergence.
Features are the original ones, scaled ones, or those of an RBF kernel, chosen by the same estimate.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mpu_cli.core import validation
from mpu_cli.core.calibration import BinnedCells, HeldOut, calibrate_strata
from mpu_cli.core.features import SCALINGS, RbfFeatures, unevenness
from mpu_cli.core.frequency.label_frequency import is_estimated
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.loss import DEFAULT, LOSSES, loss_named
from mpu_cli.core.options import LINEAR, MACRO_F1, PU_F1, RBF, Options
from mpu_cli.core.predictions import FEW_LABELS, Block, count_positives, refuse_beyond_free
from mpu_cli.core.problem import Instances, Problem
from mpu_cli.core.sample import (
    Estimates,
    Sample,
    draw_sample,
    estimate_frequency,
    may_be_unread,
    refuse_two_frequencies,
    step_for_all,
)
from mpu_cli.core.sgd import COSTS, LearningTask, Settings, Split, default_settings, learn_labels
from mpu_cli.core.thresholds import best_threshold, estimated_macro_f1, pooled_threshold
from mpu_cli.errors import DataError, OverflowingError
from mpu_cli.runtime.run import Run

STEPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
PRIORS = (0.0, 7.5, 15.0, 30.0, 60.0)
# Many labels are sampled, and among the sampled ones, even a small prior finds the right ones: docs/choices/texts.md.
_PRIOR_OF_MANY = 15.0
# The fields of `Settings` to choose, and the order: the others depend on the instances, and these on the others.
_GRIDS = {"cost": COSTS, "eta0": STEPS, "prior": PRIORS, "labelled_only": (False, True)}
_ORDER = ("labelled_only", "cost", "eta0", "prior", "labelled_only")
# More held-out instances than this hardly change which of two settings is better.
SELECTION_SIZE = 8_000
# The number of held-out instances for choosing the weights to drop.
PRUNING_SIZE = 2_000
# A change that gains less than this is noise, and not worth another round of training; instances with labels alone are
# not learned from for less than the second, nor all, where nobody seems to have looked at the others, than the third.
WORTHWHILE, _WORTH_LABELLED_ONLY, _WORTH_ALL = 5e-4, 5e-3, 2e-2
_USUAL_SETTINGS = 7  # tried in a climb
# Dropping weights may cost this much estimated micro-F1: the next smaller cut leaves several times as many weights.
_COST_OF_PRUNING = 1e-3
# Candidate cuts, below which weights are dropped, for instances of unit length.
CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)

# What is chosen: its first item is its F1.
Found = TypeVar("Found", bound=tuple[Any, ...])


class Candidate(NamedTuple):
    """Settings, and what they predict out of fold."""

    f1: float  # estimated, at the best thresholds of the predictions
    settings: Settings
    probabilities: np.ndarray  # float32, shape (n, q): in the rows that the folds hold out


@dataclass(frozen=True)
class Trial:
    """A comparison of settings by predictions for folds from models that have not seen them."""

    task: LearningTask
    fold_rows: list[np.ndarray]  # the instances of each fold; they need not be all
    # float64, shape (q,): how many labels each label represents; None: only itself
    weights: np.ndarray | None = None

    def estimated_f1(self, predictions: np.ndarray, criterion: str | float, guided: bool) -> float:
        """Estimate the F1 of predictions (n x q) for all instances that the folds hold out.

        If models learn from label features (`guided`), micro-F1 is estimated in strata (`core.predictions`).
        """
        task, rows = self.task, np.sort(np.concatenate(self.fold_rows))
        held_out = HeldOut(predictions[rows], task.labels[rows], task.frequency.rows(rows), self.weights)
        if criterion == MACRO_F1:
            return estimated_macro_f1(held_out)
        if not guided:
            return pooled_threshold(held_out)[1]
        made_by = validation.source_models(task, self.fold_rows)
        binned = BinnedCells.of(replace(held_out, made_by=made_by))
        return best_threshold(binned, calibrate_strata(binned, count_positives(task.positives)))[1]


def choose_settings(
    trial: Trial,
    free: Collection[str] = ("cost", "eta0"),
    criterion: str | float = PU_F1,
    tick: Callable[[], None] = lambda: None,
) -> Candidate:
    """Climb along C, then along eta0, then along the prior, as long as the estimate rises.

    Before and after that, learning from instances with labels only is tried: where nobody has looked at the others,
    these say nothing.

    `trial`: the climb starts at its settings, of which the free ones are among `COSTS`, `STEPS` or `PRIORS`.
    `free`: what to choose: a subset of "cost", "eta0", "prior", "labelled_only". The other initial settings are kept.
    `criterion`: for the thresholds, as in `core.options.Options`: macro-F1, or else micro-F1 at one threshold.
    """

    def evaluate(settings: Settings) -> Candidate:
        probabilities = validation.dense_out_of_fold(replace(trial.task, settings=settings), trial.fold_rows)
        tick()
        return Candidate(trial.estimated_f1(probabilities, criterion, bool(settings.prior)), settings, probabilities)

    def changed(settings: Settings, name: str, value: Any) -> Candidate:
        return evaluate(replace(settings, **{name: value}))

    start = trial.task.settings
    best = evaluate(start)
    for name in _ORDER:
        grid = _GRIDS[name]
        if name not in free or (name == "eta0" and not loss_named(start.loss).has_step):
            continue
        if name == "eta0" and start.thin and (start.prior or "prior" in free):
            # Drawn labels compete with few others: a larger eta0, which relies more on names, looks better than it is.
            grid = tuple(eta0 for eta0 in grid if eta0 <= start.eta0)
        if name == "prior":  # compare with an F1 that is also estimated in strata
            best = best._replace(f1=trial.estimated_f1(best.probabilities, criterion, guided=True))
        worth = WORTHWHILE
        if name == "labelled_only":
            worth = _WORTH_ALL if start.labelled_only else _WORTH_LABELLED_ONLY
        best = climb(partial(changed, best.settings, name), grid, getattr(best.settings, name), best, worth)
    return best


def choose_pruning(trial: Trial) -> float:
    """Choose the cut below which weights are dropped: the largest that hardly lowers the estimated micro-F1.

    The result is an absolute value: one of `CUTS`, divided by the root mean square length of the instances.
    """
    task, folds = trial.task, [validation.holding_out(trial.task, rows) for rows in trial.fold_rows]
    cuts = np.array(CUTS) / np.sqrt(task.features.mean_squared_norm(*folds[0].training))
    probabilities = [np.empty(task.labels.shape, np.float32) for _ in cuts]

    def try_block(split: Split, block: Block, models: list[LinearModel]) -> None:
        for cut, into in zip(cuts, probabilities, strict=True):
            validation.predict(models[0].pruned(float(cut)), task.features, split.held_out, block, into, task.run)

    for _ in learn_labels(folds, try_block, task.run):
        pass
    f1 = [trial.estimated_f1(of_cut, PU_F1, bool(task.settings.prior)) for of_cut in probabilities]
    return float(cuts[np.flatnonzero(np.array(f1) > f1[0] - _COST_OF_PRUNING)[-1]])


def climb(
    evaluate: Callable[[float], Found], grid: tuple[float, ...], start: float, first: Found, worth: float = WORTHWHILE
) -> Found:
    """Search along a grid, up from a start or else down, as long as the F1 improves.

    `evaluate`: maps a grid value to a tuple of its F1 and what has this F1.
    `start`: a grid value.
    `first`: the result of `evaluate` at the start.
    Returns: the result at the best value.
    """
    best = first
    for direction in (1, -1):
        i = grid.index(start) + direction
        while 0 <= i < len(grid) and (candidate := evaluate(grid[i]))[0] >= best[0] + worth:
            best = candidate
            i += direction
        if best is not first:
            break
    return best


@dataclass(frozen=True, kw_only=True)
class HyperParameters:
    """The hyper-parameters of the levels."""

    c: np.ndarray  # float64, shape (q,): the label frequency of each label in unverified cells
    settings: Settings
    folds: int  # of cross-validation
    prune: float | None = None  # with many labels, weights below this are dropped
    estimates: Estimates
    # Out-of-fold predictions of level 0, if all instances were predicted when the settings were chosen
    held_out: HeldOut | None = None
    f1: float = 0.0  # expected on complete labels, by which the settings were chosen; 0 if they were not chosen


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """The hyper-parameters that training chose, and the expected F1."""

    chosen: HyperParameters
    # Expected micro-F1 of each level on complete labels, at its best pooled threshold: out of fold, corrected for the
    # missing labels. All levels that were tried are included; the model may have one less.
    level_f1: list[float]
    expected_f1: float  # the same for the last level at the thresholds of the model
    # 90 % interval of `expected_f1`, from the sampling of instances and, if c was estimated, the interval of c
    f1_interval: tuple[float, float]
    # Out-of-fold predictions of the last level, calibrated if the model is, used to choose its thresholds: for all
    # instances if each label gets its own threshold, or if all were requested
    held_out: HeldOut
    scaling: str | None = None  # of the features that the model was learned from, one of `SCALINGS`; None: not scaled
    kin: np.ndarray | None = None  # as in `core.problem.Instances`


def choose_hyper_parameters(
    population: Instances, options: Options, run: Run, estimates: Estimates | None = None
) -> HyperParameters:
    """Estimate c unless it is set or was estimated before, and choose the hyper-parameters that the options leave free.

    `estimates`: of c, from other features of the same instances.
    Raises DataError (there are too many labels for the loss; or instances are in groups, and c does not come from
    annotations alone).
    """
    refuse_two_frequencies(population, options.c)
    n, q = population.labels.shape
    many, loss = q > FEW_LABELS, options.loss or DEFAULT
    if many and loss_named(loss).cost_of_many is None:
        raise DataError(f"there are {q:,} labels, and the loss {loss} learns at most {FEW_LABELS}; take another loss")
    free: tuple[str, ...] = ()
    if options.cost is None:
        free = ("cost", "eta0") if options.eta0 is None else ("cost",)
    if population.label_features is not None and options.prior is None:
        free = (*free, "prior")
    sample = draw_sample(population, options, run) if is_estimated(options.c) or free or many else None
    if is_estimated(options.c) and sample is not None and estimates is None:
        with run.step("estimating c", len(sample.fold_rows)) as tick:
            estimates = estimate_frequency(sample, tick, given=options.c)
    if estimates is None:
        estimates = Estimates.before(options.c, population)

    if options.cost is None and not many and (estimates.unread or may_be_unread(population)):
        free = (*free, "labelled_only")
    alone = "labelled_only" in free and estimates.unread > 0
    settings = _starting(population, options, loss, alone)
    held_out, f1, prune = None, 0.0, None
    if sample is not None and free:
        starts = [settings]
        if options.loss is None and {"cost", "eta0"} <= set(free) and sample.is_all and not many:
            starts += [_starting(population, options, other, alone) for other in LOSSES if other != loss]
        with run.step(
            "choosing settings" if "cost" in free else "choosing the weight of label features",
            _USUAL_SETTINGS * len(starts),
        ) as tick:
            # Most of many labels have too few annotations for estimating an F1 per label.
            trials = [_trial(sample, estimates, start, SELECTION_SIZE) for start in starts]
            criterion = PU_F1 if many else options.threshold
            f1, settings, probabilities = _choose(trials, free, criterion, tick)
            if sample.is_all:  # also predict the instances that the trial did not hold out
                task = replace(trials[0].task, settings=settings)
                validation.dense_out_of_fold(task, sample.fold_rows[len(trials[0].fold_rows) :], into=probabilities)
                made_by = validation.source_models(task, sample.fold_rows) if settings.prior else None
                held_out = HeldOut(probabilities, sample.labels, task.frequency, made_by=made_by)
            if "eta0" in free:
                settings = step_for_all(settings, sample.share)
    if sample is not None and many:
        with run.step("choosing which weights to drop"):
            of_sample = step_for_all(settings, 1 / sample.share)
            prune = choose_pruning(_trial(sample, estimates, of_sample, PRUNING_SIZE))
    return HyperParameters(
        c=estimates.frequency(population).rates,
        settings=settings,
        folds=validation.usual_folds(n, q, options.folds) or validation.default_folds(n),
        prune=prune,
        estimates=estimates,
        held_out=held_out,
        f1=f1,
    )


def _starting(population: Instances, options: Options, loss: str, labelled_only: bool) -> Settings:
    """Return the initial settings for choosing, including those that the options set."""
    many = population.labels.shape[1] > FEW_LABELS
    begin = default_settings(population.features, options.epochs, many, loss)
    prior = 0.0
    if population.label_features is not None:
        usual = _PRIOR_OF_MANY if many else 0.0
        prior = usual if options.prior is None else float(options.prior)
    return replace(
        begin,
        cost=begin.cost if options.cost is None else options.cost,
        eta0=begin.eta0 if options.eta0 is None else options.eta0,
        prior=prior,
        labelled_only=labelled_only,
    )


def _choose(trials: list[Trial], free: tuple[str, ...], criterion: str | float, tick: Callable[[], None]) -> Candidate:
    """Choose the free settings, with starts for different losses; in a tie, the first is taken."""
    choices = []
    for which, trial in enumerate(trials):
        try:
            choices.append(choose_settings(trial, free, criterion, tick))
        except OverflowingError:
            if not which:
                raise  # another loss is only skipped: the candidates for C suit features of the order of 1
    return max(choices, key=lambda one: one.f1)


def _trial(sample: Sample, estimates: Estimates, settings: Settings, size: int) -> Trial:
    """Return a trial on the first folds of the sample, enough to hold out this number of instances."""
    m = validation.leading(sample.fold_rows, size)
    return Trial(sample.task(estimates.frequency(sample), settings), sample.fold_rows[:m], sample.weights)


# Gamma times the number of features (`RbfFeatures.fit`), and the number of landmarks; and the starts of their climbs.
GAMMAS, FIRST_GAMMA = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0), 1.0
LANDMARKS, FIRST_LANDMARKS = (150, 300, 600, 1200), 300
# A kernel standardises its features, which makes them dense: it is not suitable for more features.
MOST_FEATURES = 500
# With fewer instances, the estimate cannot distinguish features better than chance.
FEWEST_INSTANCES = 100
# Features other than the original ones must raise the expected F1 by this much: a linear model predicts faster, and can
# be explained.
_WORTH_OTHER_FEATURES = 2e-3
_DIRECTIONS = "label features are defined in the original feature space"


def choose_features(problem: Problem, options: Options, run: Run) -> tuple[Instances, HyperParameters | None]:
    """Choose features, including gamma and the number of landmarks, and C; parameters as for `stacking.train`.

    Returns: the instances with these features; and the hyper-parameters, None if they are still to be chosen.
    Raises DataError (the options ask for a kernel, or scaling, that the data do not allow), TooLargeError (the
    features of the kernel would not fit in memory).
    """
    own = Instances.of(problem)
    if options.features == LINEAR:
        return own, None
    if options.features in SCALINGS:
        if own.label_features is not None:
            raise DataError(f"features cannot be scaled here: {_DIRECTIONS}; choose linear features")
        return own.scaled(options.features), None
    obstacle = _obstacle(problem, own)
    if options.features == RBF and obstacle is not None:
        raise DataError(f"an RBF kernel cannot be used here: {obstacle}; choose linear features")
    can_tell = len(problem) >= FEWEST_INSTANCES and options.cost is None
    linear = own
    if options.features is None and can_tell and own.label_features is None and unevenness(own.features)[0]:
        with run.step("choosing features") as tick:
            linear = _best_scaling(own, options, run, tick)
    can_tell &= len(problem) <= options.sample
    if obstacle is not None or (options.features is None and not can_tell):
        return linear, None
    n, m = len(problem), max(LANDMARKS)  # sparse, then dense
    what = f"the features of an RBF kernel for {n:,} instances"
    refuse_beyond_free(12 * n * m, what, "take fewer instances, or linear features")
    problem = replace(problem, kin=own.kin)  # features of a kernel are equal up to rounding
    chosen = choose_hyper_parameters(linear, options, run)
    with run.step("choosing features") as tick:
        f1, kernel = _best_kernel(problem, options, run, linear, chosen, tick)
    if options.features is None and f1 < chosen.f1 + _WORTH_OTHER_FEATURES:
        return linear, chosen
    return kernel, None  # c comes from the features that separate labels better


def _best_scaling(own: Instances, options: Options, run: Run, tick: Callable[[], None]) -> Instances:
    """Return the instances with unscaled or scaled features, choosing by expected F1.

    All are compared with the same c, that with the largest lower bound: features that predict labels badly show less of
    it.
    """
    silent, found = run.quiet(), []
    for candidate in (own, *map(own.scaled, SCALINGS)):
        with suppress(OverflowingError):
            estimates = None
            if is_estimated(options.c):
                estimates = estimate_frequency(draw_sample(candidate, options, silent), given=options.c)
            found.append((candidate, estimates))
        tick()
    estimated = [estimates for _, estimates in found if estimates is not None]
    same_c = max(estimated, key=lambda one: one.overall.c * one.range_of_c[0], default=None)
    best, most = own, 0.0
    for candidate, _ in found:
        with suppress(OverflowingError):
            f1 = choose_hyper_parameters(candidate, options, silent, estimates=same_c).f1
            if f1 >= most + (_WORTH_OTHER_FEATURES if best is own and candidate is not own else 0):
                best, most = candidate, f1
        tick()
    return best


def _obstacle(problem: Problem, instances: Instances) -> str | None:
    """Return why a kernel is not suitable for the instances of a problem; None if it is."""
    if instances.label_features is not None:
        return _DIRECTIONS
    if instances.labels.shape[1] > FEW_LABELS:
        return f"there are more than {FEW_LABELS} labels"
    if problem.features.shape[1] > MOST_FEATURES:  # landmarks have all features, even if few occur
        return f"feature indices exceed {MOST_FEATURES}"
    if not instances.features.dense.shape[1]:
        return "most values are 0"
    return None


def _best_kernel(
    problem: Problem, options: Options, run: Run, data: Instances, chosen: HyperParameters, tick: Callable[[], None]
) -> tuple[float, Instances]:
    """Climb along gamma, then along the number of landmarks, as long as the expected F1 rises.

    C and eta0 are given, or chosen for the first kernel, and are the same for all.

    `data`, `chosen`: with linear features, whose c and loss are also used here, so that neither makes a difference.
    Returns: the F1, and the instances with these features.
    """

    def with_kernel(gamma: float, m: float) -> Instances:
        rbf = RbfFeatures.fit(problem.features, gamma, int(m), run.seed)
        instances = Instances.of(replace(problem, features=rbf.of(problem.features, run)))
        tick()
        return replace(instances, dominating=data.dominating, share_repeated=data.share_repeated, rbf=rbf)

    def compared(instances: Instances) -> tuple[float, Instances]:
        sample = draw_sample(instances, options, silent)
        of_sample = step_for_all(settings, 1 / sample.share) if is_free else settings
        trial = _trial(sample, chosen.estimates, of_sample, SELECTION_SIZE)
        return choose_settings(trial, (), options.threshold).f1, instances

    silent, begin = run.quiet(), with_kernel(FIRST_GAMMA, FIRST_LANDMARKS)
    same_loss, is_free = replace(options, loss=chosen.settings.loss), options.cost is None and options.eta0 is None
    settings = choose_hyper_parameters(begin, same_loss, silent, estimates=chosen.estimates).settings
    first = compared(begin)
    best = climb(lambda gamma: compared(with_kernel(gamma, FIRST_LANDMARKS)), GAMMAS, FIRST_GAMMA, first)
    assert best[1].rbf is not None
    gamma = best[1].rbf.gamma * problem.features.shape[1]
    sizes = tuple(m for m in LANDMARKS if m <= FIRST_LANDMARKS or m <= len(problem))
    return climb(lambda m: compared(with_kernel(gamma, m)), sizes, FIRST_LANDMARKS, best)
