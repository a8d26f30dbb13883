"""Missing labels: the evidence, cells (instance, label) that are not annotated but probably true, and their number.

Everything is computed from out-of-fold predictions of all instances, a block of instances at a time. Verified and
ignored cells are never listed.
"""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from scipy.special import logit

from mpu_cli.core.calibration import Calibration, HeldOut, calibrate
from mpu_cli.core.features import with_values
from mpu_cli.core.frequency import questions
from mpu_cli.core.frequency.estimators import Z_90, CountedCells
from mpu_cli.core.frequency.label_frequency import LabelFrequency, is_estimated
from mpu_cli.core.frequency.single_frequencies import SingleFrequencies, alike, missing
from mpu_cli.core.options import LINEAR, FrequencyOptions, Options
from mpu_cli.core.predictions import Cells, Predictions, blocks, f1_score, refuse_too_large, values_at
from mpu_cli.core.problem import Answers, Problem, Verdict, counts_by_chance
from mpu_cli.core.sample import Estimates, draw_sample, estimate_frequency, refuse_two_frequencies
from mpu_cli.core.selection import TrainingResult, choose_features
from mpu_cli.errors import DataError
from mpu_cli.runtime.options import columns_of, in_order_of
from mpu_cli.runtime.run import Run

_CELLS = 1 << 21  # in a block

Correction: TypeAlias = Callable[[np.ndarray], np.ndarray]


def unannotated_posterior(probabilities: Any, c: ArrayLike) -> Any:
    """Return Pr(y=1 | x, s=0), the probability that an unannotated label is true.

    Parameters
    ----------
    probabilities : array_like of any shape, such as (n, q), or sparse matrix
        p = Pr(y=1 | x), in [0, 1]. Predict training instances out of fold: a model that has seen an instance has
        learned that the label is not annotated there.
    c : array_like, broadcastable to `probabilities`
        Label frequency, Pr(annotated | true), in [0, 1].

    Returns
    -------
    ndarray, or csr_array for a sparse matrix, float32 or float64, same shape as `probabilities`
        Never above p. 0 if c is 1, since unannotated labels are then false.

    Raises
    ------
    DataError
        A number is not in [0, 1], or the shapes do not fit. (A ValueError.)

    References
    ----------
    Elkan and Noto, "Learning Classifiers from Only Positive and Unlabeled Data", KDD 2008, Section 2.

    Examples
    --------
    >>> from mpu_cli import unannotated_posterior
    >>> unannotated_posterior([0.5, 0.9, 0.99], c=0.5).round(3).tolist()
    [0.333, 0.818, 0.98]
    """
    c = in_order_of(columns_of(probabilities), c, "c", "probabilities")
    try:
        np.broadcast_shapes(np.shape(c), np.shape(probabilities))
    except ValueError:
        sizes = f"c has shape {np.shape(c)}, and probabilities {np.shape(probabilities)}"
        raise DataError(f"{sizes}: give one number, or one for each label, instance (in a column) or cell") from None
    if issparse(probabilities):
        entries = csr_array(probabilities)
        rates = np.broadcast_to(c, entries.shape)[entries.nonzero()]
        return with_values(entries, unannotated_posterior(entries.data, rates))
    p = np.asarray(probabilities)
    p = p if p.dtype == np.float32 else p.astype(float)
    frequency = np.asarray(c, p.dtype)
    for name, values in (("probabilities", p), ("c", frequency)):
        if not ((values >= 0) & (values <= 1)).all():
            raise DataError(f"{name}: give numbers from 0 to 1")
    missing = (1 - frequency) * p
    unannotated = missing + (1 - p)  # 1 - c p, without a difference of nearly equal numbers
    return np.divide(missing, unannotated, out=np.zeros_like(unannotated), where=unannotated > 0)


def log_odds(probabilities: np.ndarray, largest: float, least: float | None = None) -> np.ndarray:
    """Return log odds of probabilities from 0 to 1, clipped at `largest`, and at `least` or minus `largest`."""
    with np.errstate(divide="ignore"):
        unlimited: np.ndarray = logit(probabilities)
    return unlimited.clip(-largest if least is None else least, largest)


def posterior_blocks(predictions: Predictions, frequency: LabelFrequency) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Yield instances and labels as `blocks` does, and the posteriors as if no cell were verified."""
    for rows, columns, p in blocks(predictions, _CELLS):
        yield rows, columns, unannotated_posterior(p, frequency.of_unverified(rows, columns))


def posterior_at(
    probabilities: Predictions, frequency: LabelFrequency, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the posteriors of the given cells, as if they were not verified."""
    p = values_at(probabilities, rows, columns)
    posterior: np.ndarray = unannotated_posterior(p, frequency.of_unverified(rows, columns))
    return posterior


