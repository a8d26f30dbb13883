"""The label frequency c = Pr(s=1 | y=1), from incomplete data alone (docs/method.md, "Estimating the label frequency").

Each method takes the annotations S and out-of-fold probabilities P of a classifier of annotated versus unannotated
(c = 1). Cells whose annotation was not left to chance are left out (`VerifiedLabels.left_to_chance`).

Best bin, the default, pools bins of instances that surely have a label, found by score or by another label. It follows
Garg et al., "Mixture Proportion Estimation and PU Learning: A Modern Approach", NeurIPS 2021, but uses the Wilson score
bound, which is much tighter than Hoeffding's near 0 and 1, and pools over labels, which removes the upward bias of a
maximum over many labels. e1, e2, e3 are the estimators of Elkan and Noto, "Learning Classifiers from Only Positive and
Unlabeled Data", KDD 2008, Section 2, which Kong et al. 2014 use (Section 2.1).

In simulations, the share of the instances in the bins that has the label is rarely below 1 / `IMPURITY`.
docs/choices/label-frequency.md has the measurements.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaincinv, ndtr

from mpu_cli.core.frequency.ceilings import common_ceiling, likelihoods
from mpu_cli.core.options import ASSUMPTION, ASSUMPTION_OF_UNREAD
from mpu_cli.core.problem import Verdict, VerifiedLabels
from mpu_cli.errors import DataError, abridged, counted

# Standard errors from the middle to the ends of 90 and 95 % intervals of a normal distribution.
Z_90, Z_95 = 1.645, 1.96
# Standard errors of the lower bound of a bin's share: many, since the best of about n q bins is taken.
_Z = 6.0
# The same for smaller bins, which may be purer, but whose share is less certain; and from which ratio on it replaces c.
_Z_OF_SMALL, _FAR = 2.0, 1.25
# Folds on which bins are chosen, and their shares counted.
_FOLDS = 5
# A wider interval makes an estimate unreliable.
WIDEST = 0.5
# Fewer annotated instances in a bin may be chance.
_FEWEST_POSITIVES = 10
# Features predict a label well if the share annotated is surely this many times larger in its bin than overall.
_PREDICTABLE_LIFT = 2.0
# Above this, c is near 1, however frequent the labels are.
NEARLY_COMPLETE = 0.95
# If at most the first share of the annotated instances has more than k labels, and at least the second would if labels
# were annotated independently, or k is 1 and three pairs of labels would meet, people may have stopped at k.
_MOST_ABOVE_CAP, _MANY_ABOVE_CAP, _PAIRS = 0.01, 0.15, 3
# A label annotated in at least this share of the instances says nothing about c.
NEARLY_ALL = 0.95
# A label with fewer annotations has no estimate of its own.
FEWEST_ANNOTATIONS = 50
# A label with fewer does not count for the ceiling that all labels share: many have ten by chance.
_FEWEST_OF_CEILING = 5
METHODS = "bbe", "e1", "e2", "e3"
# With fewer instances, thresholds predict all labels, or intervals of c say that it is sure.
_FEWEST = 10


@dataclass(frozen=True, repr=False)
class FrequencyEstimate:
    """An estimate of the label frequency.

    Attributes
    ----------
    c : float
        In (0, 1], at least the share of the cells that is annotated, like its interval.
    interval : tuple of two floats
        90 % interval: what annotations allow.
    labels : ndarray of int
        The columns of the labels that were used.
    predictable : bool
        Whether the annotations show that the features predict some label well. If not, the estimate may be far off.
        If so, it still rests on `ASSUMPTION`.
    label_cap : int or None
        The number of labels at which people seem to have stopped: at most 1 % of the annotated instances have more,
        and 15 % would have more if labels were annotated independently (for 1: three instances). Then c is unknown: if
        no more true labels of an instance were annotated, the annotations look as if none were missing. `c` holds only
        if no instance truly has more. None: no such number.
    left_out : tuple of int
        The columns of labels annotated in (nearly) all instances, which say nothing about c.
    unread : float
        Share of the instances that nobody seems to have looked at: these have no labels, and c comes from the others.
    """

    c: float
    interval: tuple[float, float]
    labels: np.ndarray
    predictable: bool
    label_cap: int | None = None
    left_out: tuple[int, ...] = ()
    unread: float = 0.0

    @property
    def assumption(self) -> str:
        """The assumption behind c, which annotations cannot confirm."""
        assumed = ASSUMPTION
        if self.label_cap is not None:
            most = counted(self.label_cap, "label")
            assumed = f"no instance truly has more than {most}, and features make some labels certain"
        return f"{ASSUMPTION_OF_UNREAD}; {assumed}" if self.unread else assumed

    def covering(self, other: "FrequencyEstimate") -> "FrequencyEstimate":
        """Return the same estimate with an interval that contains those of both."""
        low, high = min(self.interval[0], other.interval[0]), max(self.interval[1], other.interval[1])
        return replace(self, interval=(low, high), predictable=self.predictable and high - low <= WIDEST)

    def of_all_instances(self, read: float, labelled: float, margin: float) -> "FrequencyEstimate":
        """Return the estimate for all instances, from one for the share of them that people looked at, `read`.

        `labelled`: the share with labels, the least that `read` may be.
        `margin`: by which their share of the true labels may differ by chance, relative to it.
        """
        low, high = self.interval
        interval = low * (labelled * (1 - margin)), min(high * (read * (1 + margin)), 1.0)
        return replace(self, c=self.c * read, interval=interval)

    def of_columns(self, columns: np.ndarray) -> "FrequencyEstimate":
        """Return the same with other numbers of the labels: `columns[k]` for k."""
        left_out = tuple(columns[list(self.left_out)].tolist())
        return replace(self, labels=np.sort(columns[self.labels]), left_out=left_out)

    def cautions(self, n: int, shown: Callable[[int], str]) -> list[str]:
        """Tell if n instances are too few, and name the labels left out; `shown` maps a label's column to its name."""
        found = [f"only {counted(n, 'instance')}: c, thresholds and expected F1 may be far off"] * (n < _FEWEST)
        if self.left_out:
            names = abridged(map(shown, self.left_out[:5]), len(self.left_out))
            found.append(
                f"(nearly) all instances are annotated with {'label' if len(self.left_out) == 1 else 'labels'} "
                f"{names}, which gives no information about c: left out of its estimate, and assumed to be complete"
            )
        return found

    def __repr__(self) -> str:
        values = (f"{name}={value!r}" for name, value in (vars(self) | {"assumption": self.assumption}).items())
        return f"{type(self).__name__}({', '.join(values)})"

    @property
    def caution(self) -> str | None:
        """A warning about the estimate, besides its assumption, or None."""
        if self.label_cap is not None:
            return (
                f"c cannot be estimated from annotations: {capped(self.label_cap)}, which does not show whether others "
                f"are missing; scores suggest {self.c:.3f}, which holds only if {self.assumption}; answer 40 questions "
                "to estimate it"
            )
        if self.predictable or self.interval == (1.0, 1.0):  # every cell is annotated
            return None
        return (
            f"c = {self.c:.3f} is unreliable: annotations are too few, labels are too frequent or annotated at "
            "different rates, or the features predict them too poorly; c and the expected micro-F1 may be far off; if "
            "you know c, give it"
        )


