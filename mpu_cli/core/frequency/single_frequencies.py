"""The label frequency of each label, or each group of instances, from annotations alone, with intervals.

The share annotated rises with the out-of-fold score towards a ceiling, which is a lower bound of the label's
frequency: docs/method.md, "Frequencies of single labels". Their errors and coverage: docs/choices/label-frequency.md,
"One frequency for each label".
"""

from dataclasses import dataclass, field, replace

import numpy as np

from mpu_cli.core.frequency.ceilings import CEILINGS, quantiles
from mpu_cli.core.frequency.estimators import (
    FEWEST_ANNOTATIONS,
    IMPURITY,
    NEARLY_COMPLETE,
    WIDEST,
    Z_90,
    CountedCells,
    FrequencyEstimate,
    estimate,
)
from mpu_cli.core.frequency.review_frequency import normal
from mpu_cli.core.problem import InstanceGroups

# Standard deviations of the log ceilings of labels. Up to the second, labels agree.
_DEVIATIONS = np.array([0, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9])
# Labels clearly differ if a larger deviation makes the annotations of each more probable: on average, by this factor.
_CLEARLY_DIFFER = 2.3
# Annotations refute a deviation if another one makes them so many times as probable. The lower end of c is this share
# of the 5 % quantile that the largest possible one implies, since labels with few annotations have lost more.
_REFUTED, _LOWEST = 100.0, 0.95
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class SingleFrequencies:
    """The label frequency of each label, or of each group of instances."""

    c: np.ndarray  # float64, shape (q,)
    intervals: np.ndarray  # float64, shape (q, 2): 90 %
    # bool, shape (q,): whether c comes from other labels, since labels do not clearly differ or annotations are few; or
    # from all groups, since a small group does not differ by more than chance
    pooled: np.ndarray
    # bool, shape (q,): whether annotations of a group seem capped, so that c is unknown; empty for labels
    unknown: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    def of_all(self, q: int, columns: np.ndarray, c: np.ndarray | float) -> "SingleFrequencies":
        """Return frequencies of q labels: these at `columns`; the others have c, a number or one for each label."""
        rates, intervals = np.full(q, c), np.tile([CEILINGS[0], 1.0], (q, 1))
        pooled = np.ones(q, bool)
        rates[columns], intervals[columns], pooled[columns] = self.c, self.intervals, self.pooled
        return SingleFrequencies(rates, intervals, pooled)

    def at_least(self, least: np.ndarray) -> "SingleFrequencies":
        """Return the same, none below the annotated share of its cells: float64, shape (q,)."""
        intervals = np.maximum(self.intervals, least[:, None])
        return replace(self, c=np.maximum(self.c, least), intervals=intervals)

    def of_all_instances(self, read: float, labelled: float, margins: np.ndarray) -> "SingleFrequencies":
        """Return the same, as `FrequencyEstimate.of_all_instances`; `margins`: float64, shape (q,)."""
        ends = np.column_stack([labelled * (1 - margins), read * (1 + margins)])
        intervals = (self.intervals * ends).clip(CEILINGS[0], 1)
        return replace(self, c=self.c * read, intervals=intervals)

    @property
    def unreliable(self) -> np.ndarray:
        """Whether each label's interval is wider than 0.5: bool, shape (q,)."""
        return self.intervals[:, 1] - self.intervals[:, 0] > WIDEST


def missing(annotations: np.ndarray, cells: np.ndarray, c: np.ndarray, of_all: float) -> np.ndarray:
    """Estimate how many annotations of each label are missing: by its own c, scaled to the total by c of all labels.

    All arrays have shape (q,). `cells`: where each label may be true, annotated or not; no more than these can be.
    """
    each = annotations * (1 / c - 1)
    total = annotations.sum() * (1 / of_all - 1)
    scaled = each * (total / each.sum()) if each.sum() else np.full(len(c), total / len(c))
    return np.minimum(scaled, cells - annotations)


