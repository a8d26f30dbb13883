"""The sample of the training instances used to choose c, C, eta0 and questions, and the estimate of c from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.calibration import FEWEST_FOR_ANSWERS, HeldOut, calibrate
from mpu_cli.core.features import Columns, Dominating, Features, only_entries
from mpu_cli.core.frequency.estimators import Z_90, CountedCells, FrequencyEstimate, estimate
from mpu_cli.core.frequency.label_frequency import EarlierEstimate, LabelFrequency, is_estimated
from mpu_cli.core.frequency.questions import ScoredCells, chances, from_people
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.frequency.single_frequencies import (
    FEWEST_OF_GROUP,
    SingleFrequencies,
    differ,
    estimate_groups,
    estimate_singly,
    of_all_groups,
)
from mpu_cli.core.options import ASSUMPTION_OF_GROUPS, FrequencyOptions
from mpu_cli.core.predictions import FEW_LABELS, refuse_large_sample, values_at
from mpu_cli.core.problem import Answers, Instances, Problem, Verdict, counts_by_chance, least_frequencies
from mpu_cli.core.sgd import LearningTask, Settings, cost_for, default_settings
from mpu_cli.core.side_information import Prior
from mpu_cli.core.validation import deal, default_folds, dense_out_of_fold, fold_numbers, usual_folds
from mpu_cli.errors import DataError
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# A smaller share of instances without labels hardly matters. With so many more than labels missing one by one would
# leave, nobody may have looked at them.
_MANY_UNLABELLED, _TOO_MANY = 0.05, 1.25
# One in so many instances surely has labels, as far as scores show.
_SUREST = 5
_SHARES_TRIED = 8  # of the instances that people have looked at; changes by less than 1 % then
# The best eta0 falls with the number of instances, about as its power -1/4: docs/choices/training.md.
_STEP_EXPONENT = 0.25
# C of the classifier of annotated versus unannotated. The estimate of c hardly depends on it:
# docs/choices/label-frequency.md.
_NAIVE_COST = 10.0


def may_be_unread(instances: Instances) -> bool:
    """Return whether a share of instances that matters has no labels, and nothing shows that people looked at them.

    With a labels per labelled instance, labels missing one by one would leave a share of s^a of the instances
    without labels, where whole instances leave s: if a is near 1, the two are alike.
    """
    known = LabelFrequency.of(1.0, instances.labels.shape, instances.verified)
    labelled = known.labelled(instances.labels)
    share, each = 1 - np.mean(labelled), known.positives(instances.labels).nnz / max(np.count_nonzero(labelled), 1)
    return bool(share >= _MANY_UNLABELLED and share ** (1 - each) < _TOO_MANY)


def draw_rows(n: int, size: int, seed: int) -> np.ndarray:
    """Draw at most `size` of n instances without replacement; return their numbers, ascending."""
    return np.arange(n) if n <= size else np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


# About this many labels are drawn if there are many.
_DRAWN = 512


def draw_labels(annotations: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Draw some of many labels, each with a probability proportional to the square root of its annotations.

    Labels that are never annotated are not drawn, since it is unknown how often they are true. With few labels, all
    annotated ones are taken.

    Systematic sampling with unequal probabilities (Madow, "On the theory of systematic sampling, II", 1949) along the
    labels in order of their annotations: labels of every frequency are included, and the most frequent ones surely.

    Returns: `columns`: int, shape (m,): the labels, ascending; `weights`: float64, shape (m,): how many labels each one
    represents, the inverse of its probability to be drawn. None if all labels are taken.
    """
    q = len(annotations)
    annotated = np.flatnonzero(annotations)
    if q <= FEW_LABELS or len(annotated) <= _DRAWN:
        return None if len(annotated) == q else (annotated, np.ones(len(annotated)))
    probability = chances(np.sqrt(annotations), _DRAWN)
    order = np.argsort(-annotations, kind="stable")
    ends = np.floor(np.cumsum(probability[order]) + np.random.default_rng(seed).random())
    columns = np.sort(order[np.diff(ends, prepend=0.0) > 0])
    return columns, 1 / probability[columns]


def step_for_all(settings: Settings, share: float) -> Settings:
    """Turn settings that are best on a share of the instances into settings for all, or back, by 1 / share."""
    return replace(settings, eta0=settings.eta0 * share**_STEP_EXPONENT)


