"""From annotated instances to a stacked model: the algorithm figure of Kong et al. 2014, Section 3.

estimate c -> choose C and eta0 -> for each level: train, predict out of fold, append -> thresholds
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import thresholds
from mpu_cli.core.features import Features
from mpu_cli.core.propensity import FrequencyEstimate, estimate
from mpu_cli.core.sample import SAMPLE_SIZE, Sample
from mpu_cli.core.selection import choose_settings
from mpu_cli.core.sgd import LinearModel, Settings, TrainingSet, default_epochs, train_linear
from mpu_cli.core.stacking import STACK_SCALE, StackedModel, stack
from mpu_cli.core.validation import deal, default_folds, out_of_fold, split
from mpu_cli.errors import TooLargeError


@dataclass(frozen=True)
class Options:
    """What can be asked of `train`.

    Attributes
    ----------
    levels : int
        Number of levels, level 0 included.
    c : ndarray of shape (q,), float or None
        Label frequency; None: estimated.
    folds : int or None
        Number of cross-validation folds; None: by the number of instances.
    cost : float or None
        C; None: chosen, and eta0 with it.
    epochs : int or None
        Passes over the data; None: by their size.
    threshold : {"pu-f1", "per-label"} or float
        How decision thresholds are chosen, or the one to use.
    stack_scale : float
        Weight of predictions as features, in units of the instances' root mean square norm.
    sample : int
        Instances that the choice of c, C and eta0 uses at most.
    seed : int
    jobs : int
        Threads; -1 for one a core. The model does not depend on it.
    """

    levels: int = 2
    c: np.ndarray | float | None = None
    folds: int | None = None
    cost: float | None = None
    epochs: int | None = None
    threshold: str | float = "pu-f1"
    stack_scale: float = STACK_SCALE
    sample: int = SAMPLE_SIZE
    seed: int = 0
    jobs: int = -1


@dataclass(frozen=True)
class Report:
    """What training found.

    Attributes
    ----------
    c : ndarray, shape (q,)
        Label frequency of each label.
    estimate : FrequencyEstimate or None
        Where c comes from; None when it was given.
    settings : Settings
    level_f1 : list of float
        Micro-F1 to expect on complete labels of each level at its best pooled threshold: out of fold, corrected for
        the missing labels.
    expected_f1 : float
        The same for the last level at the thresholds of the model.
    seconds : dict
        Wall time of each step.
    """

    c: np.ndarray
    estimate: FrequencyEstimate | None
    settings: Settings
    level_f1: list[float]
    expected_f1: float
    seconds: dict[str, float]


# Told of every step: its name and how many ticks it will make (None: not known). The context it returns lasts as long
# as the step; what that gives is called once a tick.
Observer = Callable[[str, int | None], AbstractContextManager[Callable[[], None]]]


def no_observer(step: str, ticks: int | None) -> AbstractContextManager[Callable[[], None]]:
    """Observe nothing."""
    return nullcontext(lambda: None)


def train(
    matrix: csr_array, labels: csr_array, options: Options, observe: Observer = no_observer
) -> tuple[StackedModel, Report]:
    """Learn a stacked model of all labels.

    Parameters
    ----------
    matrix : csr_array, shape (n, D), float32
        Features.
    labels : csr_array of bool, shape (n, q)
        Annotated labels: q >= 1, each column with at least one.
    options : Options
    observe : Observer
        Is told of every step.

    Returns
    -------
    StackedModel, Report

    Raises
    ------
    TooLargeError
        The weights would not fit in memory.
    """
    n, q = labels.shape
    refuse_too_large(matrix.shape[1], q, options.levels)
    seconds: dict[str, float] = {}

    @contextmanager
    def step(name: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
        start = time.perf_counter()
        with observe(name, ticks) as tick:
            yield tick
        seconds[name] = time.perf_counter() - start

    features = Features.of(matrix)
    sample = Sample(features, labels, options.sample, options.folds, options.seed)
    estimated = None
    if options.c is None:
        with step("estimate c", sample.m) as tick:
            estimated = estimate(sample.naive_probabilities(options.jobs, tick), sample.labels)
    c = np.full(q, estimated.c if options.c is None else options.c, dtype=float)

    probabilities = None
    settings = Settings(epochs=options.epochs)
    if options.cost is not None:
        settings = replace(settings, cost=options.cost)
    else:
        with step("choose C") as tick:
            choice = choose_settings(sample.folds, sample.labels, c, settings, options.jobs, tick)
        settings = choice.settings
        if sample.whole:
            probabilities = choice.probabilities
    del sample

    scale = options.stack_scale * np.sqrt(features.mean_squared_norm())
    levels: list[LinearModel] = []
    level_f1 = []
    for level in range(options.levels):
        if level:
            features = stack(features, probabilities, scale)
            probabilities = None
        with step(f"level {level}"):
            data = TrainingSet(features, labels, np.arange(n), options.seed)
            levels.append(train_linear(data, c, settings, options.jobs))
            del data
        if probabilities is None:
            fold_rows = deal(n, options.folds or default_folds(n), options.seed)
            with step(f"level {level}, out of fold", len(fold_rows)) as tick:
                folds = (split(features, labels, rows, options.seed) for rows in fold_rows)
                probabilities = out_of_fold(folds, labels.shape, c, settings, options.jobs, tick)
        threshold, f1 = thresholds.pooled_threshold(probabilities, labels, c)
        level_f1.append(f1)

    with step("thresholds"):
        if options.threshold == "per-label":
            chosen, f1 = thresholds.label_thresholds(probabilities, labels, c, threshold)
        else:
            chosen = np.full(q, threshold if options.threshold == "pu-f1" else options.threshold, np.float32)
            f1 = thresholds.estimated_f1(probabilities, labels, c, chosen)
    settings = replace(settings, epochs=settings.epochs or default_epochs(n))
    return StackedModel(tuple(levels), float(scale), chosen), Report(c, estimated, settings, level_f1, f1, seconds)


def refuse_too_large(D: int, q: int, levels: int) -> None:
    """Raise TooLargeError where the weights, with those in training (a copy and a mean), exceed the machine's memory.

    Parameters
    ----------
    D, q, levels : int
        Features, labels and levels. Level l has D + l q weights a label.
    """
    model = 4 * q * (levels * D + levels * (levels - 1) // 2 * q)
    needed = model + 2 * 4 * q * (D + (levels - 1) * q)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise TooLargeError(
            f"a model of {D:,} features (the largest index and 1) x {q:,} labels x {levels} levels takes "
            f"{model / 1e9:,.1f} GB, {needed / 1e9:,.1f} GB in training, and this machine has {memory / 1e9:,.1f} GB: "
            "renumber the features from 1 without gaps, or train fewer labels or levels"
        )
