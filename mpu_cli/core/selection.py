"""The choice of the label frequency c, then of C, eta0, the prior and the weights to drop; the result of a training.

Settings are chosen on a sample, by the F1 that is estimated from its incomplete labels, cross-validated. A hill climb
along C also serves methods that solve a convex problem to its end.
Features are those of the data, scaled ones, or those of an RBF kernel, by the same estimate.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from mpu_cli.core.calibration import BinnedCells, HeldOut, calibrate_strata
from mpu_cli.core.features import SCALINGS, Dominating, RbfFeatures
from mpu_cli.core.frequency.estimators import (
    ASSUMPTION_OF_GROUPS,
    REPLICATES,
    FrequencyEstimate,
    estimate,
    has_evidence,
)
from mpu_cli.core.frequency.label_frequency import EarlierEstimate, LabelFrequency, is_estimated
from mpu_cli.core.frequency.questions import from_people
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.frequency.single_frequencies import SingleFrequencies, estimate_groups, of_all_groups
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.limits import refuse_beyond_free
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.loss import DEFAULT, LOSSES, loss_named
from mpu_cli.core.options import LINEAR, MACRO_F1, PU_F1, RBF, Options
from mpu_cli.core.predictions import FEW_LABELS, LEAST, Block
from mpu_cli.core.sample import Instances, Sample, draw_sample, step_for_all, usual_folds
from mpu_cli.core.sgd import COSTS, LearningTask, Settings, Split, default_epochs, default_settings, learn_labels
from mpu_cli.core.thresholds import best_threshold, estimated_macro_f1, pooled_threshold
from mpu_cli.core.validation import default_folds, dense_out_of_fold, holding_out, leading, predict, source_models
from mpu_cli.errors import DataError, OverflowingError
from mpu_cli.runtime.run import Run

STEPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
PRIORS = (0.0, 7.5, 15.0, 30.0, 60.0)
# With many labels, a sample is drawn, among which even a small prior finds the right ones: docs/choices/texts.md.
_PRIOR_OF_MANY = 15.0
# What of `Settings` is chosen, in this order.
_GRIDS = {"cost": COSTS, "step": STEPS, "prior": PRIORS}
# More held-out instances than this hardly change which of two settings is better.
SELECTION_SIZE = 8_000
# How many held-out instances the weights to drop are chosen by.
PRUNING_SIZE = 2_000
# A change that gains less than this is noise, and not worth another round of training.
WORTHWHILE = 5e-4
_USUAL_SETTINGS = 7  # that a climb tries
# From this share of repeated instances on, people are told.
_MANY_REPEATED = 0.02
# Micro-F1 that dropping weights may cost, by the estimate: the next smaller cut leaves several times as many.
_COST_OF_PRUNING = 1e-3
# Below which weights are dropped, for instances of unit length.
CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


T = TypeVar("T")


@dataclass(frozen=True)
class Trial:
    """What settings are compared by: predictions of folds by models that have not seen them."""

    task: LearningTask
    fold_rows: list[np.ndarray]  # the instances of each fold; they need not be all
    # float64, shape (q,): how many labels each of these stands for; None: each for itself
    weights: np.ndarray | None = None

    def estimated_f1(self, predictions: np.ndarray, criterion: str | float = PU_F1, guided: bool = False) -> float:
        """Estimate the F1 of predictions (n x q) of all instances that the folds hold out.

        Where label features are learned from, micro-F1 is estimated in strata (`core.predictions`).
        """
        task, rows = self.task, np.sort(np.concatenate(self.fold_rows))
        held_out = HeldOut(predictions[rows], task.labels[rows], task.frequency.rows(rows), self.weights)
        if criterion == MACRO_F1:
            return estimated_macro_f1(held_out)
        if not guided:
            return pooled_threshold(held_out)[1]
        made_by = source_models([holding_out(task, rows) for rows in self.fold_rows])
        binned = BinnedCells.of(replace(held_out, made_by=made_by))
        positives = task.positives_of_labels
        return best_threshold(binned, calibrate_strata(binned, positives))[1]


def choose_settings(
    trial: Trial,
    free: Collection[str] = ("cost", "step"),
    criterion: str | float = PU_F1,
    tick: Callable[[], None] = lambda: None,
) -> tuple[float, tuple[Settings, np.ndarray]]:
    """Climb along C, then along eta0, then along the prior, as long as the estimate rises.

    The estimate is smooth and has one broad top along each, so that a climb of some seven settings finds what a
    grid of ninety would.

    `trial`: the climb starts at its settings; what is free of them is among `COSTS`, `STEPS` or `PRIORS`.
    `free`: what to choose: some of "cost", "step" and "prior". The rest of the start is kept.
    `criterion`: of the thresholds, as in `core.options.Options`: of macro-F1, or else of micro-F1 at one
    threshold.
    `tick`: called once per setting.
    Returns: the F1 estimated of the out-of-fold predictions at their best thresholds, by the criterion; the chosen
    settings; and these predictions, float32, shape (n, q), in the rows that the folds hold out.
    """

    def evaluate(settings: Settings) -> tuple[float, tuple[Settings, np.ndarray]]:
        probabilities = dense_out_of_fold(replace(trial.task, settings=settings), trial.fold_rows)
        tick()
        return trial.estimated_f1(probabilities, criterion, bool(settings.prior)), (settings, probabilities)

    def with_one(settings: Settings, name: str, value: float) -> tuple[float, tuple[Settings, np.ndarray]]:
        changed: dict[str, Any] = {name: value}
        return evaluate(replace(settings, **changed))

    start = trial.task.settings
    best = evaluate(start)
    for name, grid in _GRIDS.items():
        if name not in free or (name == "step" and not loss_named(start.loss).has_step):
            continue
        f1, (settings, probabilities) = best
        if name == "step" and start.thin and (start.prior or "prior" in free):
            # Drawn labels compete with few others: a larger step, surer of names, looks better than it is.
            grid = tuple(step for step in grid if step <= start.step)
        if name == "prior":  # what it is compared by knows what models have seen
            f1 = trial.estimated_f1(probabilities, criterion, guided=True)
        best = climb(partial(with_one, settings, name), grid, getattr(settings, name), (f1, best[1]))
    return best


def choose_pruning(trial: Trial) -> float:
    """Choose the largest weight to drop: as large as costs the estimate of micro-F1 next to nothing.

    The result is an absolute value, one of `CUTS` by the length of an instance.
    """
    task, folds = trial.task, [holding_out(trial.task, rows) for rows in trial.fold_rows]
    cuts = np.array(CUTS) / np.sqrt(task.features.mean_squared_norm(*folds[0].training))
    probabilities = [np.empty(task.labels.shape, np.float32) for _ in cuts]

    def try_block(split: Split, block: Block, models: list[LinearModel]) -> None:
        for cut, into in zip(cuts, probabilities, strict=True):
            predict(models[0].pruned(float(cut)), task.features, split.held_out, block, into, task.run)

    for _ in learn_labels(folds, try_block, task.run):
        pass
    f1 = [trial.estimated_f1(of_cut, guided=bool(task.settings.prior)) for of_cut in probabilities]
    return float(cuts[np.flatnonzero(np.array(f1) > f1[0] - _COST_OF_PRUNING)[-1]])


def climb(
    evaluate: Callable[[float], tuple[float, T]], grid: tuple[float, ...], start: float, first: tuple[float, T]
) -> tuple[float, T]:
    """Search along a grid, up from a start or else down, as long as that gains something.

    `evaluate`: gives the F1 at a value of the grid, and what has it.
    `start`: one of the grid.
    `first`: the same at the start.
    Returns: the same of the best.
    """
    best = first
    for direction in (1, -1):
        i = grid.index(start) + direction
        while 0 <= i < len(grid) and (candidate := evaluate(grid[i]))[0] >= best[0] + WORTHWHILE:
            best = candidate
            i += direction
        if best is not first:
            break
    return best


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Where the label frequency comes from; all None where the user says it."""

    # From the annotations alone; None when a review leaves no annotation to estimate it from
    estimate: FrequencyEstimate | None = None
    # From what people have decided of cells or instances drawn at random, where they have: c comes from here
    reviewed: ReviewedFrequency | None = None
    # Of groups of instances, where there are some; `estimate` is of all of them then
    groups: SingleFrequencies | None = None
    repeated: float = 0.0  # share of the instances that have the features of an earlier one
    dominating: Dominating | None = None  # the feature that has nearly all of the squared length of the instances
    # Of an earlier command, which wrote it to the file that the user gives
    earlier: EarlierEstimate | None = None

    @classmethod
    def given(cls, c: Any, population: Instances) -> "Estimates":
        """Return what is known of c where the user says it, as a number or by the file of an earlier command."""
        earlier = c if isinstance(c, EarlierEstimate) else None
        return cls(earlier=earlier, repeated=population.share_repeated, dominating=population.dominating)

    def rates(self, q: int, given: Any = None) -> Any:
        """Return the label frequency of each of q labels: float64, shape (q,); 1 where the estimate leaves one out.

        `given`: of all labels, or of some and NaN of the others: what is given is not estimated.
        """
        if not is_estimated(given):
            return given
        if self.reviewed is not None:
            rates = self.reviewed.rates
        else:
            rates = np.full(q, self.overall.c)
            if self.estimate is not None:
                rates[list(self.estimate.left_out)] = 1.0
        return rates if given is None else np.where(np.isnan(given), rates, given)

    @property
    def overall(self) -> FrequencyEstimate | ReviewedFrequency | EarlierEstimate:
        """Return what c of all labels, and its interval, come from."""
        basis = self.reviewed or self.estimate or self.earlier
        if basis is None:
            raise ValueError("no label frequency was estimated")
        return basis

    @property
    def range_of_c(self) -> tuple[float, float]:
        """Return the ends of the 90 % interval of c, as multiples of c; 1 and 1 where there is none."""
        if not self.are_estimated or self.overall.interval is None:
            return 1.0, 1.0
        low, high = self.overall.interval
        return low / self.overall.c, high / self.overall.c

    def warnings(self) -> list[str]:
        """Return the warnings about the estimate."""
        found = []
        if self.repeated >= _MANY_REPEATED:
            found.append(
                f"{self.repeated:.0%} of the instances have exactly the features of an earlier one; equal instances "
                "are kept in one cross-validation fold"
            )
        if self.earlier is not None:
            return [*found, *(text for text in self.earlier.warnings if text not in found)]
        if self.reviewed is not None:
            warning = self.reviewed.contradiction(self.estimate)
        else:
            warning = None if self.estimate is None else self.estimate.caution
        return found if warning is None else [*found, warning]

    @property
    def are_estimated(self) -> bool:
        """Whether the label frequency was estimated, and not set by the user."""
        return any(basis is not None for basis in (self.estimate, self.reviewed, self.earlier))

    @property
    def is_known(self) -> bool:
        """Whether c is more than what it would be if each instance truly had one label only."""
        if self.earlier is not None:
            return self.earlier.interval is not None
        return self.reviewed is not None or self.estimate is None or not self.estimate.one_label_each

    @property
    def assumption(self) -> str | None:
        """Return what c rests on, where it comes from annotations alone."""
        if self.reviewed is not None or self.estimate is None:
            return None
        return self.estimate.assumption if self.groups is None or not self.is_known else ASSUMPTION_OF_GROUPS

    def frequency(self, rates: np.ndarray, data: Problem | Instances | Sample) -> LabelFrequency:
        """Return the label frequency of all cells, from the rates of labels, or of groups where there are some."""
        groups = data.groups
        of_instances = None if self.groups is None or groups is None else self.groups.c[groups.of_instances]
        return LabelFrequency.of(rates, data.labels.shape, data.verified, of_instances)