class Sample:
    """A sample of the instances, drawn without replacement; with many labels, also a sample of labels.

    `size`: the maximum number of instances; all are taken, in their order, if there are no more.
    `m`: the number of folds; None: by the number of instances.
    `drawn`: a subset of the labels, as from `draw_labels`. Default: all.
    `rows`, `columns`: int: the instances and labels in the sample, ascending.
    `features`, `labels`, `verified`, `groups`: of these instances and labels.
    `weights`: float64, shape (m,): how many labels each label represents; None: only itself, since all are drawn.
    `fold_rows`: the instances of each fold, by their places in the sample.
    `share`: the share of all instances that are in the sample.
    """

    def __init__(
        self,
        population: Instances,
        size: int,
        m: int | None,
        run: Run = DEFAULT_RUN,
        drawn: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        n, q = population.labels.shape
        self.population = population
        self.run, self.rows, self.share = run, draw_rows(n, size, run.seed), min(size / n, 1.0)
        self.columns, self.weights = np.arange(q), None if drawn is None else drawn[1]
        instances = population  # a copy of all instances would take as much memory
        if self.share < 1:
            instances = population.rows(self.rows)
        if drawn is not None:
            self.columns = drawn[0]
            instances = instances.block(self.columns)
        self.features, self.labels, self.verified = instances.features, instances.labels, instances.verified
        self.groups, self._prior = instances.groups, None
        if population.label_features is not None:
            of_labels = population.label_features[self.columns]
            if not self.features.dense.shape[1]:  # words in names of other labels, for example, are left out
                used = Columns.occurring(self.features.sparse, of_labels)
                narrow, of_labels = used.of(self.features.sparse), used.of(of_labels)
                self.features = Features(narrow, self.features.dense)
            self._prior = Prior.of(self.features, of_labels)
        self.fold_rows = deal(len(self.rows), m or default_folds(len(self.rows)), run.seed, instances.kin)

    @property
    def is_all(self) -> bool:
        """Whether the sample contains all instances and all labels."""
        return self.share == 1 and self.weights is None

    @property
    def has_evidence(self) -> bool:
        """Whether there are annotations from which c can be estimated."""
        return bool(counts_by_chance(self.labels, self.verified)[0].any())

    def task(self, frequency: LabelFrequency, settings: Settings) -> LearningTask:
        """Return the learning task for the sample."""
        return LearningTask(self.features, self.labels, frequency, settings, self.run, self._prior)

    def of_every_label(self, some: SingleFrequencies, columns: np.ndarray, c: np.ndarray | float) -> SingleFrequencies:
        """Return the frequencies of all labels, from those of some columns, and c for the others."""
        labels, verified = self.population.labels, self.population.verified
        return some.of_all(labels.shape[1], columns, c).at_least(least_frequencies(labels, verified)[0])

    def answered(self, probabilities: np.ndarray, answers: Answers) -> tuple[ScoredCells, Answers]:
        """Return the cells with calibrated naive probabilities, and the answers on unannotated ones of these."""
        frequency = LabelFrequency.naive(self.labels.shape, self.verified)
        calibration = calibrate(HeldOut(probabilities, self.labels, frequency), FEWEST_FOR_ANSWERS)
        calibrated = probabilities if calibration is None else calibration(probabilities)
        inside = answers[np.isin(answers.rows, self.rows) & np.isin(answers.columns, self.columns)]
        rows, columns = np.searchsorted(self.rows, inside.rows), np.searchsorted(self.columns, inside.columns)
        is_open = ~values_at(self.labels, rows, columns).astype(bool)
        cells = ScoredCells.of(calibrated, self.labels, self.verified, self.columns, self.weights)
        return cells, replace(inside, rows=rows, columns=columns)[is_open]

    def labelled(self) -> np.ndarray:
        """Return whether each instance has a label, or is known to have none: bool, shape (n,)."""
        return LabelFrequency.of(1.0, self.labels.shape, self.verified).labelled(self.labels)

    def calibrated(self, probabilities: np.ndarray) -> np.ndarray | None:
        """Return naive probabilities, calibrated; None if no label is annotated."""
        frequency = LabelFrequency.naive(self.labels.shape, self.verified)
        calibration = calibrate(HeldOut(probabilities, self.labels, frequency))
        if calibration is None:
            return None
        calibrated = calibration(probabilities)
        calibrated[frequency.ignored()] = 0
        return calibrated

    def share_read(self, calibrated: np.ndarray) -> float:
        """Estimate the share of the instances that people have looked at, from how many have no labels.

        The result is 1 unless far more have none than labels missing one by one would leave, also among the instances
        with the most expected annotations: others may have none because their labels go together.

        `calibrated`: naive probabilities.
        """
        labelled, none, n = self.labelled(), _without_labels(calibrated), len(calibrated)
        found, expected, deviation = n - np.count_nonzero(labelled), none.sum(), np.sqrt((none * (1 - none)).sum())
        if found < max(_MANY_UNLABELLED * n, _TOO_MANY * expected, expected + 3 * deviation):
            return 1.0
        surest = np.argsort(-calibrated.sum(axis=1), kind="stable")[: n // _SUREST]
        share, of_surest = (_share_read(calibrated[rows], labelled[rows]) for rows in (slice(None), surest))
        return share if 1 - of_surest > (1 - share) / 2 else 1.0

    def naive_probabilities(self, tick: Callable[[], None] = lambda: None) -> np.ndarray:
        """Predict Pr(s=1 | x) out of fold, float32, instances x labels, for estimating c.

        It is learned from the cells whose annotation was left to chance (`VerifiedLabels.left_to_chance`).
        """
        frequency = LabelFrequency.naive(self.labels.shape, self.verified)
        return dense_out_of_fold(self.task(frequency, self._naive_settings), self.fold_rows, tick)

    @property
    def _naive_settings(self) -> Settings:
        return replace(default_settings(self.features), cost=cost_for(self.features, _NAIVE_COST))

    def membership_explained(self, which: np.ndarray) -> np.ndarray:
        """Estimate the share of the variance of membership that features explain, for some of the groups; 0 for others.

        1 if there are no features.
        """
        assert self.groups is not None
        explained = np.zeros(len(self.groups.names))
        explained[which] = 1.0
        if len(which) and self.features.squared_norms.any():
            members = self.groups.of_instances[:, None] == which
            naive = LabelFrequency.of(1.0, members.shape)
            task = LearningTask(self.features, csr_array(members), naive, self._naive_settings, self.run)
            found = dense_out_of_fold(task, self.fold_rows)
            with np.errstate(divide="ignore", invalid="ignore"):  # a group of all instances
                together = [np.corrcoef(pair)[0, 1] for pair in zip(members.T, found.T, strict=True)]
            explained[which] = np.nan_to_num(np.maximum(together, 0)) ** 2
        return explained


def _without_labels(probabilities: np.ndarray) -> np.ndarray:
    """Return the probability that each instance has no annotation if labels go missing independently."""
    none: np.ndarray = np.prod(1 - np.minimum(probabilities, 1), axis=1, dtype=float)
    return none


def _share_read(probabilities: np.ndarray, labelled: np.ndarray) -> float:
    """Return the share of the instances of which `_without_labels`, by probabilities / share, explains the rest."""
    n, share = np.count_nonzero(labelled), float(labelled.mean()) if len(labelled) else 0.0
    for _ in range(_SHARES_TRIED if n else 0):
        share = float(min(n / (len(labelled) - _without_labels(probabilities / share).sum()), 1.0))
    return share


def draw_sample(population: Instances, options: FrequencyOptions, run: Run) -> Sample:
    """Draw instances and, with many labels, labels; TooLargeError if predictions for them would not fit in memory."""
    (n, q), drawn = population.labels.shape, draw_labels(population.annotations, run.seed)
    refuse_large_sample(min(n, options.sample), q if drawn is None else len(drawn[0]))
    return Sample(population, options.sample, usual_folds(n, q, options.folds), run, drawn)


# From this share of repeated instances on, a warning is shown.
_MANY_REPEATED = 0.02


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """The label frequency, and what it comes from."""

    # Set by the user: for all labels, or for some, with NaN for the others; None: it is estimated
    given: Any = None
    # From the annotations alone; None if c is given, or if a review leaves no annotation to estimate it from
    estimate: FrequencyEstimate | None = None
    # From human decisions on cells or instances drawn at random; if there are any, c comes from these
    reviewed: ReviewedFrequency | None = None
    # For each label, if labels differ; `estimate` is for all labels then
    single: SingleFrequencies | None = None
    # For groups of instances, if there are any; `estimate` is for all groups then
    groups: SingleFrequencies | None = None
    labels_differ: bool = False  # whether labels of one group clearly differ, so that c of groups may be far too high
    repeated: float = 0.0  # share of the instances that have the features of an earlier one
    dominating: Dominating | None = None  # the feature that has nearly all of the squared length of the instances

    @classmethod
    def before(cls, given: Any, population: Instances) -> "Estimates":
        """Return what is known before an estimate."""
        return cls(given=given, repeated=population.share_repeated, dominating=population.dominating)

    @property
    def earlier(self) -> EarlierEstimate | None:
        """Return c from the file of an earlier command, if the user gives one."""
        return self.given if isinstance(self.given, EarlierEstimate) else None

    def rates(self, q: int) -> np.ndarray:
        """Return the label frequency of each of q labels: float64, shape (q,); 1 for labels the estimate leaves out."""
        if not is_estimated(self.given):
            return np.full(q, self.given, float)
        if self.reviewed is not None:
            rates = self.reviewed.rates
        else:
            rates = np.full(q, self.overall.c) if self.single is None else self.single.c.copy()
            if self.estimate is not None:
                rates[list(self.estimate.left_out)] = 1.0
        return rates if self.given is None else np.where(np.isnan(self.given), rates, self.given)

    @property
    def overall(self) -> FrequencyEstimate | ReviewedFrequency | EarlierEstimate:
        """Return the source of c of all labels, and of its interval."""
        basis = self.reviewed or self.estimate or self.earlier
        if basis is None:
            raise ValueError("no label frequency was estimated")
        return basis

    @property
    def range_of_c(self) -> tuple[float, float]:
        """Return the ends of the 90 % interval of c, as multiples of c; 1 and 1 if there is no interval."""
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
        if self.unread and not self.are_read:
            advice = "; if they truly have none, answer 40 questions or give c" * (self.reviewed is None)
            found.append(
                f"about {self.unread:.0%} of the instances seem to have no labels because nobody has looked at them: "
                f"far more have none than labels missing one by one would leave{advice}"
            )
        if self.labels_differ:
            found.append(
                "labels of a group clearly differ in the share that is annotated, which c of groups ignores: it may be "
                "far too high; without groups, each label gets its own c"
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
        """Whether c is known, not merely assumed because people seem to have stopped at some number of labels."""
        if self.earlier is not None:
            return self.earlier.interval is not None
        return self.reviewed is not None or self.estimate is None or self.estimate.label_cap is None

    @property
    def by_annotations_alone(self) -> float | None:
        """Return c from the annotations alone; None if they do not show it."""
        return None if self.estimate is None or self.estimate.label_cap else self.estimate.c

    @property
    def unread(self) -> float:
        """Return the share of the instances that nobody seems to have looked at."""
        return 0.0 if self.estimate is None else self.estimate.unread

    @property
    def are_read(self) -> bool:
        """Whether decisions refute `unread`: c is surely larger than the share of instances that were looked at."""
        return self.reviewed is not None and self.reviewed.limits[0] > 1 - self.unread

    @property
    def assumption(self) -> str | None:
        """Return the assumption behind c if it comes from annotations alone; else None."""
        if self.reviewed is not None or self.estimate is None:
            return None
        if self.groups is not None and self.is_known:
            return ASSUMPTION_OF_GROUPS
        known = self.estimate if self.single is None else replace(self.estimate, label_cap=None)
        return known.assumption

    def frequency(self, data: Problem | Sample) -> LabelFrequency:
        """Return the label frequency of all cells, that of groups if there are any."""
        groups, population = data.groups, data.population if isinstance(data, Sample) else data
        rates = self.rates(population.labels.shape[1])
        if isinstance(data, Sample):
            rates = rates[data.columns]
        of_instances = None if self.groups is None or groups is None else self.groups.c[groups.of_instances]
        return LabelFrequency.of(rates, data.labels.shape, data.verified, of_instances)


def refuse_two_frequencies(problem: Problem, c: Any = None) -> None:
    """Raise DataError if instances are in groups, and c is set or does not come from annotations alone."""
    others = c is not None or problem.is_reviewed or problem.answers is not None
    if problem.groups is not None and others:
        raise DataError(
            "c of groups is estimated from annotations alone, and here it is set, or comes from verified "
            "labels drawn at random: leave out one of them"
        )


def estimate_frequency(
    sample: Sample,
    tick: Callable[[], None] = lambda: None,
    *,
    given: Any = None,
    scores: np.ndarray | None = None,
    method: str = "bbe",
) -> Estimates:
    """Estimate c from the annotations and, if there are any, from human decisions, which then take precedence.

    `given`: as in `Estimates`.
    `scores`: of the sample, out of fold, from 0 to 1. Default: from a linear model that is learned here.
    """
    population, before = sample.population, Estimates.before(given, sample.population)
    if population.is_reviewed and not sample.has_evidence:
        return replace(before, reviewed=from_people(population))
    probabilities = sample.naive_probabilities(tick) if scores is None else scores
    calibrated = sample.calibrated(probabilities)
    has_all_annotated = sample.weights is None or not (sample.weights > 1).any()
    of_all_labels = calibrated if has_all_annotated else None
    read = 1.0 if of_all_labels is None else sample.share_read(of_all_labels)
    verified = sample.verified
    if population.answers is not None and verified is not None:  # from annotations alone
        verified = replace(verified, cells=only_entries(verified.cells, verified.cells.data != Verdict.FALSE))
    folds = fold_numbers(sample.fold_rows)
    cells = CountedCells.of(probabilities, sample.labels, verified, folds, of_all_labels, scores is None)
    if read < 1 and population.groups is None:  # c comes from the instances with labels
        cells = cells.rows(np.flatnonzero(sample.labelled()))
    of_sample = estimate(cells, method, sample.run.seed)
    by_label, implied = estimate_singly(cells, of_sample) if method == "bbe" else (None, of_sample)
    if population.groups is not None:
        assert calibrated is not None  # some label is annotated
        groups, counts = _of_groups(sample, cells, of_sample, calibrated)
        estimated = of_all_groups(groups, replace(of_sample.of_columns(sample.columns), unread=1 - read), counts)
        largest = population.groups.of_instances[sample.rows] == np.argmax(counts)
        if differing := by_label is not None and differ(cells.rows(largest)):
            estimated = estimated.covering(implied)
        return replace(before, estimate=estimated, groups=groups, labels_differ=differing)
    if read < 1:
        labelled, chance = len(cells.annotated) / len(sample.rows), Z_90 * float(np.sqrt(1 - read))
        counts, of_labels = cells.annotated.sum(axis=1), np.maximum(cells.annotated.sum(axis=0), 1)
        margin = chance * float(np.linalg.norm(counts) / counts.sum())
        of_sample, implied = (one.of_all_instances(read, labelled, margin) for one in (of_sample, implied))
        by_label = by_label and by_label.of_all_instances(read, labelled, chance / np.sqrt(of_labels))
    single = by_label and sample.of_every_label(by_label, sample.columns, implied.c)
    if of_sample.label_cap is None:  # c is unknown otherwise, although labels differ
        of_sample = implied
    answered = None
    if population.answers is not None:
        scored, answers = sample.answered(probabilities, population.answers)
        answered = replace(scored, single=None if single is None else single.c[sample.columns]), answers
    return replace(
        before,
        estimate=replace(of_sample.of_columns(sample.columns), unread=1 - read),
        single=single,
        reviewed=from_people(population, of_sample.c, answered),
    )


def _of_groups(
    sample: Sample, cells: CountedCells, of_all: FrequencyEstimate, calibrated: np.ndarray
) -> tuple[SingleFrequencies, np.ndarray]:
    """Estimate c of each group of instances; also return its number of annotations in the population."""
    population, groups = sample.population, sample.groups
    assert population.groups is not None and groups is not None
    large = np.flatnonzero(groups.sums(cells.annotated.sum(axis=1)) >= FEWEST_OF_GROUP)
    suggested = calibrated.sum(axis=1, dtype=float)
    annotated, known = population.labels, population.verified
    by_chance = annotated if known is None else known.without_implied(annotated)
    counts = population.groups.sums(np.diff(by_chance.indptr))
    return estimate_groups(cells, groups, of_all, suggested, sample.membership_explained(large)), counts