def estimate_singly(
    cells: CountedCells, of_all: FrequencyEstimate
) -> tuple[SingleFrequencies | None, FrequencyEstimate]:
    """Estimate the frequencies of labels that clearly differ, else None; and that of all labels, which these imply.

    Otherwise, the interval of all labels extends to what labels imply if they differ as much as they may, unless c is
    nearly 1.

    `of_all`: from the labels annotated best.
    """
    prior, clearly_differ = _variation(cells)
    if not clearly_differ and of_all.c >= NEARLY_COMPLETE:
        return None, of_all
    counts = cells.annotated.sum(axis=0, dtype=float)
    counts[list(of_all.left_out)] = 0
    posterior = prior[:, None] * np.maximum(cells.ceilings, _TINY)
    posterior /= posterior.sum(axis=0)
    c = CEILINGS @ posterior
    implied = _implied(of_all, counts, c, posterior)
    if clearly_differ:
        return _with_intervals(cells, of_all, c), implied
    return None, of_all.covering(replace(implied, interval=(_LOWEST * implied.interval[0], implied.c)))


def differ(cells: CountedCells) -> bool:
    """Return whether labels clearly differ."""
    return _variation(cells)[1]


def _variation(cells: CountedCells) -> tuple[np.ndarray, bool]:
    """Fit a normal distribution to the logarithms of the ceilings of labels with enough annotations, if there are any.

    Returns: its weights on the grid, float64, shape (G,); and whether labels clearly differ. If they do not, it has the
    largest deviation that annotations do not refute.
    """
    most = int(cells.annotated[:, cells.informative()].sum(axis=0).max())
    likelihood = cells.ceilings_of(min(FEWEST_ANNOTATIONS, most))
    means = np.log(CEILINGS)
    priors = normal(means, means[:, None], np.maximum(_DEVIATIONS, 1e-6)[:, None, None])
    logs = np.log(np.maximum(priors @ likelihood, _TINY)).sum(axis=2)  # (deviations, G)
    by_deviation = logs.max(axis=1)
    beyond_agreeing = by_deviation.max() - by_deviation[:2].max()
    clearly_differ = bool(beyond_agreeing > likelihood.shape[1] * np.log(_CLEARLY_DIFFER))
    possible = np.flatnonzero(by_deviation >= by_deviation.max() - np.log(_REFUTED))
    deviation = by_deviation.argmax() if clearly_differ else possible[-1]
    return priors[deviation, logs[deviation].argmax()], clearly_differ


def alike(cells: CountedCells, of_all: FrequencyEstimate, c: np.ndarray) -> SingleFrequencies:
    """Return c of all labels or groups, as it applies to each label, with intervals: labels may differ unnoticed."""
    single = _with_intervals(cells, of_all, c)
    return replace(single, pooled=np.ones(len(c), bool))


def _with_intervals(cells: CountedCells, of_all: FrequencyEstimate, c: np.ndarray) -> SingleFrequencies:
    annotations, (at_least, at_most) = cells.annotated.sum(axis=0), quantiles(cells.ceilings, [0.05, 0.95])
    low, high = of_all.interval
    if not of_all.predictable:
        high = 1.0
    true = np.maximum(annotations, 1) / c
    ends = [np.minimum(at_least, low - _chance(low, true)), np.maximum(at_most, high + _chance(high, true))]
    intervals = np.transpose([np.minimum(ends[0], c), np.maximum(ends[1], c)]).clip(CEILINGS[0], 1)
    return SingleFrequencies(c, intervals, annotations < FEWEST_ANNOTATIONS)


def _implied(of_all: FrequencyEstimate, counts: np.ndarray, c: np.ndarray, posterior: np.ndarray) -> FrequencyEstimate:
    """Return the estimate of all labels from those of each, and from the posterior of their true annotations.

    `counts`, `c`: float64, shape (q,). `posterior`: float64, shape (G, q).
    """
    mean, square = CEILINGS**-1 @ posterior, CEILINGS**-2 @ posterior
    true, spread = counts @ mean, Z_90 * np.sqrt(counts**2 @ (square - mean**2))
    total = counts.sum()
    overall = float(total / (counts / c).sum())
    low, high = total / (true + spread), min(IMPURITY * total / max(true - spread, total), 1.0)
    interval = min(float(low), overall), max(float(high), overall)
    predictable = of_all.predictable and interval[1] - interval[0] <= WIDEST
    labels = np.flatnonzero(counts)
    return replace(of_all, c=overall, interval=interval, labels=labels, predictable=predictable)


