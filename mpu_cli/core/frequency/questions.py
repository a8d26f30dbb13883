"""The label frequency from answers, yes or no, to questions on randomly drawn cells, and from all human decisions.

docs/method.md, "Frequencies from questions", has the model, with the names of its variables, and its priors, and
docs/choices/reviews.md, "Questions and c", how the constants were chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, logit, ndtr

from mpu_cli.core.frequency.review_frequency import (
    CELLS,
    ETAS,
    FOR_LABELS,
    MU_DEVIATION,
    MUS,
    OUTSIDE,
    SHAPES,
    TAUS,
    Posterior,
    ReviewedFrequency,
    centre_of,
    from_review,
    from_second_file,
    marginal,
    normal,
    reviewed_counts,
    summarised,
    with_chance,
)
from mpu_cli.core.predictions import CellList
from mpu_cli.core.problem import Answers, Problem, Verdict, VerifiedLabels, least_frequencies

# The largest r, and how sharply r bends to it. A safeguard, not an estimate: only about 10 of 200 questions are about
# the surest cells. Decisions on suggestions are more informative about these (`people.suggestions`).
_CEILING, _BEND = 0.97, 8.0
# The grid of the log odds of scores.
_SCORES = np.arange(-9.0, 7.1, 0.25)
_STEP = 0.25
# The grids of log kappa, of b and of d, and the priors for c from annotations alone, with the first b, and for any c.
_KAPPAS = np.arange(-9.0, 7.1, 0.25)
_SLOPES = np.array([0.0, 0.25, 0.5, 0.75])
_DEPTHS = np.array([-0.3, -0.15, 0.0, 0.15, 0.3, 0.45, 0.6])
_OF_ONE = {"mu": 0.1, "tau": 0.1, "depth": 0.05}
_OF_ANY = {"mu": MU_DEVIATION, "depth": 0.25}
_SHARE_OF_ONE = 0.3
# x is clipped at these quantiles, since it is noisy for labels with few annotations.
_TAILS = 0.1
_LEAST_SHOWN, _COUNTS_FOR = 0.001, 2
# Standard deviation of the log number of missing labels due to the form of r.
_MISFIT = 0.1
# The number of simulations for a plan, and its fewest and most questions.
SIMULATIONS = 3
_FEWEST_PLANNED, _MOST_PLANNED = 10, 2_560
# Questions are divided among labels in proportion to this power of their annotations.
_BY_ANNOTATIONS = 0.7
# Cells are drawn in proportion to r^a (1 - r)^b, with r above the least.
OF_TRUE, OF_FALSE, LEAST = 0.6, 0.5, 0.005

# Pr(y=1 | s=0) of cells, a function of their scores and their labels.
Truth: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ScoredCells:
    """Cells with the log odds of being annotated."""

    scores: np.ndarray  # float32, shape (n, q): log odds of the calibrated Pr(s=1 | x), out of fold
    missing: np.ndarray  # bool, shape (n, q): unannotated, neither ignored nor in a complete instance
    open: np.ndarray  # bool, shape (n, q): the undecided ones among these
    annotations: np.ndarray  # float64, shape (q,): annotations of each label, left to chance
    # float64, shape (q,): mean probability of these annotations, and of two more with the mean of all labels
    shown: np.ndarray
    columns: np.ndarray  # int, shape (q,): the numbers of these labels
    weights: np.ndarray | None = None  # float64, shape (q,): how many labels each represents; None: only itself
    single: np.ndarray | None = None  # float64, shape (q,): c of each label from annotations alone, if labels differ

    @classmethod
    def of(
        cls,
        probabilities: np.ndarray,
        labels: csr_array,
        verified: VerifiedLabels | None,
        columns: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> "ScoredCells":
        """Make scored cells from calibrated probabilities, float32 (n x q), annotated labels and verified ones."""
        limit = np.finfo(np.float32).eps
        scores = logit(np.clip(probabilities, limit, 1 - limit)).clip(_SCORES[0], _SCORES[-1])
        annotated = labels.toarray().astype(bool)
        verified = verified or VerifiedLabels.of(labels.shape)
        given = verified.left_to_chance().verdicts()
        missing = ~annotated & (given != Verdict.IGNORED)
        unanswered = missing & (verified.verdicts() == Verdict.UNKNOWN)
        annotated &= given == Verdict.UNKNOWN
        there = annotated.sum(axis=0, dtype=float)
        shown = np.where(annotated, expit(scores), 0).sum(axis=0, dtype=float)
        of_all = shown.sum() / max(there.sum(), 1)
        shown = (shown + _COUNTS_FOR * of_all) / (there + _COUNTS_FOR)
        return cls(scores, missing, unanswered, there, shown, columns, weights)

    def sureness(self, share: np.ndarray) -> np.ndarray:
        """Return x of each label, shape (q,): log odds, clipped, centred at the mean weighted by `share`.

        They are those of `single` if labels differ, else of `shown`.
        """
        shown = self.shown if self.single is None else self.single
        log_odds = logit(np.clip(shown, _LEAST_SHOWN, 1 - _LEAST_SHOWN))
        order = np.argsort(log_odds)
        ends = np.searchsorted(np.cumsum(share[order]), np.array([_TAILS, 1 - _TAILS]) * share.sum())
        x = log_odds.clip(*log_odds[order[np.minimum(ends, len(order) - 1)]])
        return x - np.average(x, weights=share)

    @cached_property
    def kappas(self) -> np.ndarray:
        """Return log kappa of each label at each d and log odds of c: shape (D, q, J).

        It exceeds its grid where so many labels have no room in the cells that are asked about, by the log ratio.
        """
        place = np.round((self.scores - _SCORES[0]) / _STEP).astype(np.intp)
        pairs = zip(place.T, self.missing.T, strict=True)
        counts = np.array([np.bincount(at[there], minlength=len(_SCORES)) for at, there in pairs], float)
        asked = counts * (np.exp(_SCORES) >= LEAST)
        asked = np.where(asked.any(axis=1, keepdims=True), asked, counts)
        annotated = np.log(np.maximum(self.annotations, 0.5))
        kappas = np.empty((len(_DEPTHS), len(counts), len(ETAS)))
        for of_depth, depth in zip(kappas, _DEPTHS, strict=True):
            log_odds = (1 - depth) * _SCORES
            share = (asked @ np.exp(log_odds)) / np.maximum(counts @ np.exp(log_odds), 1e-12)
            missing = asked @ below_ceiling(_KAPPAS[:, None] + log_odds).T  # (q, K)
            among_asked = annotated + np.log(np.maximum(share, 1e-12))
            etas = among_asked[:, None] - np.log(np.maximum(missing, 1e-12))  # descending
            of_depth[:] = [np.interp(ETAS, of_label[::-1], _KAPPAS[::-1]) for of_label in etas]
            of_depth += np.maximum(etas[:, -1:] - ETAS, 0)
        return kappas

    def at(self, c: np.ndarray | float, depth: float = 0.0) -> Truth:
        """Return Pr(y=1 | s=0) for the given label frequencies, a number or one per label, at the nearest d."""
        eta = np.broadcast_to(logit(np.clip(c, CELLS.c[0], CELLS.c[-1])), self.annotations.shape)
        nearest = int(np.abs(_DEPTHS - depth).argmin())
        d, pairs = float(_DEPTHS[nearest]), zip(eta, self.kappas[nearest], strict=True)
        kappas = np.array([np.interp(one, ETAS, of_label) for one, of_label in pairs])
        return lambda scores, columns: below_ceiling(kappas[columns] + (1 - d) * scores)


@dataclass(frozen=True)
class FittedFrequency:
    """The posterior of the label frequencies."""

    overall: Posterior  # of the annotated share of all true labels
    by_label: Posterior  # of the frequency of each label
    truth: Truth  # at the means of these frequencies, and of d
    least: float  # the share overall that annotations allow

    @property
    def width(self) -> float:
        """Return the width of the 90 % interval of the share overall, as far as annotations allow."""
        return float(np.ptp(np.maximum(self.overall.interval(OUTSIDE), self.least)))


@dataclass(frozen=True)
class Questions(CellList):
    """Cells to ask about, in random order.

    Attributes
    ----------
    rows, columns : ndarray of int64, shape (m,)
    chance : ndarray of float64, shape (m,)
        The probability with which each cell was drawn.
    probabilities : ndarray of float64, shape (m,)
        The probability that the label is true.
    """

    chance: np.ndarray
    probabilities: np.ndarray


def below_ceiling(log_r: np.ndarray) -> np.ndarray:
    """Return r = Pr(y=1 | s=0) from its logarithm without a ceiling: any shape."""
    r = np.exp(-np.logaddexp(-_BEND * log_r, -_BEND * np.log(_CEILING)) / _BEND)
    return np.maximum(r, 1e-9)


def fit(
    cells: ScoredCells, answers: Answers, automatic: float | None = None, reviewed: np.ndarray | None = None
) -> FittedFrequency:
    """Estimate the label frequency from answers.

    `answers`: on unannotated cells.
    `automatic`: an estimate of c from annotations alone.
    `reviewed`: ndarray, shape (any, 2): how many true labels of completely reviewed random instances were annotated,
    and how many there are, with a row for each label that `cells.columns` may name.
    """
    q = len(cells.annotations)
    reviewed = None if reviewed is None else reviewed[cells.columns]
    weights = 1.0 if cells.weights is None else cells.weights
    share = cells.annotations * weights
    least = share.sum() / max((share + cells.missing.sum(axis=0) * weights).sum(), 1)
    share = share / max(share.sum(), 1e-300)
    answered = np.union1d(answers.columns, () if reviewed is None else np.flatnonzero(reviewed[:, 1])).astype(int)
    answered = answered[cells.annotations[answered] > 0]
    log_likelihood = _log_likelihood(cells, answers, answered, reviewed)
    none_missing = not answers.true.any() and (reviewed is None or bool((reviewed[:, 0] == reviewed[:, 1]).all()))
    highest = log_likelihood.max(axis=2, keepdims=True, initial=-np.inf)
    likelihood = np.exp(log_likelihood - highest)
    constant = highest.sum(axis=1) if len(answered) else 0.0

    centred = np.append(cells.sureness(share) if share.any() else np.zeros(q), 0.0)  # the last: of any other label
    fits = []
    slopes = _SLOPES if cells.single is None else 1 - _SLOPES  # the first: that of the automatic estimate
    for slope, prior in zip(slopes, _prior(automatic, none_missing), strict=True):
        moved = _moved(likelihood, slope * centred[answered])  # along log odds of c, less b x
        each = marginal(moved)  # (D, answered, H)
        fits.append((slope * centred, moved, each, np.log(prior) + np.log(each).sum(axis=1) + constant))
    most = max(log_weight.max() for *_, log_weight in fits)
    total_weight = sum(np.exp(log_weight - most).sum() for *_, log_weight in fits)

    odds = np.exp(-ETAS)  # of missing to annotated
    rows, of_depths, sums = np.zeros((q + 1, len(ETAS))), np.zeros(len(_DEPTHS)), []
    for offset, moved, each, log_weight in fits:
        weight = np.exp(log_weight - most) / total_weight  # (D, H)
        of_depths += weight.sum(axis=1)
        of_labels = np.tile(weight.sum(axis=0) @ SHAPES, (q + 1, 1))
        of_labels[answered] = (moved * ((weight[:, None] / each) @ SHAPES)).sum(axis=0)
        rows += _moved(of_labels, -offset)
        c = expit(ETAS + offset[:-1, None])  # (q, J)
        total, variance = np.zeros_like(weight), np.zeros_like(weight)
        for labels, likelihoods in ((answered, moved), (np.delete(np.arange(q), answered), np.ones(1))):
            likely = likelihoods * c[labels]  # a prior by Zipf's law of the numbers of true labels
            norm = marginal(likely)
            mean, square = ((likely * values) @ SHAPES.T / norm for values in (odds, odds**2))
            scaled = share[labels] * np.exp(-offset[labels])
            total += scaled @ mean
            variance += scaled**2 @ (square - mean**2)
        sums.append(np.stack([total, variance, weight]).reshape(3, -1))
    overall = replace(_of_odds(*np.hstack(sums)), none_missing=none_missing)
    rows = with_chance(rows, np.append(cells.annotations, np.inf), _MISFIT)
    by_label = Posterior(CELLS, rows / rows.sum(axis=1, keepdims=True), np.arange(q), none_missing)
    return FittedFrequency(overall, by_label, cells.at(by_label.mean(), float(of_depths @ _DEPTHS)), float(least))


def _log_likelihood(
    cells: ScoredCells, answers: Answers, answered: np.ndarray, reviewed: np.ndarray | None
) -> np.ndarray:
    """Return the log likelihood of each d and log odds of c, for labels with decisions: (D, answered, J)."""
    log_likelihood = np.zeros((len(_DEPTHS), len(answered), len(ETAS)))
    scores = cells.scores[answers.rows, answers.columns]
    for at, k in enumerate(answered.tolist()):
        mine = answers.columns == k
        v = cells.kappas[:, k, None] + (1 - _DEPTHS[:, None, None]) * scores[mine][:, None]  # (D, answers, J)
        r = below_ceiling(v)
        log_likelihood[:, at] = np.where(answers.true[mine][:, None], np.log(r), np.log1p(-r)).sum(axis=1)
        log_likelihood[:, at] -= (np.maximum(cells.kappas[:, k] - _KAPPAS[-1], 0) / _MISFIT) ** 2 / 2
        if reviewed is not None:
            kept, true = reviewed[k]
            log_likelihood[:, at] += kept * log_expit(ETAS) + (true - kept) * log_expit(-ETAS)
    return log_likelihood


def _moved(rows: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Shift functions of the log odds of c by a number for each label: (..., labels, J)."""
    place = (np.arange(len(ETAS)) + by[:, None] / (ETAS[1] - ETAS[0])).clip(0, len(ETAS) - 1)
    below = np.minimum(place.astype(np.intp), len(ETAS) - 2)
    part = place - below
    low, high = (np.take_along_axis(rows, np.broadcast_to(at, rows.shape), axis=-1) for at in (below, below + 1))
    return low * (1 - part) + high * part


