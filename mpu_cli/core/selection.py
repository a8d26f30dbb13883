"""Hyper-parameter selection, on a sample: the label frequency c, then C, eta0, the prior and the weights to drop."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mpu_cli.core.frequency.estimators import (
    ASSUMPTION_OF_GROUPS,
    REPLICATES,
    FrequencyEstimate,
    GroupFrequencies,
    estimate,
    estimate_groups,
    tells,
)
from mpu_cli.core.frequency.given import EarlierEstimate, earlier_estimate, is_estimated, with_estimates
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.instances import Instances
from mpu_cli.core.limits import refuse_large_sample
from mpu_cli.core.loss import DEFAULT, LOSSES, loss_named
from mpu_cli.core.options import PU_F1, Options
from mpu_cli.core.predictions import FEW_LABELS, HeldOut
from mpu_cli.core.repeated import caution as repeated_caution
from mpu_cli.core.sample import Sample, draw_labels, usual_folds
from mpu_cli.core.scaling import Dominating
from mpu_cli.core.sgd import Settings, default_epochs, default_settings, dual_settings
from mpu_cli.core.trials import PRUNING_SIZE, SELECTION_SIZE, Choice, Trial, choose_pruning, choose_settings
from mpu_cli.core.validation import leading, out_of_fold, source_models
from mpu_cli.core.work import Work
from mpu_cli.errors import DataError, OverflowingError


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Where the label frequency comes from; all None where the user says it."""

    # From the annotations alone; None when a review leaves no annotation to estimate it from
    estimate: FrequencyEstimate | None = None
    # From what people have decided of cells or instances drawn at random, where they have: c comes from here
    reviewed: ReviewedFrequency | None = None
    # Of groups of instances, where there are some; `estimate` is of all of them then
    groups: GroupFrequencies | None = None
    repeated: float = 0.0  # share of the instances that have the features of an earlier one
    dominating: Dominating | None = None  # the feature that has nearly all of the squared length of the instances
    # Of an earlier command, which wrote it to the file that the user gives
    earlier: EarlierEstimate | None = None

    def rates(self, q: int) -> np.ndarray:
        """Return the label frequency of each of q labels: float64, shape (q,); 1 where the estimate leaves one out."""
        if self.reviewed is not None:
            return self.reviewed.rates
        rates = np.full(q, self.overall.c)
        if self.estimate is not None:
            rates[list(self.estimate.left_out)] = 1.0
        return rates

    @property
    def overall(self) -> FrequencyEstimate | ReviewedFrequency:
        """Return what c of all labels, and its interval, come from."""
        basis = self.reviewed or self.estimate
        if basis is None:
            raise ValueError("no label frequency was estimated")
        return basis

    @property
    def range_of_c(self) -> tuple[float, float]:
        """Return the ends of the 90 % interval of c, as multiples of c; 1 and 1 where there is none."""
        basis = self.reviewed or self.estimate or self.earlier
        if basis is None or basis.interval is None:
            return 1.0, 1.0
        low, high = basis.interval
        return low / basis.c, high / basis.c

    def warnings(self) -> list[str]:
        """Say what to know before trusting it."""
        repeated = repeated_caution(self.repeated)
        found = [] if repeated is None else [repeated]
        if self.earlier is not None:
            return [*found, *(text for text in self.earlier.warnings if text != repeated)]
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

    @property
    def group_rates(self) -> np.ndarray | None:
        """Return the label frequency of each group of instances; None without groups."""
        return None if self.groups is None else self.groups.c


@dataclass(frozen=True, kw_only=True)
class HyperParameters:
    """What the levels are learned with."""

    rates: np.ndarray  # float64, shape (q,): label frequency of each label, where the label is not verified
    settings: Settings
    folds: int | None = None  # number of cross-validation folds; None: by the number of instances
    prune: float | None = None  # with many labels, weights below this are dropped
    estimates: Estimates = Estimates()
    # Out-of-fold predictions of level 0, if choosing the settings has predicted all instances
    held_out: HeldOut | None = None
    f1: float | None = None  # the F1 that the settings were chosen by, where they were


