"""The label frequency of every label, from what people have decided: complete label sets, and answers to questions.

Complete label sets come from instances that were drawn at random and reviewed, or from a second file of the same
population (docs/method.md, "Frequencies from complete label sets"). `frequency_posterior` turns either into what is
probable of c, and `questions` answers on single cells.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaincinv

from mpu_cli.core.frequency import frequency_posterior as posterior
from mpu_cli.core.frequency import questions
from mpu_cli.core.frequency.estimators import FrequencyEstimate
from mpu_cli.core.labels.problem import Answers
from mpu_cli.core.labels.verified import Verdict, VerifiedLabels
from mpu_cli.errors import DataError, counted

# Probability that is left out of intervals, and of those that an estimate contradicts the review outside of.
_OUTSIDE = 0.1
_SURELY_OUTSIDE = 0.01


@dataclass(frozen=True)
class ReviewedFrequency:
    """The label frequency by instances with complete label sets.

    Attributes
    ----------
    c : float
        Share of all true labels that is annotated, in (0, 1].
    interval : tuple of two floats
        90 % credible interval of it.
    rates : ndarray of float64, shape (q,)
        Label frequency of each label, in (0, 1]: the mean of what is probable.
    intervals : ndarray of float64, shape (q, 2)
        90 % credible interval of each.
    instances : int
        Instances whose complete label sets are known.
    true : ndarray of int, shape (q,)
        True labels in these.
    limits : tuple of two floats
        99 % credible interval of `c`.
    answers, yes : int
        Answers to questions, and how many of them say that a label is missing.
    """

    c: float
    interval: tuple[float, float]
    rates: np.ndarray
    intervals: np.ndarray
    instances: int
    true: np.ndarray
    limits: tuple[float, float]
    answers: int = 0
    yes: int = 0

    @property
    def basis(self) -> str:
        """Describe what the estimate rests on."""
        sets = f"{self.instances:,} complete label sets"
        if not self.answers:
            return sets
        return counted(self.answers, "answer") + f" and {sets}" * bool(self.instances)

    def contradiction(self, by_annotations: FrequencyEstimate | None) -> str | None:
        """Return a message if a trustworthy estimate from annotations alone differs; else None."""
        low, high = self.limits
        if by_annotations is None or not by_annotations.predictable or by_annotations.one_label_each:
            return None
        least, most = by_annotations.interval or (by_annotations.c, by_annotations.c)
        if low <= most and least <= high:
            return None
        return (
            f"annotations alone give c = {by_annotations.c:.3f}, and {self.basis} give {self.c:.3f} "
            f"({low:.3f} to {high:.3f}, 99 % interval), which is used; labels are not missing by chance alone"
        )


def from_review(
    labels: csr_array, verified: VerifiedLabels, sampled: np.ndarray, automatic: float | None = None
) -> ReviewedFrequency:
    """Estimate c by instances that were drawn at random and completely reviewed.

    `labels`: bool, shape (n, q): annotated labels, as they were before the review.
    `verified`: what the review found. Ignored cells, and annotations that it found to be false, tell nothing.
    `sampled`: int, shape (m,): the instances drawn. Their label sets are complete in `known`.
    `automatic`: an estimate of c from annotations alone. It counts for two true labels.
    Raises DataError (the label set of a sampled instance is not complete).

    In each of 40 instances both labels are true. Label 0 was annotated in all of them, label 1 in ten.

    >>> S = np.array([[1, 1]] * 10 + [[1, 0]] * 40, bool)
    >>> rows = np.arange(40)
    >>> verified = VerifiedLabels.of(S.shape, true=(rows, np.ones(40, int)), complete=rows)
    >>> estimate = from_review(csr_array(S), verified, rows)
    >>> round(estimate.c, 2), estimate.rates.round(2).tolist()
    (0.62, [0.99, 0.27])
    """
    true, kept = of_review(labels, verified, sampled)
    (n_of_instance, n), (a_of_instance, a) = ([_sums(part, axis) for axis in (1, 0)] for part in (true, kept))
    effect = _design_effect(a_of_instance, n_of_instance)
    overall = posterior.binomial(np.array([[a.sum(), n.sum()]]) / effect, posterior.FOR_ONE)
    by_label = posterior.of_labels(np.column_stack([a, n]), posterior.binomial, automatic)
    of_all, of_each = (
        replace(found, none_missing=bool((a == n).all())) for found in (posterior.of_one(overall, automatic), by_label)
    )
    return _summary(of_all, of_each, true.shape[0], n)


def counts_of(reviewed: tuple[csr_array, csr_array]) -> np.ndarray:
    """Return how many of these true labels were annotated, and how many there are: float64, shape (q, 2)."""
    return np.column_stack([_sums(part, 0) for part in reviewed[::-1]])


def of_review(labels: csr_array, verified: VerifiedLabels, sampled: np.ndarray) -> tuple[csr_array, csr_array]:
    """Return the true labels of the instances drawn, without implied ones, and which of them were annotated."""
    rows = _complete_rows(verified, sampled)
    annotated, known = labels[rows].astype(bool), verified.rows(rows)
    true = known.without_implied(known.part(annotated)[1].astype(bool))
    return true, true.multiply(annotated)


@dataclass(frozen=True)
class Answered:
    """Answers to questions, with the scores of their cells."""

    cells: questions.ScoredCells  # of some instances, and m of q labels
    answers: Answers  # on these cells
    # `rows`, `columns`: int, shapes (n,) and (m,): which instances and labels they are
    rows: np.ndarray
    columns: np.ndarray

    def fit(self, automatic: float | None = None, reviewed: np.ndarray | None = None) -> questions.FittedFrequency:
        """Fit `questions.fit` to them; `reviewed` is of all q labels."""
        of_these = None if reviewed is None else reviewed[self.columns]
        return questions.fit(self.cells, self.answers, automatic, of_these)

    def forecast(
        self, widths: Sequence[float], c: float, automatic: float | None, reviewed: np.ndarray | None
    ) -> tuple[dict[float, int], float | None]:
        """Return how many more questions make the interval of c overall as narrow as each of some widths.

        By simulated answers, the mean of some simulations. The second is the width to expect after as many more as
        there are; None without any.

        `c`: as it is expected where there are no answers. Then no use is made of an automatic estimate, with which
        fewer answers may do; others as for `fit`.
        """
        truth, now = self.cells.at(c), np.inf
        if len(self.answers):
            fitted = self.fit(automatic, reviewed)
            truth, now = fitted.truth, fitted.width
        else:
            automatic = reviewed = None

        def width(n: int) -> float:
            found = []
            for seed in range(questions.SIMULATIONS):
                asked = questions.draw(self.cells, n, seed, truth)
                simulated = np.random.default_rng(seed).random(len(asked)) < asked.probabilities
                more = self.answers.joined(Answers(asked.rows, asked.columns, simulated))
                found.append(replace(self, answers=more).fit(automatic, reviewed).width)
            return float(np.mean(found))

        most = int(self.cells.open.sum())
        needed = questions.questions_needed(widths, now, most, width) if widths else {}
        return needed, width(len(self.answers)) if len(self.answers) else None


def from_answers(
    answered: Answered, q: int, automatic: float | None = None, reviewed: tuple[csr_array, csr_array] | None = None
) -> ReviewedFrequency:
    """Estimate c of q labels by answers to questions, and by reviewed instances where there are any.

    Labels without scores get what is probable of a label that nobody was asked about.
    """
    counts = None if reviewed is None else counts_of(reviewed)
    fitted = answered.fit(automatic, counts)
    place = np.full(q, len(fitted.by_label.probability) - 1)
    place[answered.columns] = fitted.by_label.place
    by_label = replace(fitted.by_label, place=place)
    instances, true = (0, np.zeros(q)) if counts is None or reviewed is None else (reviewed[0].shape[0], counts[:, 1])
    summary = _summary(fitted.overall, by_label, instances, true)
    return replace(summary, answers=len(answered.answers), yes=int(answered.answers.true.sum()))


def from_second_file(
    labels: csr_array, verified: VerifiedLabels, second: np.ndarray, automatic: float | None = None
) -> ReviewedFrequency:
    """Estimate c by a second file with complete label sets, drawn from the same population: the ratio of label rates.

    The instances of both files are in one matrix. The label sets of `second`, the instances of the second file, are
    complete in `verified`. Other instances that are complete tell nothing.
    Raises DataError (a label set of the second file is not complete).

    The only label has a share of 0.3 in the first file and 0.6 in the second.

    >>> second = np.arange(1000, 2000)
    >>> both = csr_array((np.arange(2000) % 1000 < np.repeat([300, 600], 1000))[:, None])
    >>> estimate = from_second_file(both, VerifiedLabels.of(both.shape, complete=second), second)
    >>> round(estimate.c, 2), [round(end, 2) for end in estimate.interval]
    (0.5, [0.46, 0.55])
    """
    rows = _complete_rows(verified, second)
    first = np.setdiff1d(np.flatnonzero(verified.instances == Verdict.UNKNOWN), rows)
    annotated = verified.rows(first).left_to_chance().part(labels[first])[0]
    true = verified.rows(rows).part(labels[rows])[1]
    n, m = len(first), len(rows)
    s, y = (_sums(part, 0) for part in (annotated, true))
    overall = posterior.ratio_of_means(_sums(annotated, 1), _sums(true, 1), posterior.FOR_ONE)
    by_label = posterior.of_labels(np.column_stack([s, y]), partial(posterior.two_shares, n=n, m=m), automatic)
    return _summary(posterior.of_one(overall, automatic), by_label, m, y)


def from_people(
    labels: csr_array,
    verified: VerifiedLabels | None,
    sampled: np.ndarray | None,
    second: np.ndarray | None,
    automatic: float | None = None,
    answered: Answered | None = None,
) -> ReviewedFrequency | None:
    """Estimate c by what people know: by `from_answers`, `from_review` or else `from_second_file`; None by none.

    `labels`, `verified`, `automatic`: as for `from_review`.
    `sampled`, `second`: as in `core.labels.problem.Problem`.
    `answered`: these count together with `sampled`, and `second` does not then.
    """
    if answered is not None and len(answered.answers):
        reviewed = None if verified is None or sampled is None else of_review(labels, verified, sampled)
        return from_answers(answered, labels.shape[1], automatic, reviewed)
    for rows, estimate in ((sampled, from_review), (second, from_second_file)):
        if rows is None or not len(rows):
            continue
        if verified is None:
            raise DataError("instances are marked as complete, but there are no verified labels: give them, too")
        return estimate(labels, verified, rows, automatic)
    return None


def instances_to_review(width: float, c: float, labels_per_instance: float) -> int:
    """Plan a review: how many instances make the 90 % interval of c as narrow as asked for.

    `width`: upper end of the interval less its lower end, above 0.
    `c`: what c is expected to be, in (0, 1]; 0.5 asks for most.
    `labels_per_instance`: true labels of an instance, above 0; of one label, to plan for its own interval.
    Returns: at least 1. More are needed where the labels of an instance tend to go missing together.

    >>> [instances_to_review(width, c=0.5, labels_per_instance=2.5) for width in (0.2, 0.1, 0.05)]
    [26, 108, 432]
    """

    def is_enough(m: int) -> bool:
        true = m * labels_per_instance
        low, high = betaincinv(c * true + 1, (1 - c) * true + 1, [_OUTSIDE / 2, 1 - _OUTSIDE / 2])
        return bool(high - low <= width)

    numbers = range(1, 1 << 40)
    return numbers[bisect_left(numbers, True, key=is_enough)]


def _complete_rows(verified: VerifiedLabels, rows: np.ndarray) -> np.ndarray:
    """Return the instances in ascending order, each once; refuse those whose label set is not complete."""
    rows = np.unique(rows)
    if len(unfinished := rows[verified.instances[rows] != Verdict.FALSE]):
        raise DataError(
            f"c is estimated from complete label sets, and instance {unfinished[0]} has none: say that none of "
            "its other labels is true, or that it was not drawn at random"
        )
    return rows


def _design_effect(kept: np.ndarray, true: np.ndarray) -> float:
    """By how much the share of kept labels varies more than if each were lost on its own; at least 1.

    The annotator of an instance may have been thorough or not, so that its labels go missing together. This is the
    variance of the ratio of sums over m instances (Cochran, Sampling Techniques, 1977, Section 6.4), divided by the
    variance of a binomial share.
    """
    m, n = np.count_nonzero(true), true.sum()
    share = kept.sum() / max(n, 1)
    if m < 2 or share in (0, 1):
        return 1.0
    of_ratio = ((kept - share * true) ** 2).sum() * m / (m - 1) / n**2
    return float(max(of_ratio / (share * (1 - share) / n), 1))


def _summary(
    overall: posterior.Posterior, by_label: posterior.Posterior, instances: int, true: np.ndarray
) -> ReviewedFrequency:
    [(low, high)], [(surely_low, surely_high)] = (overall.interval(p).tolist() for p in (_OUTSIDE, _SURELY_OUTSIDE))
    return ReviewedFrequency(
        float(overall.mean()[0]),
        (low, high),
        by_label.mean(),
        by_label.interval(_OUTSIDE),
        instances,
        true.astype(np.int64),
        (surely_low, surely_high),
    )


def _sums(labels: csr_array, axis: int) -> np.ndarray:
    return np.asarray(labels.sum(axis=axis, dtype=float))