# Probabilities of being annotated add up to about the annotations; those of being true, to 1 / c times as many.
_CLEARLY_MORE = 1.2


class Scored:
    """Instances, and out-of-fold scores of a sample of them, used to estimate c and to draw questions.

    `scores`: of all cells (n x q), from any classifier, from 0 to 1; None: from a linear one that is learned here.
    `sample`, `probabilities`: the sample, and Pr(s=1 | x) of its cells, float32.
    Raises TooLargeError (the data do not fit in memory).
    """

    def __init__(self, problem: Problem, options: FrequencyOptions, run: Run, scores: np.ndarray | None = None) -> None:
        features = options.features if scores is None else LINEAR
        chosen = Options(features=features, folds=options.folds, sample=options.sample)
        population = replace(choose_features(problem, chosen, run)[0], label_features=None)
        if scores is None:
            refuse_too_large(population.features.width, problem.labels.shape[1], levels=1)
        else:  # they do not come from these features
            population = replace(population, dominating=None)
        self.sample, self._scores = draw_sample(population, options, run), scores
        if scores is not None:
            self.probabilities = scores[np.ix_(self.sample.rows, self.sample.columns)]
            return
        with run.step("predicting out of fold", len(self.sample.fold_rows)) as tick:
            self.probabilities = self.sample.naive_probabilities(tick)

    def estimates(self, method: str = "bbe", given: Any = None) -> Estimates:
        """Estimate c unless it is given, as `estimate_frequency` does.

        Raises DataError (scores are clearly not Pr(s=1 | x), and the method needs more than their order).
        """
        if not is_estimated(given):
            return Estimates.before(given, self.sample.population)
        if self._scores is not None and method != "bbe":
            population = self.sample.population
            cells = CountedCells.of(self._scores, population.labels, population.verified)
            total, annotated = self._scores[cells.left_to_chance].sum(dtype=float), np.count_nonzero(cells.annotated)
            if annotated and total > _CLEARLY_MORE * annotated + 3 * np.sqrt(annotated):
                raise DataError(
                    f"the scores add up to {total / annotated:.1f} times the annotations, so they are not the "
                    f"probability of being annotated, which method {method} needs; bbe needs only their order"
                )
        with self.sample.run.step("estimating c"):
            return estimate_frequency(self.sample, given=given, scores=self.probabilities, method=method)

    def singly(self, estimates: Estimates) -> SingleFrequencies:
        """Return the label frequency of each label in the problem, from annotations alone."""
        assert estimates.estimate is not None  # c was estimated from annotations
        if estimates.single is not None:
            return estimates.single
        sample, population = self.sample, self.sample.population
        with self.sample.run.step("estimating c of each label"):
            cells = CountedCells.of(self.probabilities, sample.labels, sample.verified)
            c = estimates.frequency(population).of_annotations(population.labels)
            return sample.of_every_label(alike(cells, estimates.estimate, c[sample.columns]), sample.columns, c)

    def answered(self) -> tuple[questions.ScoredCells, Answers]:
        """Return the cells of the sample with scores, and the answers on unannotated ones."""
        nowhere = np.zeros(0, np.int64)
        answers = self.sample.population.answers or Answers(nowhere, nowhere, np.zeros(0, bool))
        return self.sample.answered(self.probabilities, answers)

    def questions(self, n: int, allowed: np.ndarray | None = None) -> questions.Questions:
        """Draw at most n questions, by `core.frequency.questions.draw_questions`, on cells that are not verified.

        `allowed`: bool, shape (q,): the labels that may be asked about. None: all.
        Raises DataError (labels are annotated in complete label sets only).
        """
        if not self.sample.has_evidence:
            raise DataError("only complete label sets have annotations, so there is nothing to choose questions by")
        (cells, answers), truth = self.answered(), None
        if len(answers):
            alone = self.estimates().estimate
            truth = questions.fit(cells, answers, None if alone is None else alone.c).truth
        if allowed is not None:
            cells = replace(cells, open=cells.open & allowed[cells.columns])
        drawn = questions.draw_questions(cells, n, self.sample.run.seed, truth)
        return replace(drawn, rows=self.sample.rows[drawn.rows], columns=cells.columns[drawn.columns])


