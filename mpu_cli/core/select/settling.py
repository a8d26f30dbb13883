"""What is settled before the levels are learned, on a sample: the label frequency c, then C, eta0 and the prior."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.limits import refuse_large_sample
from mpu_cli.core.data.predictions import FEW_LABELS, HeldOut
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.propensity import REPLICATES, FrequencyEstimate, estimate, tells
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency, from_people
from mpu_cli.core.loss import DEFAULT, LOSSES, loss_named
from mpu_cli.core.options import PU_F1, Options
from mpu_cli.core.select.sample import Population, Sample, draw_labels
from mpu_cli.core.select.selection import PRUNING_SIZE, SELECTION_SIZE, choose_pruning, choose_settings
from mpu_cli.core.select.warm_start import WarmStart, warm_epochs
from mpu_cli.core.solver.sgd import Settings, default_epochs, default_settings, dual_settings
from mpu_cli.core.validate.validation import leading, out_of_fold
from mpu_cli.errors import DataError, OverflowingError
from mpu_cli.runtime.journal import Found
from mpu_cli.runtime.run import Run

# Folds of many labels, whose models take long.
_FOLDS_OF_MANY = 3


@dataclass(frozen=True)
class Settled:
    """What the levels are learned with.

    Attributes
    ----------
    frequency : LabelFrequency
        Of all instances and labels.
    estimate, reviewed
        As `training.Report` has them.
    settings : Settings
        Of models that leave instances out, and of a cold training.
    level_settings : Settings
        Of the levels themselves.
    folds : int or None
        Number of cross-validation folds; None: by the number of instances.
    prune : float or None
        Weights below this are dropped; None: none.
    held_out : HeldOut or None
        Out-of-fold predictions of level 0, where choosing the settings has given those of all instances.
    """

    frequency: LabelFrequency
    estimate: FrequencyEstimate | None
    reviewed: ReviewedFrequency | None
    settings: Settings
    level_settings: Settings
    folds: int | None
    prune: float | None
    held_out: HeldOut | None


def settle(
    features: Population,
    labels: csr_array,
    annotations: np.ndarray,
    options: Options,
    run: Run,
    label_features: csr_array | None = None,
    start: WarmStart | None = None,
) -> Settled:
    """Estimate what is not given, and choose what is free.

    Parameters
    ----------
    features : Features, n instances
        Or what fetches those of the sample.
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    annotations : ndarray of int, shape (q,)
        How many instances are annotated with each label.
    options : Options
    run : Run
    label_features : csr_array, shape (q, D), optional
        What the mean of the weights may be; see `core.side.prior`.
    start : WarmStart, optional
        An earlier model, whose settings are taken over.

    Raises
    ------
    DataError
        There are too many labels for the loss.
    """
    n, q = labels.shape
    many = q > FEW_LABELS
    loss = options.loss or DEFAULT
    if many and loss_named(loss).cost_of_many is None:
        raise DataError(f"there are {q:,} labels, and --loss {loss} learns at most {FEW_LABELS}; take another loss")
    free = () if start is not None else _free(options, label_features is not None)
    prune_automatically = many and options.prune is None
    to_choose = options.c is None or free or prune_automatically
    folds = options.folds or (_FOLDS_OF_MANY if many and n <= 200_000 else None)
    sample = None
    if to_choose:
        drawn = draw_labels(annotations, run.seed)
        refuse_large_sample(min(n, options.sample), q if drawn is None else len(drawn.columns))
        sample = Sample(features, labels, options.sample, folds, run, options.known, drawn, label_features)
    c, estimated, reviewed = options.c, None, None
    if c is None:
        with run.step("estimate c", sample.m) as tick:
            estimated, reviewed = _estimate(labels, options, sample, run, tick)
        c = estimated.c if reviewed is None else reviewed.rates
    frequency = LabelFrequency.of(c, labels.shape, options.known)

    usual_epochs = default_epochs(n, features.coherence, many)

    def starting(loss: str) -> Settings:
        begin = _starting(loss, features, options.epochs or usual_epochs, many, start)
        return _given(options, begin, label_features is not None)

    settings = starting(loss if start is None else start.settings.loss)
    held_out, prune = None, options.prune if many else options.prune or None
    if free:
        with run.step("choose C" if "cost" in free else "choose prior") as tick:
            starts = [settings]
            if options.loss is None and {"cost", "step"} <= set(free) and sample.is_all and not many:
                starts += [starting(other) for other in LOSSES if other != loss]
            # Most of many labels have too few annotations to count the F1 of each.
            criterion = PU_F1 if many else options.threshold
            settings, held_out = _choose(sample, frequency, starts, run, tick, free, criterion)
    if prune_automatically:
        with run.step("choose weights to drop"):
            prune = _choose_pruning(sample, frequency, settings, run)
    level_settings = settings
    if start is not None and loss_named(settings.loss).has_step:
        level_settings = replace(settings, epochs=options.epochs or warm_epochs(usual_epochs))
    return Settled(frequency, estimated, reviewed, settings, level_settings, folds, prune, held_out)


def _starting(loss: str, features: Population, epochs: int, many: bool, start: WarmStart | None) -> Settings:
    """Return the settings of an earlier model, or those that choosing begins with."""
    if not loss_named(loss).has_step:
        return dual_settings(features.mean_squared_norm(), loss) if start is None else start.settings
    settings = default_settings(epochs, features.coherence, many, loss) if start is None else start.settings
    return replace(settings, epochs=epochs, thin=many)


def _free(options: Options, has_label_features: bool) -> tuple[str, ...]:
    """Return which settings of a cold training are to be chosen: C and eta0 together, and the prior."""
    has_step = options.eta0 is None and loss_named(options.loss or DEFAULT).has_step
    free = [] if options.cost is not None else ["cost"] + ["step"] * has_step
    return (*free, "prior") if has_label_features and options.prior is None else tuple(free)


def _given(options: Options, settings: Settings, has_label_features: bool) -> Settings:
    """Return settings with those that options give."""
    return replace(
        settings,
        epochs=options.epochs or settings.epochs,
        cost=settings.cost if options.cost is None else options.cost,
        step=settings.step if options.eta0 is None else options.eta0,
        prior=(settings.prior if options.prior is None else float(options.prior)) if has_label_features else 0.0,
    )


def _estimate(
    labels: csr_array, options: Options, sample: Sample, run: Run, tick: Callable[[], None]
) -> tuple[FrequencyEstimate | None, ReviewedFrequency | None]:
    """Estimate c from the annotations, and from what people know where they do: then that is the one used."""

    def compute() -> Found:
        probabilities = sample.naive_probabilities(tick)
        found = estimate(probabilities, sample.labels, "bbe", REPLICATES, run.seed, sample.known)
        estimated = sample.of_all_labels(found)
        return {name: getattr(estimated, name) for name in ("c", "interval", "labels", "separable")}

    by_people = any(rows is not None and len(rows) for rows in (options.sampled, options.second))
    estimated = None
    if not by_people or tells(sample.labels, sample.known):
        found = run.journal.take("estimate c", compute)
        low, high = (float(end) for end in found["interval"])
        estimated = FrequencyEstimate(float(found["c"]), (low, high), found["labels"], bool(found["separable"]))
    reviewed = from_people(labels, options.known, options.sampled, options.second, estimated and estimated.c)
    return estimated, reviewed


def _choose(
    sample: Sample,
    frequency: LabelFrequency,
    starts: list[Settings],
    run: Run,
    tick: Callable[[], None],
    free: tuple[str, ...],
    criterion: str | float,
) -> tuple[Settings, HeldOut | None]:
    """Choose what is free, from starts of different losses, of which the first is taken where they are equal.

    Returns the out-of-fold predictions under these settings too where the sample is all.
    """

    def compute() -> Found:
        of_sample = sample.part(frequency)
        m = leading([fold.rows for fold in sample.folds], SELECTION_SIZE)
        given = sample.folds[:m], sample.labels, of_sample
        choices = []
        for which, start in enumerate(starts):
            try:
                choices.append((which, choose_settings(*given, start, run, tick, sample.weights, free, criterion)))
            except OverflowingError:
                if not which:
                    raise  # another loss is only left out: its C is among others, of features of the order of 1
        which, choice = max(choices, key=lambda found: found[1].f1)
        for_all = sample.transferred(choice.settings) if "step" in free else choice.settings
        chosen = {"start": which, "cost": for_all.cost, "step": for_all.step, "prior": for_all.prior}
        if not sample.is_all:
            return chosen
        probabilities = choice.probabilities
        out_of_fold(sample.folds[m:], probabilities.shape, of_sample, choice.settings, run, into=probabilities)
        return chosen | {"probabilities": probabilities}

    found = run.journal.take("choose C", compute)
    start = starts[int(found["start"])]
    settings = replace(start, cost=float(found["cost"]), step=float(found["step"]), prior=float(found["prior"]))
    probabilities = found.get("probabilities")
    return settings, None if probabilities is None else HeldOut(slice(None), probabilities)


def _choose_pruning(sample: Sample, frequency: LabelFrequency, settings: Settings, run: Run) -> float:
    """Choose which weights are dropped, on the sample."""

    def compute() -> Found:
        m = leading([fold.rows for fold in sample.folds], PRUNING_SIZE)
        of_sample = sample.of_sample(settings)
        given = sample.folds[:m], sample.labels, sample.part(frequency), of_sample, run, sample.weights
        return {"prune": choose_pruning(*given)}

    return float(run.journal.take("choose weights to drop", compute)["prune"])