@dataclass(frozen=True, kw_only=True)
class HyperParameters:
    """What the levels are learned with."""

    c: np.ndarray  # float64, shape (q,): label frequency of each label, where the label is not verified
    settings: Settings
    folds: int  # of cross-validation
    prune: float | None = None  # with many labels, weights below this are dropped
    estimates: Estimates = Estimates()
    # Out-of-fold predictions of level 0, if choosing the settings has predicted all instances
    held_out: HeldOut | None = None
    f1: float = 0.0  # that the settings were chosen by, expected on complete labels; 0 where they were not chosen

    def frequency(self, data: Problem | Instances) -> LabelFrequency:
        """Return the label frequency of all cells."""
        return self.estimates.frequency(self.c, data)


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """What a training chose, and what is to be expected of it."""

    chosen: HyperParameters
    # Micro-F1 to expect on complete labels of each level at its best pooled threshold: out of fold, corrected for the
    # missing labels. Of levels that were tried; the model may have one less.
    level_f1: list[float]
    expected_f1: float  # the same for the last level at the thresholds of the model
    # Of `expected_f1`, 90 %: by the sampling of instances, and by the interval of c where c was estimated
    f1_interval: tuple[float, float]
    # Out-of-fold predictions of the last level, calibrated, that its thresholds were chosen on: of all instances
    # where each label gets a threshold of its own, or where all were asked for
    held_out: HeldOut
    scaling: str | None = None  # of the features that it was learned from, one of `SCALINGS`; None: as in the data
    kin: np.ndarray | None = None  # as in `core.sample.Instances`