def _chance(c: float, true: np.ndarray) -> np.ndarray:
    """Return the margin by which the annotated share of this many true labels may differ from c by chance."""
    return Z_90 * np.sqrt(c * (1 - c) / true)


# A group with fewer annotations in the sample has no estimate from its instances alone.
FEWEST_OF_GROUP = 300
# Standard error of log c by such an estimate, at least.
_LEAST_ERROR = 0.03
# A ratio that differs from the usual one by fewer standard errors may do so by chance: there may be hundreds of groups.
_NOT_BY_CHANCE = 3.0


def estimate_groups(
    cells: CountedCells, groups: InstanceGroups, of_all: FrequencyEstimate, suggested: np.ndarray, told: np.ndarray
) -> SingleFrequencies:
    """Estimate a label frequency for each group: docs/method.md, "Groups of instances".

    log c is the mean, weighted by precision, of an estimate from the instances of the group alone, and of one from the
    ratio of its annotations to the suggested ones. If features tell groups apart, these follow the annotations.

    `suggested`: float64, shape (n,): the number of annotations that features suggest for each instance.
    `told`: float64, shape (groups,): for large groups, the share of the variance of membership that features explain.
    """
    annotations, left_to_chance = (groups.sums(part.sum(axis=1)) for part in (cells.annotated, cells.left_to_chance))
    is_large, some = annotations >= FEWEST_OF_GROUP, np.maximum(annotations, 0.5)
    expected = np.maximum(groups.sums(suggested) * annotations.sum() / suggested.sum(), 0.5)
    of_groups = [
        estimate(cells.rows(np.flatnonzero(groups.of_instances == group))) if is_large[group] else of_all
        for group in range(len(annotations))
    ]
    unknown = np.array([one.label_cap is not None for one in of_groups])
    known = is_large & ~unknown
    # Logarithms of c and of the ends of its interval: shape (3, groups).
    alone, all_alike = (np.log([(one.c, *one.interval) for one in of]).T for of in (of_groups, [of_all]))
    ratio = np.log(some / expected)
    share_by_chance = np.minimum(_NOT_BY_CHANCE**2 * expected / np.maximum((annotations - expected) ** 2, 1e-9), 1)
    differing = np.abs(ratio) * np.sqrt(1 - share_by_chance)
    error = np.where(known, _errors(alone), differing)
    # The c of a group of the usual ratio: that of all, corrected by the large groups that features do not tell apart.
    precision = np.divide(known, error**2 + told**2, out=np.zeros(len(error)), where=known)
    all_alike += precision @ (alone[0] - ratio - all_alike[0]) / (precision.sum() + _errors(all_alike) ** -2)
    margins = np.array([[0], [-Z_90], [Z_90]])
    by_ratio = all_alike + ratio + margins / np.sqrt(some)
    weight = error**2 / (error**2 + told**2 + 1 / some)
    mean = (1 - weight) * np.where(known, alone, all_alike + margins * error) + weight * by_ratio
    c, *ends = np.exp(mean).clip(CEILINGS[0], 1)
    unknown |= (annotations == 0) & (error > 0)
    found = SingleFrequencies(c, np.transpose(ends), error == 0, unknown)
    return found.at_least(annotations / np.maximum(left_to_chance, 1))


def _errors(logs: np.ndarray) -> np.ndarray:
    """Return the standard errors of log c, from rows with log c and the logs of the ends of its 90 % interval."""
    errors: np.ndarray = np.maximum((logs[2] - logs[1]) / (2 * Z_90), _LEAST_ERROR)
    return errors


def of_all_groups(groups: SingleFrequencies, of_all: FrequencyEstimate, annotations: np.ndarray) -> FrequencyEstimate:
    """Return the estimate of all instances that the groups imply; `annotations`: float64, shape (groups,).

    Its interval combines the lower ends, and the upper ends, of all groups, so it covers more than 90 %.
    """
    c, low, high = (float(annotations.sum() / (annotations / c).sum()) for c in (groups.c, *groups.intervals.T))
    return replace(of_all, c=c, interval=(low, high))
