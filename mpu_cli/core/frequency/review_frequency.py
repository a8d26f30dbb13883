"""The label frequency of every label from human decisions: complete label sets, and answers to questions.

Complete label sets are those of instances drawn at random and reviewed, or of a second file from the same population
(docs/method.md, "Frequencies from complete label sets"). `frequency_posterior` computes the posterior of c from these,
and `questions` that from answers on single cells.
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

# Probability outside reported intervals, and outside those by which annotations and people are compared.
_OUTSIDE = 0.1
_SURELY_OUTSIDE = 0.01


@dataclass(frozen=True)
class ReviewedFrequency:
    """The label frequency estimated from human decisions.

    Attributes
    ----------
    c : float
        Share of all true labels that is annotated, in (0, 1].
    interval : tuple of two floats
        90 % credible interval of c.
    rates : ndarray of float64, shape (q,)
        Label frequency of each label, in (0, 1]: posterior means.
    intervals : ndarray of float64, shape (q, 2)
        90 % credible interval of each.
    instances : int
        Number of instances with complete label sets.
    true : ndarray of int, shape (q,)
        True labels of these instances.
    limits : tuple of two floats
        99 % credible interval of c.
    answers, yes : int
        Number of answers to questions, and of those that say the label is true.
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
        """Describe the data of the estimate."""
        sets = f"{self.instances:,} complete label sets"
        if not self.answers:
            return sets
        return counted(self.answers, "answer") + f" and {sets}" * bool(self.instances)

    def contradiction(self, by_annotations: FrequencyEstimate | None) -> str | None:
        """Return a warning if a predictable estimate from annotations alone differs; else None."""
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
    """Estimate c from instances that were drawn at random and completely reviewed.

    `labels`: bool, shape (n, q): labels annotated before the review.
    `verified`: the result of the review. Ignored cells, and annotations found false, do not count.
    `sampled`: int, shape (m,): the instances drawn. Their label sets are complete in `verified`.
    `automatic`: an estimate of c from annotations alone, which counts as much as two true labels.
    Raises DataError (the label set of a sampled instance is not complete).

    Both labels are true in each of 40 instances. Label 0 was annotated in all of them, label 1 in ten.

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
    """Count the annotated ones of these true labels, and all of them: float64, shape (q, 2)."""
    return np.column_stack([_sums(part, 0) for part in reviewed[::-1]])


def of_review(labels: csr_array, verified: VerifiedLabels, sampled: np.ndarray) -> tuple[csr_array, csr_array]:
    """Return the true labels of the sampled instances, without implied ones, and those that were annotated."""
    rows = _complete_rows(verified, sampled)
    annotated, known = labels[rows].astype(bool), verified.rows(rows)
    true = known.without_implied(known.part(annotated)[1].astype(bool))
    return true, true.multiply(annotated)


@dataclass(frozen=True)
class Answered:
    """Answers to questions, with the scores of the cells that may be asked about."""

    cells: questions.ScoredCells  # of some instances, and m of q labels
    answers: Answers  # on these cells
    # `rows`, `columns`: int, shapes (n,) and (m,): the numbers of these instances and labels
    rows: np.ndarray
    columns: np.ndarray

    def fit(self, automatic: float | None = None, reviewed: np.ndarray | None = None) -> questions.FittedFrequency:
        """Call `questions.fit`; `reviewed` is of all q labels."""
        of_these = None if reviewed is None else reviewed[self.columns]
        return questions.fit(self.cells, self.answers, automatic, of_these)

    def forecast(
        self, widths: Sequence[float], c: float, automatic: float | None, reviewed: np.ndarray | None
    ) -> tuple[dict[float, int], float | None]:
        """Return how many more questions make the interval of c as narrow as each width, by simulated answers.

        The second value is the width to expect after as many more answers as there are; None if there are none.

        `c`: the c to expect, used if there are no answers. `automatic` and `reviewed`, as for `fit`, are not used then.
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
    """Estimate c of q labels from answers to questions, and from reviewed instances if there are any.

    Labels without scores get the posterior of a label without answers.
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
    """Estimate c as the ratio of label shares in this file and in a complete second one from the same population.

    The instances of both files are in one matrix. The label sets of `second`, the instances of the second file, are
    complete in `verified`. Other complete instances do not count.
    Raises DataError (a label set of the second file is not complete).

    The only label has a share of 0.3 in the first file and of 0.6 in the second.

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
    """Estimate c by `from_answers`, `from_review` or `from_second_file`, the first that has data; None if none has.

    `labels`, `verified`, `automatic`: as for `from_review`.
    `sampled`, `second`: as in `core.labels.problem.Problem`.
    `answered`: used together with `sampled`.
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
    """Return how many instances to review for a 90 % interval of c of some width.

    `width`: upper minus lower end of the interval, above 0.
    `c`: the c to expect, in (0, 1]; 0.5 needs most instances.
    `labels_per_instance`: true labels per instance, above 0; of a single label, to plan for its own interval.
    Returns: at least 1. More are needed if the labels of an instance tend to go missing together.

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
    """Return the instances, ascending, each once; DataError if a label set is not complete."""
    rows = np.unique(rows)
    if len(unfinished := rows[verified.instances[rows] != Verdict.FALSE]):
        raise DataError(
            f"c is estimated from complete label sets, and instance {unfinished[0]} has none: say that none of "
            "its other labels is true, or that it was not drawn at random"
        )
    return rows


def _design_effect(kept: np.ndarray, true: np.ndarray) -> float:
    """Return the variance of the share of kept labels relative to a binomial one; at least 1.

    It is larger if the labels of an instance go missing together: the variance of a ratio of sums over m instances
    (Cochran, Sampling Techniques, 1977, Section 6.4), divided by that of a binomial share.
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