def choose_hyper_parameters(
    population: Instances, options: Options, run: Run, estimates: Estimates | None = None
) -> HyperParameters:
    """Estimate c unless the options or an earlier choice have it, and choose the hyper-parameters that they leave free.

    `estimates`: of c, by other features of the same instances.
    Raises DataError (there are too many labels for the loss; or instances are in groups, and c does not come from
    annotations alone).
    """
    refuse_two_frequencies(population, options)
    n, q = len(population), len(population.annotations)
    many, has_label_features = q > FEW_LABELS, population.label_features is not None
    loss = options.loss or DEFAULT
    if many and loss_named(loss).cost_of_many is None:
        raise DataError(f"there are {q:,} labels, and the loss {loss} learns at most {FEW_LABELS}; take another loss")
    has_step = options.eta0 is None and loss_named(loss).has_step
    free: tuple[str, ...] = () if options.cost is not None else ("cost", "step") if has_step else ("cost",)
    if has_label_features and options.prior is None:
        free = (*free, "prior")
    sample = draw_sample(population, options, run) if is_estimated(options.c) or free or many else None
    if is_estimated(options.c) and sample is not None and estimates is None:
        with run.step("estimating c", len(sample.fold_rows)) as tick:
            estimates = estimate_frequency(population, sample, run, tick)
    if estimates is None:
        estimates = Estimates.given(options.c, population)
    rates = LabelFrequency.of(estimates.rates(q, options.c), (n, q)).rates

    settings = _starting(population, options, loss)
    held_out, f1, prune = None, 0.0, None
    if sample is not None and free:
        starts = [settings]
        if options.loss is None and {"cost", "step"} <= set(free) and sample.is_all and not many:
            starts += [_starting(population, options, other) for other in LOSSES if other != loss]
        with run.step(
            "choosing settings" if "cost" in free else "choosing the weight of label features",
            _USUAL_SETTINGS * len(starts),
        ) as tick:
            # Most of many labels have too few annotations to count the F1 of each.
            trials = [_trial(sample, rates, estimates, start, SELECTION_SIZE) for start in starts]
            criterion = PU_F1 if many else options.threshold
            f1, (settings, probabilities) = _choose(trials, free, criterion, tick)
            if sample.is_all:  # predict the instances that the trial has not held out, too
                task = replace(trials[0].task, settings=settings)
                dense_out_of_fold(task, sample.fold_rows[len(trials[0].fold_rows) :], into=probabilities)
                folds = [holding_out(task, rows) for rows in sample.fold_rows]
                made_by = source_models(folds) if settings.prior else None
                held_out = HeldOut(probabilities, sample.labels, task.frequency, made_by=made_by)
            if "step" in free:
                settings = step_for_all(settings, sample.share)
    if sample is not None and many:
        with run.step("choosing which weights to drop"):
            prune = choose_pruning(_trial(sample, rates, estimates, sample.of_sample(settings), PRUNING_SIZE))
    return HyperParameters(
        c=rates,
        settings=settings,
        folds=options.folds or usual_folds(n, q) or default_folds(n),
        prune=prune,
        estimates=estimates,
        held_out=held_out,
        f1=f1,
    )