def draw_questions(cells: ScoredCells, n: int, seed: int, truth: Truth | None = None) -> Questions:
    """Draw cells to ask about, more where answers are more informative.

    Systematic sampling (Madow 1949), label by label, in random order within a label:
    docs/method.md, "Frequencies from questions".

    `n`: the maximum number.
    `truth`: estimated from the answers so far. Default: no answers.
    """
    q = len(cells.annotations)
    rows, columns = np.nonzero(cells.open & (cells.annotations > 0))
    scores = cells.scores[rows, columns].astype(float)
    r = below_ceiling(scores) if truth is None else truth(scores, columns)
    few = r < LEAST
    rows, columns, r = rows[~few], columns[~few], r[~few]
    weight = r**OF_TRUE * (1 - r) ** OF_FALSE
    total = np.bincount(columns, weight, q)
    weight *= (cells.annotations**_BY_ANNOTATIONS / np.maximum(total, 1e-300))[columns]
    rng = np.random.default_rng([seed, int((~cells.open).sum())])  # each round draws other cells
    order = rng.permutation(len(rows))
    order = order[np.argsort(columns[order], kind="stable")]
    chance = chances(weight[order], n)
    ends = np.floor(np.cumsum(chance) + rng.random() + 1e-9)
    drawn = rng.permutation(np.flatnonzero(np.diff(ends, prepend=0.0) > 0))
    cell = order[drawn]
    return Questions(rows[cell], columns[cell], chance[drawn], r[cell])