@dataclass(frozen=True)
class _BestBins:
    """The share annotated in the best bins of these columns of labels."""

    labels: np.ndarray
    c: float
    lowest: float  # lower bound of c
    by_partners: bool = False  # whether some bins belong to other labels


@dataclass(frozen=True)
class CountedCells:
    """Cells (instance, label) from which c is estimated."""

    probabilities: np.ndarray  # float32, shape (n, q)
    annotated: np.ndarray  # bool, shape (n, q): the annotated ones among those left to chance
    left_to_chance: np.ndarray  # bool, shape (n, q): the cells that count
    not_ignored: np.ndarray  # bool, shape (n, q): the cells that count, and those found to be false
    folds: np.ndarray | None = None  # int, shape (n,): the fold of each instance; None: random folds
    # The probabilities, calibrated; None: only a `label_cap` of 1 is noticed
    calibrated: np.ndarray | None = None
    is_linear: bool = False  # whether a linear model gave the probabilities: its log odds do not end at those of c

    @classmethod
    def of(
        cls,
        probabilities: np.ndarray,
        labels: csr_array,
        verified: VerifiedLabels | None = None,
        folds: np.ndarray | None = None,
        calibrated: np.ndarray | None = None,
        is_linear: bool = False,
    ) -> "CountedCells":
        """Leave out cells whose annotation was not left to chance."""
        annotated = labels.toarray().astype(bool)
        by_chance = not_ignored = np.broadcast_to(True, annotated.shape)
        if verified is not None:
            verdicts = verified.left_to_chance().verdicts()
            by_chance = verdicts == Verdict.UNKNOWN
            not_ignored = by_chance | (verdicts == Verdict.FALSE)
        return cls(probabilities, annotated & by_chance, by_chance, not_ignored, folds, calibrated, is_linear)

    def informative(self) -> np.ndarray:
        """Return the columns of labels that are not annotated in (nearly) all instances; all columns if all are."""
        share = self.annotated.sum(axis=0) / np.maximum(self.left_to_chance.sum(axis=0), 1)
        informative = share < NEARLY_ALL
        return np.flatnonzero(informative if (informative & (share > 0)).any() else np.ones(len(share)))

    @cached_property
    def ceilings(self) -> np.ndarray:
        """The likelihood of each ceiling of each label's share annotated: float64, shape (G, q)."""
        return likelihoods(map(self.label, range(self.annotated.shape[1])))

    def ceilings_of(self, fewest: int) -> np.ndarray:
        """Return `ceilings` of the informative labels with at least this many annotations."""
        informative = self.informative()
        annotations = self.annotated[:, informative].sum(axis=0)
        return self.ceilings[:, informative[annotations >= fewest]]

    def rows(self, rows: np.ndarray) -> "CountedCells":
        """Return the cells of the given instances."""
        return replace(self, **{name: part[rows] for name, part in self._arrays(1).items()})

    def of_labels(self, columns: np.ndarray) -> "CountedCells":
        """Return the cells of the given labels."""
        if len(columns) == self.annotated.shape[1]:
            return self
        return replace(self, **{name: part[:, columns] for name, part in self._arrays(2).items()})

    def _arrays(self, dimensions: int) -> dict[str, Any]:
        """Return the fields with at least this many dimensions."""
        every = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: part for name, part in every if np.ndim(part) >= dimensions}

    def label(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities and annotations of one label."""
        rows = self.left_to_chance[:, k]
        return self.probabilities[rows, k], self.annotated[rows, k]


def estimate(cells: CountedCells, method: str = "bbe", seed: int = 0) -> FrequencyEstimate:
    """Estimate one label frequency for all labels together.

    `cells`: with out-of-fold Pr(s=1 | x).
    `method`: {"bbe", "e1", "e2", "e3"}. The interval of bbe is extended to the estimate of another.
    Raises DataError (no label is annotated in a cell that counts).

    Of 100 instances that surely have the label, 60 are annotated with it.

    >>> probabilities = np.repeat(np.array([0.6, 0.01], np.float32), [100, 900])[:, None]
    >>> labels = csr_array(np.arange(1000)[:, None] < 60)
    >>> estimate(CountedCells.of(probabilities, labels)).c
    0.6
    """
    n, q = cells.annotated.shape
    if not cells.annotated.any():
        raise DataError(
            f"there is no annotation to estimate c from in the {counted(n, 'instance')} drawn, leaving out complete "
            "instances and ignored cells: draw more instances, or give c"
        )
    informative = cells.informative()
    # Where the share still rises with the score in the best bins, they are impure.
    ceiling = common_ceiling(cells.ceilings_of(_FEWEST_OF_CEILING)) if cells.is_linear else [0.0, 0.0, 0.0]
    cells = cells.of_labels(informative)
    best, lift = _best_bins(cells)
    folds = np.random.default_rng(seed).permutation(n) % _FOLDS if cells.folds is None else cells.folds
    (low, high), of_small = shares_of_best_bins(cells, folds)
    # The share in bins chosen by score on the same instances is too large.
    c = max(best.c, low) if best.by_partners else float(np.clip(best.c, low, high))
    if of_small[0] > _FAR * max(c, high):
        c = of_small[0]
    highest = IMPURITY * max(c, high)
    if of_small[0] >= max(c, high):  # the large bins lack purity
        highest = max(highest, of_small[1])
    least = np.count_nonzero(cells.annotated) / np.count_nonzero(cells.left_to_chance)
    low, highest = max(low, least), min(max(highest, least), 1.0)
    if lift < 1:  # the less the bins stand out, the less they show besides a lower bound
        c, highest = lift * c + (1 - lift) * (low + 1) / 2, 1 - max(2 * lift - 1, 0) * (1 - highest)
    elif ceiling[0] > c:
        c = float(np.sqrt(c * ceiling[1]))
    if method != "bbe":
        c = elkan_and_noto(cells, method)
    low, c, highest = map(_frequency, (low, max(c, least), max(highest, ceiling[2])))
    interval = min(low, c), max(highest, c)
    left_out = np.setdiff1d(np.arange(q), informative)
    return FrequencyEstimate(
        c,
        interval,
        informative[best.labels] if method == "bbe" else informative,
        lift >= 1 and interval[1] - interval[0] <= WIDEST,
        _label_cap(cells),
        tuple(left_out.tolist()),
    )


def capped(label_cap: int) -> str:
    """Say why c is unknown if people seem to have stopped at this number of labels."""
    return f"(nearly) no annotated instance has more than {counted(label_cap, 'label')}, as if people had stopped there"


def _label_cap(cells: CountedCells) -> int | None:
    """Return the number of labels at which people seem to have stopped: below that of all labels; None if absent."""
    instances = np.bincount(cells.annotated.sum(axis=1))[1:]  # by their number of labels
    reached = np.cumsum(instances[::-1])[::-1]  # the instances that have as many, or more
    cap = int(np.count_nonzero(reached > _MOST_ABOVE_CAP * instances.sum()))
    p = cells.calibrated
    if not 0 < cap < np.count_nonzero(cells.annotated.any(axis=0)) or (cap > 1 and p is None):
        return None
    if p is None or cap == 1:
        shares = cells.annotated.mean(axis=0)
        return cap if len(cells.annotated) * (shares.sum() ** 2 - (shares**2).sum()) / 2 >= _PAIRS else None
    mean, variance = (part.sum(axis=1, dtype=float) for part in (p, p * (1 - p)))
    above = ndtr((mean - cap - 0.5) / np.sqrt(np.maximum(variance, np.finfo(float).tiny)))
    return cap if above.mean() >= _MANY_ABOVE_CAP else None


def _frequency(value: float) -> float:
    return float(np.clip(value, 1e-6, 1))


def _best_bins(cells: CountedCells) -> tuple[_BestBins, float]:
    """Pool the best bins of the labels by score; if features predict labels poorly, also use bins of partner labels.

    Returns: the bins, and how far the lower bound of their share exceeds the share overall, relative to what reliable
    estimates need, up to 1: then the features surely predict the labels well.
    """
    counts = np.zeros((2, cells.annotated.shape[1]), int)
    for k in np.flatnonzero(cells.annotated.any(axis=0)).tolist():
        probabilities, annotated = cells.label(k)
        # The best bin ends with an annotated instance, and others with the same score.
        ends = np.unique(probabilities[annotated])[::-1]
        of_bins = np.array([_reaching(ends, probabilities[annotated]), _reaching(ends, probabilities)])
        counts[:, k] = of_bins[:, _best(*of_bins)]
    by_score = _pooled(counts)
    if (lift := _lift(by_score, cells)) >= 1:
        return by_score, lift
    there, of_partners = _best_partners(cells)
    better = there & (counts[1] > 0)
    better[better] = _wilson_lower(*of_partners[:, better]) > _wilson_lower(*counts[:, better])
    pooled = replace(_pooled(np.where(better, of_partners, counts)), by_partners=True)
    return pooled, _lift(pooled, cells)


def _pooled(counts: np.ndarray) -> _BestBins:
    """Pool bins, best first, as long as that raises the lower bound of the pooled share.

    `counts`: int, shape (2, q): the numbers of annotated instances and of all instances in each label's bin.
    """
    labels = np.sort(_best_pool(*counts))
    positives, size = counts[:, labels].sum(axis=1)
    return _BestBins(labels, float(positives / size), float(_wilson_lower(positives, size)))


def _lift(best: _BestBins, cells: CountedCells) -> float:
    base = cells.annotated[:, best.labels].sum() / np.count_nonzero(cells.not_ignored[:, best.labels])
    is_nearly_complete = best.c >= NEARLY_COMPLETE and best.lowest >= base
    return 1.0 if is_nearly_complete else min(float(best.lowest / (_PREDICTABLE_LIFT * base)), 1.0)


def _best_partners(cells: CountedCells) -> tuple[np.ndarray, np.ndarray]:
    """Find each label's partner, among whose instances the label's share has the largest lower bound.

    Returns: whether there is one, shape (q,), and the counts in their bins, shape (2, q), as for `_pooled`.
    """
    annotated, there = (csr_array(part.astype(np.int32)) for part in (cells.annotated, cells.left_to_chance))
    # Row j, column k: label k in the bin of label j.
    positives, size = ((annotated.T @ part).toarray() for part in (annotated, there))
    np.fill_diagonal(positives, 0)
    bounds = np.where(positives >= _FEWEST_POSITIVES, _wilson_lower(positives, np.maximum(size, 1)), -1)
    best = bounds.argmax(axis=0), np.arange(len(bounds))
    return bounds[best] >= 0, np.array([positives[best], size[best]])


def _reaching(thresholds: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return len(scores) - np.searchsorted(np.sort(scores), thresholds)


def _best(positives: np.ndarray, size: np.ndarray, z: float = _Z) -> int:
    """Return the index of the bin whose share has the largest lower bound."""
    enough = positives >= max(min(_FEWEST_POSITIVES, positives[-1]), 1)
    return int(np.argmax(np.where(enough, _wilson_lower(positives, np.maximum(size, 1), z), -1)))


def wilson(successes: np.ndarray | float, trials: np.ndarray | int, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the score interval of a share, at z standard errors (Wilson, JASA 1927)."""
    n, p = trials, successes / trials
    middle, width = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - width) / (1 + z * z / n), (middle + width) / (1 + z * z / n)