def _starting(population: Instances, options: Options, loss: str) -> Settings:
    """Return the settings that choosing begins with, among them those that options give."""
    start, many = loss_named(loss), len(population.annotations) > FEW_LABELS
    if start.has_step:
        coherence = population.features.coherence
        epochs = options.epochs or default_epochs(len(population), coherence, many)
        begin = default_settings(epochs, coherence, many, loss)
    else:
        squared_length = max(population.features.mean_squared_norm(), LEAST)
        cost = min(COSTS, key=lambda cost: abs(np.log(cost * squared_length / start.cost)))
        begin = Settings(cost, epochs=start.epochs, loss=loss)
    prior = 0.0
    if population.label_features is not None:
        usual = _PRIOR_OF_MANY if many else 0.0
        prior = usual if options.prior is None else float(options.prior)
    return replace(
        begin,
        epochs=options.epochs or begin.epochs,
        cost=begin.cost if options.cost is None else options.cost,
        step=begin.step if options.eta0 is None else options.eta0,
        prior=prior,
    )


def refuse_two_frequencies(population: Instances, options: Options) -> None:
    """Raise DataError where instances are in groups, and c does not come from annotations alone."""
    others = options.c is not None or population.is_reviewed or population.answers is not None
    if population.groups is not None and others:
        raise DataError(
            "c of groups is estimated from annotations alone, and here it is set, or comes from verified "
            "labels drawn at random: leave out one of them"
        )