@dataclass(frozen=True)
class Evidence:
    """The evidence used to list missing labels."""

    # ndarray or csr_array of float32, shape (n, q): Pr(y=1 | x) for all instances, out of fold
    probabilities: Predictions
    frequency: LabelFrequency
    _: KW_ONLY
    estimates: Estimates = field(default_factory=Estimates)  # where the frequency comes from
    kin: np.ndarray | None = None  # int, shape (n,): instances with equal numbers stay in one fold; None: all differ
    # The calibration that turned scores into probabilities; None if a model predicts probabilities
    calibration: Calibration | None = None

    @classmethod
    def of_training(cls, result: TrainingResult, problem: Problem) -> "Evidence":
        """Take the predictions from a training that predicted all instances out of fold."""
        estimates = result.chosen.estimates
        frequency = estimates.frequency(problem)
        return cls(result.held_out.probabilities, frequency, estimates=estimates, kin=result.kin)

    @classmethod
    def of_scores(cls, scores: np.ndarray, problem: Problem, options: Options, run: Run) -> "Evidence":
        """Calibrate out-of-fold scores from any classifier, with c from the options or estimated from the scores.

        Raises DataError (no label is annotated in a cell that is not ignored).
        """
        refuse_two_frequencies(problem, options.c)
        scored = Scored(problem, options, run, scores)
        estimates = scored.estimates(given=options.c)
        frequency = estimates.frequency(problem)
        calibration = calibrated_by(HeldOut(scores, problem.labels, frequency))
        kin = scored.sample.population.kin
        return cls(calibration(scores), frequency, estimates=estimates, kin=kin, calibration=calibration)

    def of_posteriors(self, labels: csr_array) -> LabelFrequency:
        """Return the frequency behind posteriors: where nobody seems to have looked, every true label is missing."""
        unread, frequency = self.estimates.unread, self.frequency
        if not unread or self.estimates.are_read:
            return frequency
        return replace(frequency, share_read=frequency.labelled(labels) / (1 - unread))


def calibrated_by(scores: HeldOut) -> Calibration:
    """Return the calibration of the scores; DataError if no label is annotated in a cell that is not ignored."""
    calibration = calibrate(scores)
    if calibration is None:
        raise DataError("every annotated cell is ignored, so there is nothing to calibrate by")
    return calibration


@dataclass(frozen=True)
class Choice:
    """The conditions that a suggestion must meet to be listed."""

    top: int | None = None  # at most this many, the most probable ones
    least: float | None = None  # with at least this probability
    per_instance: int | None = None  # at most this many per instance, the most probable ones
    columns: np.ndarray | None = None  # bool, shape (q,): labels to list; None: all

    @property
    def is_default(self) -> bool:
        """Whether there is no condition on suggestions of the labels to list."""
        return self.top is None and self.least is None and self.per_instance is None


@dataclass(frozen=True)
class Count:
    """Estimated numbers with 90 % intervals; each is a float, or an array with one value per label."""

    expected: np.ndarray | float
    low: np.ndarray | float
    high: np.ndarray | float