def _wilson_lower(successes: np.ndarray, trials: np.ndarray, z: float = _Z) -> np.ndarray:
    return wilson(successes, trials, z)[0]


def elkan_and_noto(cells: CountedCells, method: str) -> float:
    """Estimate c from g = Pr(s=1 | x): e1 its mean over annotated cells, e2 their share of its sum, e3 its maximum."""
    g = np.where(cells.left_to_chance, cells.probabilities, 0)
    if method == "e3":
        return _frequency(float(g.max()))
    whole = np.count_nonzero(cells.annotated) if method == "e1" else g.sum(dtype=float)
    return _frequency(float(g[cells.annotated].sum(dtype=float) / max(whole, np.finfo(float).tiny)))


# Variance inflation of the share in bins: the scores of a fold depend on annotations of the others.
_DESIGN = 1.5
_OUTSIDE = 0.05
# c is at most this many times the share annotated in the best bins.
IMPURITY = 1.4


def _ends(positives: np.ndarray, size: np.ndarray) -> tuple[float, float]:
    """Return a 90 % interval of a share, from the annotated cells and all cells of each instance."""
    k, n = float(positives.sum()), float(size.sum())
    if not n:
        return 1e-6, 1.0
    share = k / n
    variance = float(((positives - share * size) ** 2).sum()) / n
    design = max(_DESIGN, variance / max(share * (1 - share), 1e-9) if 0 < share < 1 else 1.0)
    a, b = k / design + 0.5, (n - k) / design + 0.5
    low, high = betaincinv(a, b, [_OUTSIDE, 1 - _OUTSIDE])
    return float(low), float(high) if k < n else 1.0