def estimate_frequency(
    population: Instances,
    sample: Sample,
    run: Run,
    tick: Callable[[], None] = lambda: None,
    probabilities: np.ndarray | None = None,
    method: str = "bbe",
) -> Estimates:
    """Estimate c from the annotations, and from what people know where they do: then that is the one used.

    By out-of-fold scores of any classifier, from 0 to 1, of the sample, or else of a linear one that is learned here.
    """
    estimated = groups = automatic = answered = None
    if not population.is_reviewed or has_evidence(sample.labels, sample.verified):
        if probabilities is None:
            probabilities = sample.naive_probabilities(tick)
        verified = sample.verified and sample.verified.block(sample.pool)
        pooled, labels = probabilities[:, sample.pool], sample.labels[:, sample.pool]
        folds = sample.fold_of_instances
        of_sample = estimate(pooled, labels, method, REPLICATES, run.seed, verified, folds)
        estimated = sample.of_all_labels(of_sample)
        automatic = of_sample.c
        if population.answers is not None:
            answered = sample.answered(probabilities, population.answers)
        if population.groups is not None and sample.groups is not None:
            groups = estimate_groups(pooled, labels, sample.groups, of_sample, verified, folds)
            annotated, known = population.labels, population.verified
            by_chance = annotated if known is None else known.without_implied(annotated)
            estimated = of_all_groups(groups, estimated, population.groups.sums(np.diff(by_chance.indptr)))
    return Estimates(
        estimate=estimated,
        reviewed=from_people(population, automatic, answered),
        groups=groups,
        repeated=population.share_repeated,
        dominating=population.dominating,
    )


def _choose(
    trials: list[Trial], free: tuple[str, ...], criterion: str | float, tick: Callable[[], None]
) -> tuple[float, tuple[Settings, np.ndarray]]:
    """Choose what is free, from starts of different losses; of equals the first is taken."""
    choices = []
    for which, trial in enumerate(trials):
        try:
            choices.append(choose_settings(trial, free, criterion, tick))
        except OverflowingError:
            if not which:
                raise  # another loss is only left out: its C is among others, of features of the order of 1
    return max(choices, key=lambda one: one[0])


def _trial(sample: Sample, rates: np.ndarray, estimates: Estimates, settings: Settings, size: int) -> Trial:
    """Return the first folds of the sample, as many as hold out this number of instances."""
    m = leading(sample.fold_rows, size)
    frequency = estimates.frequency(rates[sample.columns], sample)
    return Trial(sample.task(frequency, settings), sample.fold_rows[:m], sample.weights)