def chances(weight: np.ndarray, n: int) -> np.ndarray:
    """Return probabilities proportional to weights, clipped at 1, that add up to n; or all 1."""
    surely = np.zeros(len(weight), bool)
    chance = weight
    while not surely.all():
        chance = np.where(surely, 1.0, weight * (max(n - surely.sum(), 0) / weight[~surely].sum()))
        more = ~surely & (chance >= 1)
        if not more.any():
            break
        surely |= more
    return np.where(surely, 1.0, chance)


def _prior(automatic: float | None, none_missing: bool) -> np.ndarray:
    """Return the joint prior of b, d, and (tau, mu): shape (B, D, H).

    A mixture of c from annotations alone, of all labels or, if labels differ, of each (then b = 1), and any c.

    If all answers are no, c is high, but it is unknown how high: then an automatic estimate near 1 gets a wide prior.
    """

    def joint(taus: np.ndarray, mu: float, deviations: dict[str, float]) -> np.ndarray:
        of_mu, of_depth = normal(MUS, mu, deviations["mu"]), normal(_DEPTHS, 0.0, deviations["depth"])
        return np.outer(of_depth, np.outer(taus, of_mu))

    prior = np.tile(joint(np.full(len(TAUS), 1 / len(TAUS)), 0.0, _OF_ANY), (len(_SLOPES), 1, 1)) / len(_SLOPES)
    if automatic is not None:
        nearest = np.arange(len(TAUS)) == np.abs(TAUS - _OF_ONE["tau"]).argmin()
        deviations = _OF_ONE | ({"mu": _OF_ANY["mu"]} if none_missing else {})
        one = joint(nearest, centre_of(automatic), deviations)
        prior *= 1 - _SHARE_OF_ONE
        prior[0] += _SHARE_OF_ONE * one
    return np.maximum(prior, np.finfo(float).tiny)