def list_missing(
    probabilities: Predictions,
    annotated: csr_array,
    frequency: LabelFrequency,
    choice: Choice,
    left_out: csr_array | None = None,
    correction: Correction = lambda posterior: posterior,
) -> Cells:
    """List labels that are probably missing, neither annotated nor verified, the most probable first.

    `probabilities`: calibrated Pr(y=1 | x).
    `left_out`: bool, shape (n, q): cells not to list.
    `correction`: turns posteriors into probabilities, in the same order; 0 stays 0.
    Returns: cells with Pr(y=1 | x, s=0) = (1-c) p / (1 - c p) above 0, corrected, in the order of the posteriors; equal
    ones by instance, then by label.

    >>> p = np.array([[0.9, 0.5], [0.8, 0.1]], np.float32)
    >>> annotated = csr_array(np.array([[True, False], [False, False]]))
    >>> best = list_missing(p, annotated, LabelFrequency.of(0.5, (2, 2)), Choice(top=2))
    >>> best.rows.tolist(), best.columns.tolist(), best.probabilities.round(2)
    ([1, 0], [0, 1], array([0.67, 0.33], dtype=float32))
    """
    least = np.float32(choice.least or 0)
    best = Cells(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
    for rows, columns, posterior in posterior_blocks(probabilities, frequency):
        corrected = correction(posterior)
        enough = (corrected > 0) & (corrected >= least)
        i, k = (np.broadcast_to(index, enough.shape)[enough].astype(np.int64) for index in (rows, columns))
        listed = np.ones(len(i), bool) if choice.columns is None else choice.columns[k]
        for others in (annotated, left_out):
            if others is not None:
                listed &= ~values_at(others, i, k).astype(bool)
        if frequency.verified is not None:
            listed &= frequency.verified.at(i, k) == Verdict.UNKNOWN
        block = Cells(i, k, posterior[enough])[listed]
        if choice.top is not None and len(best) >= choice.top:
            block = block[block.probabilities > best.probabilities[choice.top - 1 : choice.top].min(initial=np.inf)]
        if choice.per_instance is not None:
            block = block.best_of_instances(choice.per_instance)
        best = best.joined(block) if choice.top is None else best.joined(block).best(choice.top)
    best = best.best()
    return replace(best, probabilities=correction(best.probabilities))


def count_missing_labels(
    annotated: csr_array,
    frequency: LabelFrequency,
    estimates: Estimates = Estimates(),  # noqa: B008
) -> tuple[Count, Count]:
    """Estimate how many true labels are not annotated, including those found since, except in complete instances.

    docs/method.md, "Missing labels", has the formulas. No more are missing than cells allow, and no fewer than found.

    Returns: `of_labels`: arrays of shape (q,), NaN for unknown ends; `of_all`: numbers.

    >>> annotated = csr_array(np.arange(100)[:, None] < 30)
    >>> of_labels, of_all = count_missing_labels(annotated, LabelFrequency.of(0.75, annotated.shape))
    >>> of_labels.expected.tolist(), of_all.expected, round(of_all.low, 1), round(of_all.high, 1)
    ([10.0], 10.0, 4.0, 16.0)
    """
    (by_chance, cells), c = counts_by_chance(annotated, frequency.verified), frequency.of_annotations(annotated)
    found = found_labels(annotated, frequency).sum(axis=0)
    room, reviewed = cells - by_chance, estimates.reviewed
    if reviewed is not None:
        expected = missing(by_chance, cells, reviewed.rates, reviewed.c)
        low, high = (by_chance * (1 / end - 1) for end in reviewed.intervals.T[::-1])
        low, high = np.minimum(low, expected), np.maximum(high, expected)
        of_all = [by_chance.sum() * (1 / end - 1) for end in (reviewed.c, *reviewed.interval[::-1])]
    else:
        expected = np.maximum(np.minimum(by_chance * (1 - c) / c, room), found)
        low, high = np.full((2, len(c)), np.nan)
        total, basis = expected.sum(), estimates.overall if estimates.are_estimated else None
        if basis is None or basis.interval is None:  # only chance counts
            spread = Z_90 * np.sqrt((expected / c).sum())
            least, most = max(total - spread, 0.0), total + spread
        else:  # where labels differ, the total is in proportion to that of one c for all
            annotations = total / (1 / basis.c - 1) if basis.c < 1 else by_chance.sum()
            least, most = (annotations * (1 / end - 1) for end in basis.interval[::-1])
        of_all = [total, min(least, total), max(most, total)]  # of equals, rounded
    of_labels = Count(*(np.maximum(np.minimum(numbers, room), found) for numbers in (expected, low, high)))
    return of_labels, Count(*np.maximum(np.minimum(of_all, room.sum()), found.sum()).tolist())


def found_labels(annotated: csr_array, frequency: LabelFrequency) -> csr_array:
    """Return the labels verified as true that were not annotated, of the instances that are not complete: bool."""
    found = csr_array(frequency.positives(annotated) > annotated)
    return found if frequency.verified is None else found[frequency.verified.instances == Verdict.UNKNOWN]


@dataclass(frozen=True)
class FillingIn:
    """How many of the first suggestions to fill in, and the expected F1 of the labels before and after."""

    size: int
    f1_before: float
    f1_after: float


def worth_filling_in(listed: Cells, annotations: int, true: float) -> FillingIn:
    """Choose how many suggestions to fill in to maximise the expected F1 of the labels.

    A suggestion raises F1 if its probability exceeds F1 / 2: docs/method.md, "Missing labels".

    `listed`: suggestions, the most probable first.

    >>> listed = Cells(np.arange(3), np.arange(3), np.array([0.9, 0.8, 0.1], np.float32))
    >>> best = worth_filling_in(listed, annotations=8, true=10.0)
    >>> best.size, round(best.f1_before, 2), round(best.f1_after, 2)
    (2, 0.89, 0.97)
    """
    hits = np.minimum(annotations + np.concatenate([[0], np.cumsum(listed.probabilities, dtype=float)]), true)
    f1 = f1_score(hits, annotations + np.arange(len(hits)), true)
    k = int(np.argmax(f1))
    return FillingIn(k, float(f1[0]), float(f1[k]))