# By the number of features (`RbfFeatures.fit`), and how many landmarks; where the climbs along them start.
GAMMAS, FIRST_GAMMA = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0), 1.0
LANDMARKS, FIRST_LANDMARKS = (150, 300, 600, 1200), 300
# A kernel standardises, and so fills up, its features: of more of them it is another tool.
MOST_FEATURES = 500
# Of fewer, the estimate tells differences between features no better than chance does.
FEWEST_INSTANCES = 100
# Expected F1 that other features than those of the data have to gain: a linear model predicts faster, and can be
# explained.
_WORTH_OTHER_FEATURES = 2e-3
_DIRECTIONS = "label features are defined in the original feature space"


def choose_features(problem: Problem, options: Options, run: Run) -> tuple[Instances, HyperParameters | None]:
    """Choose features, with gamma and the number of landmarks, and with them C; parameters as for `stacking.train`.

    Returns: the instances with these features; and the hyper-parameters, None where they are still to be chosen.
    DataError where the options ask for a kernel of data that it is not for, TooLargeError where its features would not
    fit in memory.
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
    may_scale = own.uneven and own.label_features is None
    if options.features is None and can_tell and may_scale:
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
    return kernel, None  # c comes from the features that tell labels apart better


def _best_scaling(own: Instances, options: Options, run: Run, tick: Callable[[], None]) -> Instances:
    """Return features as in the data, or scaled, by the expected F1.

    All are compared by the same c, the largest: features that tell labels badly find c too low, and expect too much.
    """
    silent, found = run.quiet(), []
    for candidate in (own, *map(own.scaled, SCALINGS)):
        with suppress(OverflowingError):
            estimates = None
            if is_estimated(options.c):
                estimates = estimate_frequency(candidate, draw_sample(candidate, options, silent), silent)
            found.append((candidate, estimates))
        tick()
    estimated = [estimates for _, estimates in found if estimates is not None]
    same_c = max(estimated, key=lambda one: one.overall.c, default=None)
    best, most = own, 0.0
    for candidate, _ in found:
        with suppress(OverflowingError):
            f1 = choose_hyper_parameters(candidate, options, silent, estimates=same_c).f1
            if f1 >= most + (_WORTH_OTHER_FEATURES if best is own and candidate is not own else 0):
                best, most = candidate, f1
        tick()
    return best


def _obstacle(problem: Problem, instances: Instances) -> str | None:
    """Return why a kernel is not for the instances of a problem; None if it is."""
    if instances.label_features is not None:
        return _DIRECTIONS
    if len(instances.annotations) > FEW_LABELS:
        return f"there are more than {FEW_LABELS} labels"
    if problem.features.shape[1] > MOST_FEATURES:  # a model has the landmarks in all of them, also where few occur
        return f"feature indices exceed {MOST_FEATURES}"
    if not instances.features.dense.shape[1]:
        return "most values are 0"
    return None


def _best_kernel(
    problem: Problem, options: Options, run: Run, data: Instances, chosen: HyperParameters, tick: Callable[[], None]
) -> tuple[float, Instances]:
    """Climb along gamma, then along the number of landmarks, as long as the expected F1 rises.

    `data`, `chosen`: with linear features: c and the loss are the same, so that neither makes a difference.
    Returns: the F1, and the instances with these features.
    """
    silent = run.quiet()
    same_loss = replace(options, loss=chosen.settings.loss)

    def candidate(gamma: float, m: float) -> tuple[float, Instances]:
        rbf = RbfFeatures.fit(problem.features, gamma, int(m), run.seed)
        instances = Instances.of(replace(problem, features=rbf.of(problem.features, run)))
        instances = replace(instances, dominating=data.dominating, share_repeated=data.share_repeated, rbf=rbf)
        tick()
        found = choose_hyper_parameters(instances, same_loss, silent, estimates=chosen.estimates)
        return found.f1, instances

    first = candidate(FIRST_GAMMA, FIRST_LANDMARKS)
    best = climb(lambda gamma: candidate(gamma, FIRST_LANDMARKS), GAMMAS, FIRST_GAMMA, first)
    assert best[1].rbf is not None
    gamma = best[1].rbf.gamma * problem.features.shape[1]
    sizes = tuple(m for m in LANDMARKS if m <= FIRST_LANDMARKS or m <= len(problem))
    return climb(lambda m: candidate(gamma, m), sizes, FIRST_LANDMARKS, best)