def _of_odds(mean: np.ndarray, variance: np.ndarray, weight: np.ndarray) -> Posterior:
    """Return the posterior of c from a log-normal mixture of the odds of missing to annotated."""
    kept = weight > 1e-6 * weight.max()
    mean, variance, weight = mean[kept], variance[kept], weight[kept] / weight[kept].sum()
    spread = np.log1p(variance / mean**2)
    with np.errstate(divide="ignore"):
        log_odds = -logit(FOR_LABELS.edges)
    ends = (np.log(mean) - spread / 2, np.sqrt(spread + _MISFIT**2))
    below = ndtr((ends[0] - log_odds[:, None]) / ends[1]) @ weight  # c is small if the odds of missing are large
    probability = np.diff(below)[None]
    return Posterior(FOR_LABELS, probability / probability.sum(), np.zeros(1, int))


def forecast(
    cells: ScoredCells,
    answers: Answers,
    widths: Sequence[float],
    c: float,
    automatic: float | None,
    reviewed: np.ndarray | None,
) -> tuple[dict[float, int], float | None]:
    """Return how many more questions make the interval of c as narrow as each width, by simulated answers.

    Widths that `most_planned` questions do not reach are left out. The second value is the expected width
    after as many more answers as there are now; None if there are none, or if it is not below the present width.

    `c`: the expected c, used if there are no answers. `automatic` and `reviewed`, as for `fit`, are not used then.
    """
    truth, now = cells.at(c), np.inf if cells.open.any() else 0.0
    if len(answers):
        fitted = fit(cells, answers, automatic, reviewed)
        truth, now = fitted.truth, fitted.width
    else:
        automatic = reviewed = None

    def width(n: int) -> float:
        found = []
        for seed in range(SIMULATIONS):
            asked = draw_questions(cells, n, seed, truth)
            simulated = np.random.default_rng(seed).random(len(asked)) < asked.probabilities
            more = answers.joined(Answers(asked.rows, asked.columns, simulated))
            found.append(fit(cells, more, automatic, reviewed).width)
        return float(np.mean(found))

    needed: dict[float, int] = {}
    next_width = width(len(answers)) if len(answers) else np.inf
    if widths:
        most, size, bound = most_planned(cells), _FEWEST_PLANNED, next_width if next_width < now else 0.0
        reached = {size: width(size)}
        while size < most and (reached[size] > min(widths) or (size < len(answers) and min(widths) < bound)):
            size = min(2 * size, most)
            reached[size] = width(size)
        if bound:  # fewer answers than now reach it only by chance in the simulations
            reached = {n: w for n, w in reached.items() if n > len(answers) or w > bound}
            reached = {_FEWEST_PLANNED: now} | reached | {len(answers): bound}
        sizes = sorted(reached)
        falling = np.maximum(np.minimum.accumulate([reached[size] for size in sizes])[::-1], 1e-9)
        numbers = np.exp(np.interp(np.log(widths), np.log(falling), np.log(sizes[::-1])))
        for w, n in zip(widths, numbers.tolist(), strict=True):
            if w >= falling[0]:
                needed[w] = 0 if w >= now else int(np.ceil(round(n, 6)))
    return needed, next_width if next_width < now else None