def shares_of_best_bins(cells: CountedCells, folds: np.ndarray) -> list[tuple[float, float]]:
    """Return 90 % intervals of the shares annotated in large and in small bins, chosen on other folds."""
    n, q = cells.annotated.shape
    rows = [np.flatnonzero(folds == number) for number in np.unique(folds)]
    parts = [cells.rows(of_fold) for of_fold in rows]
    errors = _Z, _Z_OF_SMALL
    chosen, thresholds = np.zeros((2, 2, len(rows), q)), np.full((2, len(rows), q), np.inf, np.float32)
    for k in np.flatnonzero(cells.annotated.any(axis=0)).tolist():
        of_folds = [part.label(k) for part in parts]
        ends = np.unique(np.concatenate([scores[annotated] for scores, annotated in of_folds]))[::-1]
        counts = np.array([(_reaching(ends, scores[one]), _reaching(ends, scores)) for scores, one in of_folds])
        for f, (positives, size) in enumerate(counts.sum(axis=0) - counts):
            if positives[-1]:
                for i, z in enumerate(errors):
                    best = _best(positives, size, z)
                    thresholds[i, f, k], chosen[i, :, f, k] = ends[best], (positives[best], size[best])
    intervals = []
    for i, z in enumerate(errors):
        positives, sizes = np.zeros((2, n))
        for f, part in enumerate(parts):
            columns = np.sort(_best_pool(chosen[i, 0, f], chosen[i, 1, f], z))
            pool = part.of_labels(columns)
            inside = (pool.probabilities >= thresholds[i, f, columns]) & pool.left_to_chance
            positives[rows[f]], sizes[rows[f]] = (inside & pool.annotated).sum(axis=1), inside.sum(axis=1)
        intervals.append(_ends(positives, sizes))
    return intervals


def _best_pool(positives: np.ndarray, sizes: np.ndarray, z: float = _Z) -> np.ndarray:
    """Return the labels whose bins to pool, best first, as long as that raises the lower bound of the pooled share."""
    there = np.flatnonzero(sizes > 0)
    if not len(there):
        return there
    order = there[np.argsort(-_wilson_lower(positives[there], sizes[there], z), kind="stable")]
    bounds = _wilson_lower(np.cumsum(positives[order]), np.cumsum(sizes[order]), z)
    return order[: int(np.argmax(bounds)) + 1]