def choose_hyper_parameters(
    population: Instances,
    options: Options,
    run: Work,
    estimates: Estimates | None = None,
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
    free = _free(options, has_label_features)
    folds = options.folds or usual_folds(n, q)
    sample = None
    if is_estimated(options.c) or free or many:
        sample = _sample(population, options.sample, folds, run)
    if is_estimated(options.c) and sample is not None:
        if estimates is None:
            with run.step("estimate c", sample.m) as tick:
                estimates = estimate_frequency(population, sample, run, tick)
        sample = sample.with_group_rates(estimates.group_rates)
    if estimates is None:
        estimates = Estimates(
            earlier=earlier_estimate(options.c),
            repeated=population.share_repeated,
            dominating=population.dominating,
        )
    rates = LabelFrequency.of(with_estimates(options.c, estimates.rates, q), (n, q)).rates

    usual_epochs = default_epochs(n, population.features.coherence, many)

    def starting(loss: str) -> Settings:
        begin = _starting(loss, population, options.epochs or usual_epochs, many)
        return _with_fixed(options, begin, has_label_features)

    settings = starting(loss)
    held_out, f1, prune = None, None, None
    if sample is not None and free:
        with run.step("choose C" if "cost" in free else "choose prior") as tick:
            starts = [settings]
            if options.loss is None and {"cost", "step"} <= set(free) and sample.is_all and not many:
                starts += [starting(other) for other in LOSSES if other != loss]
            # Most of many labels have too few annotations to count the F1 of each.
            trial = _trial(sample, rates, SELECTION_SIZE)
            choice = _choose(trial, starts, free, PU_F1 if many else options.threshold, run, tick)
            settings, f1 = choice.settings, choice.f1
            if sample.is_all:
                held_out = _held_out(sample, trial, choice, run)
            if "step" in free:
                settings = sample.transferred(settings)
    if sample is not None and many:
        with run.step("choose weights to drop"):
            prune = _choose_pruning(sample, rates, settings, run)
    return HyperParameters(
        rates=rates,
        settings=settings,
        folds=folds,
        prune=prune,
        estimates=estimates,
        held_out=held_out,
        f1=f1,
    )


def estimates_of(population: Instances, options: Options, run: Work) -> Estimates:
    """Estimate c as `choose_hyper_parameters` does, and choose nothing."""
    folds = options.folds or usual_folds(len(population), len(population.annotations))
    return estimate_frequency(population, _sample(population, options.sample, folds, run), run)


def _sample(population: Instances, size: int, folds: int | None, run: Work) -> Sample:
    drawn = draw_labels(population.annotations, run.seed)
    q = len(population.annotations) if drawn is None else len(drawn.columns)
    refuse_large_sample(min(len(population), size), q)
    return Sample(population, size, folds, run, drawn, population.label_features)


def _starting(loss: str, population: Instances, epochs: int, many: bool) -> Settings:
    """Return the settings that choosing begins with."""
    if not loss_named(loss).has_step:
        return dual_settings(population.features.mean_squared_norm(), loss)
    return replace(default_settings(epochs, population.features.coherence, many, loss), epochs=epochs, thin=many)


def _free(options: Options, has_label_features: bool) -> tuple[str, ...]:
    """Return which settings are to be chosen: C and eta0 together, and the prior."""
    has_step = options.eta0 is None and loss_named(options.loss or DEFAULT).has_step
    free = [] if options.cost is not None else ["cost"] + ["step"] * has_step
    return (*free, "prior") if has_label_features and options.prior is None else tuple(free)


def _with_fixed(options: Options, settings: Settings, has_label_features: bool) -> Settings:
    """Return settings with those that options give."""
    return replace(
        settings,
        epochs=options.epochs or settings.epochs,
        cost=settings.cost if options.cost is None else options.cost,
        step=settings.step if options.eta0 is None else options.eta0,
        prior=(settings.prior if options.prior is None else float(options.prior)) if has_label_features else 0.0,
    )


def refuse_two_frequencies(population: Instances, options: Options) -> None:
    """Raise DataError where instances are in groups, and c does not come from annotations alone."""
    others = options.c is not None or population.is_reviewed or population.answers is not None
    if population.groups is not None and others:
        raise DataError(
            "c of groups of instances is estimated from annotations alone, and here it is set, or comes from verified "
            "labels drawn at random: leave out one of both"
        )


def estimate_frequency(
    population: Instances,
    sample: Sample,
    run: Work,
    tick: Callable[[], None] = lambda: None,
    scores: np.ndarray | None = None,
) -> Estimates:
    """Estimate c from the annotations, and from what people know where they do: then that is the one used.

    By out-of-fold scores of any classifier, from 0 to 1 (n x q), or else of a linear one that is learned here.
    """
    estimated = reviewed = groups = None
    if not population.is_reviewed or tells(sample.labels, sample.verified):
        probabilities = sample.naive_probabilities(tick) if scores is None else sample.part_of(scores)
        how = REPLICATES, run.seed, sample.verified, sample.fold_of_instances
        of_sample = estimate(probabilities, sample.labels, "bbe", *how)
        estimated = sample.of_all_labels(of_sample)
        if population.answers is not None:
            answered = sample.answered(probabilities, population.answers)
            reviewed = population.reviewed_frequency(of_sample.c, answered)
        if sample.groups is not None:
            groups = estimate_groups(probabilities, sample.labels, sample.groups, of_sample, *how)
            estimated = groups.combined(estimated, population.group_annotations())
    if reviewed is None:
        reviewed = population.reviewed_frequency(None if estimated is None else estimated.c)
    return Estimates(
        estimate=estimated,
        reviewed=reviewed,
        groups=groups,
        repeated=population.share_repeated,
        dominating=population.dominating,
    )


def _choose(
    trial: Trial,
    starts: list[Settings],
    free: tuple[str, ...],
    criterion: str | float,
    run: Work,
    tick: Callable[[], None],
) -> Choice:
    """Choose what is free, from starts of different losses; of equals the first is taken."""
    choices = []
    for which, start in enumerate(starts):
        try:
            choices.append(choose_settings(trial, start, free, criterion, run, tick))
        except OverflowingError:
            if not which:
                raise  # another loss is only left out: its C is among others, of features of the order of 1
    return max(choices, key=lambda one: one.f1)


def _held_out(sample: Sample, trial: Trial, choice: Choice, run: Work) -> HeldOut:
    """Return predictions of all instances out of fold, under chosen settings."""
    probabilities, others = choice.probabilities, sample.folds[len(trial.folds) :]
    out_of_fold(others, probabilities.shape, trial.frequency, choice.settings, run, into=probabilities)
    positives = trial.frequency.positives(sample.labels)
    made_by = source_models(sample.folds, positives) if choice.settings.prior else None
    return HeldOut(slice(None), probabilities, made_by)


def _choose_pruning(sample: Sample, rates: np.ndarray, settings: Settings, run: Work) -> float:
    """Choose which weights are dropped, on the sample."""
    return choose_pruning(_trial(sample, rates, PRUNING_SIZE), sample.of_sample(settings), run)


def _trial(sample: Sample, rates: np.ndarray, size: int) -> Trial:
    """Return the first folds of the sample, as many as hold out this number of instances."""
    m = leading([fold.rows for fold in sample.folds], size)
    return Trial(sample.folds[:m], sample.labels, sample.frequency(rates), sample.weights)