def most_planned(cells: ScoredCells) -> int:
    """Return how many questions are simulated for a plan at most: all on open cells, if these are few enough."""
    return min(int(cells.open.sum()), _MOST_PLANNED)


def from_people(
    problem: Problem, automatic: float | None = None, answered: tuple[ScoredCells, Answers] | None = None
) -> ReviewedFrequency | None:
    """Estimate c by the first of answers, `from_review` and `from_second_file` with data; None without data.

    `automatic`: as for `from_review`.
    `answered`: used together with the instances of the problem that were drawn at random. Labels without scores get
    the posterior of a label without answers.
    """
    labels, verified, sampled = problem.labels, problem.verified, problem.sampled
    if answered is not None and len(answered[1]):
        (cells, answers), counts = answered, reviewed_counts(problem)
        fitted = fit(cells, answers, automatic, counts)
        place = np.full(labels.shape[1], len(fitted.by_label.probability) - 1)
        place[cells.columns] = fitted.by_label.place
        instances = 0 if sampled is None else len(np.unique(sampled))
        true = np.zeros(len(place)) if counts is None else counts[:, 1]
        first = np.delete(np.arange(len(problem)), () if problem.second is None else problem.second)
        least = least_frequencies(labels[first], verified and verified.rows(first))
        summary = summarised(fitted.overall, replace(fitted.by_label, place=place), instances, true, least)
        return replace(summary, answers=len(answers), yes=int(answers.true.sum()))
    for rows, estimate in ((sampled, from_review), (problem.second, from_second_file)):
        if rows is None or not len(rows):
            continue
        assert verified is not None  # whose label sets are complete
        return estimate(labels, verified, rows, automatic)
    return None
