"""Missing labels found from all evidence (features, other labels, answers and decisions), and the claims about them.

The claims are the probability of each suggestion, and the number of right suggestions in a list.

A model predicts from the features alone, since a new instance has no annotations. Instances in the data have some,
which are more informative than features if labels are correlated: Pr(y_k=1 | x, s_j of all j other than k) corrects the
predictions first. docs/method.md, "Missing labels".

The share of right suggestions at the top of a list has its own prior, besides c, and decisions and answers update
both: docs/method.md, "Missing labels". docs/choices/reviews.md, "Claims", describes how the constants were chosen.

The posterior assumes that c of a label is the same at all scores. If c comes from answers, scores can contradict
this: if 0.9 of the instances with the highest scores are annotated with a label, its c is not 0.6 there. So the
posterior u only serves as a score, in the form that `core.frequency.questions` fits to answers: Pr(y=1 | u, s=0) =
kappa o^(1 - d), where o are the odds of being annotated at u, by isotonic regression over all labels. With kappa, the
probabilities add up to the number of missing labels by c; d is its posterior mean. Accuracy: docs/choices/reviews.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, logit

from mpu_cli.core.calibration import FEWEST_FOR_ANSWERS, BinnedCells, HeldOut, calibrate
from mpu_cli.core.features import entry_rows, with_values
from mpu_cli.core.frequency.estimators import Z_90, Z_95, wilson
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.questions import below_ceiling
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.implications import Implications
from mpu_cli.core.loss.pu_logistic import pu_gradient
from mpu_cli.core.predictions import Cells, Predictions, values_at
from mpu_cli.core.problem import Answers, HowDecided, Problem, Verdict, VerifiedLabels
from mpu_cli.core.sample import Estimates, draw_rows
from mpu_cli.core.validation import deal, without
from mpu_cli.people.posteriors import (
    Choice,
    Count,
    Evidence,
    FillingIn,
    count_missing_labels,
    found_labels,
    list_missing,
    log_odds,
    posterior_at,
    posterior_blocks,
    worth_filling_in,
)
from mpu_cli.runtime.run import DEFAULT_RUN, Run

_FOLDS = 5
# The parameters of a fold are learned from at most this many instances and cells.
_MOST_INSTANCES, _MOST_CELLS = 20_000, 1 << 22
# Inverse variances of the priors.
_OF_SLOPES, _OF_BIASES, _OF_WEIGHTS = 100.0, 10.0, 3.0
_ITERATIONS = 30
# The limit of the log odds of predictions.
_LARGEST_LOG_ODDS = 20.0
# Few enough to stay in the processor's cache.
_CELLS_AT_A_TIME = 1 << 16

# Turns predicted log odds, float32, shape (n, q), and s (1 - p) into log odds given the other labels.
_Given = Callable[[np.ndarray, csr_array], np.ndarray]


def given_other_labels(evidence: Evidence, annotated: csr_array, run: Run = DEFAULT_RUN) -> Predictions:
    """Return Pr(y_k=1 | x, annotations of the labels other than k) of all cells.

    Returns: ndarray or csr_array of float32, shape (n, q): calibrated. Unchanged if sparse (labels are many), if no
    instance has two labels, or if the other labels do not predict annotations better, out of fold.

    Two labels are true in the same instances, and half of each label's cells are annotated; features are useless.

    >>> rng = np.random.default_rng(0)
    >>> true = np.repeat(rng.random((2000, 1)) < 0.3, 2, axis=1)
    >>> annotated = csr_array(true & (rng.random((2000, 2)) < 0.5))
    >>> predicted = np.full((2000, 2), 0.3, np.float32)
    >>> corrected = given_other_labels(Evidence(predicted, LabelFrequency.of(0.5, (2000, 2))), annotated)
    >>> first, second = annotated.toarray().T
    >>> [round(float(corrected[rows, 1].mean()), 1) for rows in (first, ~first)]
    [0.9, 0.2]
    """
    probabilities, frequency = evidence.probabilities, evidence.frequency
    if not isinstance(probabilities, np.ndarray):
        return probabilities
    n, q = probabilities.shape
    positive = csr_array(frequency.positives(annotated).astype(np.float32))
    positive.eliminate_zeros()
    if np.diff(positive.indptr).max(initial=0) < 2:
        return probabilities
    corrected = np.empty((n, q), np.float32)

    def predict_fold(rows: np.ndarray) -> None:
        others = without(rows, n)
        others = others[draw_rows(len(others), min(_MOST_INSTANCES, _MOST_CELLS // q), run.seed)]
        given = _fit_to_others(probabilities[others], positive[others], frequency.rows(others))
        for block in _blocks(len(rows), q):
            p = probabilities[rows[block]]
            corrected[rows[block]] = expit(given(log_odds(p, _LARGEST_LOG_ODDS), _evidence(p, positive[rows[block]])))

    for _ in run.in_threads(predict_fold, deal(n, _FOLDS, run.seed, evidence.kin)):
        pass
    calibration = calibrate(HeldOut(corrected, annotated, frequency))
    if calibration is not None:
        calibration.apply(corrected)
    before, after = (_loss(values, positive, frequency) for values in (probabilities, corrected))
    return corrected if after < before else probabilities


def _fit_to_others(probabilities: np.ndarray, positive: csr_array, frequency: LabelFrequency) -> _Given:
    from scipy.optimize import minimize  # is slow to import

    q = probabilities.shape[1]
    together = (positive.T @ positive).toarray()
    np.fill_diagonal(together, 0)
    of, on = np.nonzero(together)  # other weights stay 0
    m = len(of)
    learned = together.any(axis=0)  # p of a label that never occurs with others is unchanged
    blocks = []  # log odds of p; s (1 - p) and its transpose; s; c
    for rows in _blocks(*probabilities.shape):
        evidence = _evidence(probabilities[rows], positive[rows])
        c = np.asarray(frequency.rows(rows).of_cells(slice(None)), np.float32)
        z = log_odds(probabilities[rows], _LARGEST_LOG_ODDS)
        blocks.append((z, evidence, csr_array(evidence.T), positive[rows].toarray(), c))

    def by(values: np.ndarray) -> _Given:
        weights = np.zeros((q, q), np.float32)  # v_jk: row j, column k
        weights[of, on] = values[:m]
        slopes, biases = values[m:].astype(np.float32).reshape(2, q)  # a and b

        def given(predicted: np.ndarray, evidence: csr_array) -> np.ndarray:
            z = evidence @ weights
            z += predicted * slopes
            z += biases
            return z

        return given

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        now = by(values)
        weights, (slopes, biases) = values[:m], values[m:].reshape(2, q)
        loss = (_OF_WEIGHTS * weights @ weights + _OF_SLOPES * (slopes - 1) @ (slopes - 1)) / 2
        loss += _OF_BIASES * biases @ biases / 2
        by_weights = np.zeros((q, q), np.float32)
        by_slopes, by_biases = _OF_SLOPES * (slopes - 1), _OF_BIASES * biases
        for predicted, evidence, transposed, s, c in blocks:
            z = now(predicted, evidence)
            loss += _loss_of(expit(z), s, c)
            gradient = pu_gradient(z, s, c)
            gradient *= learned
            by_weights += transposed @ gradient
            by_slopes += np.einsum("ik,ik->k", gradient, predicted)
            by_biases += gradient.sum(axis=0)
        return float(loss), np.concatenate([by_weights[of, on] + _OF_WEIGHTS * weights, by_slopes, by_biases])

    start = np.concatenate([np.zeros(m), np.ones(q), np.zeros(q)])
    bounds = [(0, None)] * m + [(None, None)] * (2 * q)
    limits = {"maxiter": _ITERATIONS, "ftol": 1e-6}  # relative, about the precision of sums in 32 bits
    return by(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits).x)


def _evidence(probabilities: np.ndarray, positive: csr_array) -> csr_array:
    """Return s (1 - p)."""
    rows = entry_rows(positive)
    return with_values(positive, positive.data * (1 - probabilities[rows, positive.indices]))


def _loss(probabilities: np.ndarray, positive: csr_array, frequency: LabelFrequency) -> float:
    """Return the negative log likelihood of the annotations, up to a constant."""
    return sum(
        _loss_of(probabilities[rows], positive[rows].toarray(), frequency.rows(rows).of_cells(slice(None)))
        for rows in _blocks(*probabilities.shape)
    )


def _blocks(n: int, q: int) -> Iterator[slice]:
    step = max(1, _CELLS_AT_A_TIME // q)
    return (slice(start, start + step) for start in range(0, n, step))


def _loss_of(p: np.ndarray, s: np.ndarray, c: np.ndarray) -> float:
    smallest = np.finfo(np.float32).tiny
    return -float(np.log(np.maximum(np.where(s > 0, p, 1 - np.asarray(c, p.dtype) * p), smallest)).sum(dtype=float))


# The grid of d, and the standard deviation of its prior around 0.
_DEPTHS = np.arange(-0.3, 0.91, 0.05)
_OF_DEPTH = 0.25
# The limit of the absolute value of log kappa, and the upper limit of log odds.
_LARGEST_OF_ANSWERS = 20.0


# Turns posteriors, shape (m,), into probabilities at c and at both ends of its interval: shape (3, m).
Claimed = Callable[[np.ndarray], np.ndarray]


def by_answers(
    probabilities: Predictions,
    labels: csr_array,
    frequency: LabelFrequency,
    answers: Answers,
    reviewed: ReviewedFrequency,
) -> Claimed | None:
    """Learn from answers to questions how to turn posteriors into probabilities; 0 stays 0.

    `probabilities`: calibrated Pr(y=1 | x).
    Returns: None if no label is annotated by chance.
    """
    scores = _scores(probabilities, frequency)
    cells = HeldOut(scores, labels, LabelFrequency.naive(labels.shape, frequency.verified))
    calibration = calibrate(cells, FEWEST_FOR_ANSWERS)
    if calibration is None:
        return None
    counts = BinnedCells.of(cells)
    there = np.flatnonzero(counts.cells[0])
    unannotated, of_bins = (counts.cells - counts.true)[0, there], _wide_log_odds(calibration.at_edges(there))
    answered = posterior_at(probabilities, frequency, answers.rows, answers.columns)
    of_answers = _wide_log_odds(calibration(scores_of(answered)))

    def fitted(c: float) -> tuple[float, float]:
        total = counts.true.sum() * (1 / c - 1)
        kappas = np.array([_of_total(total, depth, unannotated, of_bins) for depth in _DEPTHS])
        r = below_ceiling(kappas[:, None] + (1 - _DEPTHS[:, None]) * of_answers)  # (D, m)
        log_weight = np.log(np.where(answers.true, r, 1 - r)).sum(axis=1) - (_DEPTHS / _OF_DEPTH) ** 2 / 2
        depth = float(np.average(_DEPTHS, weights=np.exp(log_weight - log_weight.max())))
        return _of_total(total, depth, unannotated, of_bins), depth

    forms = np.array([fitted(c) for c in (reviewed.c, *reviewed.interval)])
    log_kappas, depths = forms[:, :1], forms[:, 1:]

    def claimed(posterior: np.ndarray) -> np.ndarray:
        z = _wide_log_odds(calibration(scores_of(posterior)))
        return np.where(posterior > 0, below_ceiling(log_kappas + (1 - depths) * z), 0)

    return claimed


def scores_of(posterior: np.ndarray) -> np.ndarray:
    """Return float32 scores in the same order: sigmoids of a third of the log odds, which stay distinct near 1."""
    return expit(log_odds(posterior.astype(np.float32), _LARGEST_OF_ANSWERS, -4 * _LARGEST_OF_ANSWERS) / 3)


def _scores(probabilities: Predictions, frequency: LabelFrequency) -> Predictions:
    scores = np.concatenate([scores_of(posterior) for *_, posterior in posterior_blocks(probabilities, frequency)])
    if isinstance(probabilities, np.ndarray):
        return scores
    return with_values(probabilities, scores)


def _of_total(total: float, depth: float, cells: np.ndarray, z: np.ndarray) -> float:
    """Return log kappa at which `total` cells are true, given counts of cells at log odds z."""
    from scipy.optimize import brentq  # is slow to import

    def off(log_kappa: float) -> float:
        return float(cells @ below_ceiling(log_kappa + (1 - depth) * z)) - total

    ends = -_LARGEST_OF_ANSWERS, _LARGEST_OF_ANSWERS
    if off(ends[0]) >= 0 or off(ends[1]) <= 0:
        return ends[int(off(ends[1]) <= 0)]
    return float(brentq(off, *ends))


def _wide_log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Return log odds from -80 to 20, for probabilities that may be far below those of suggestions."""
    return log_odds(probabilities.astype(float), _LARGEST_OF_ANSWERS, -4 * _LARGEST_OF_ANSWERS)


# The line a + b (z - mean z) at the top of a list: the grid of a, its normal prior, and the values of b. Decisions on a
# list are all at its top, and hardly inform about b; answers to questions are at all depths.
_LEVELS = np.arange(-7.0, 9.01, 0.1)
_MEAN, _DEVIATION = 1.2, 1.05
_SLOPES_BY_LISTS, _SLOPES_BY_ANSWERS = np.array([0.3]), np.array([0.0, 0.8])
# The size of the top, relative to the number of annotations, and its limits.
_TOP, _FEWEST, _MOST = 0.05, 10, 200
# Above this z, differences between claims mean little: there, z rises only by this factor.
_SURE_LOG_ODDS, _RISE_OF_SURE = 3.0, 0.05
# The line extends this far below the lowest z of the top, and fades into the claims over this distance.
_LINE_REACHES, _LINE_FADES = 2.0, 4.0
_SHARE_IN_ORDER = 0.95  # the largest slope of the fading: below 1, claims stay in order
# Weights of c and of both ends of its 90 % interval, which together have the variance of a normal c.
_WEIGHTS = np.array([0.63, 0.185, 0.185])
# The limit of the log odds of posteriors, and their grid.
_LARGEST = 12.0
_TABULATED = np.linspace(-_LARGEST, _LARGEST, 481)


@dataclass(frozen=True)
class Decided:
    """Decisions on suggestions."""

    answered: int
    yes: int
    interval: tuple[float, float]  # 95 %, of the share that is true, if these are a random sample

    @classmethod
    def of(cls, true: np.ndarray) -> "Decided":
        """Count decisions."""
        low, high = np.clip(wilson(int(true.sum()), len(true), Z_95), 0, 1).tolist()
        return cls(len(true), int(true.sum()), (low, high))


@dataclass(frozen=True)
class Claims:
    """Probabilities of suggestions by their posteriors."""

    right: np.ndarray  # float64, shape (G, 481): in each of G cases, at log odds of posteriors from -12 to 12
    weights: np.ndarray  # float64, shape (G,): the probability of each case
    decided: Decided | None = None
    at_top: Count | None = None  # right ones among the top, whatever is listed; None if c was given
    log_kappa: float | None = None  # added to log odds if fewer labels are missing than claimed

    @classmethod
    def of(
        cls,
        probabilities: Predictions,
        problem: Problem,
        evidence: Evidence,
        choice: Choice,
        left_out: csr_array | None = None,
    ) -> "Claims":
        """Learn claims from annotations, answers and decisions.

        If c was given and no cell is decided, the claims are the posteriors.

        `probabilities`: those of `evidence`, perhaps given the other labels.
        `choice`, `left_out`: as for `list_missing`.
        """
        frequency = evidence.of_posteriors(problem.labels)
        reviewed, answers = evidence.estimates.reviewed, problem.answers
        learned = None
        if answers is not None and reviewed is not None and reviewed.answers:
            learned = by_answers(probabilities, problem.labels, frequency, answers, reviewed)
        claimed = learned or _of_c(evidence.estimates)
        rows, columns, true, is_listed = _decided(problem, answers if learned else None)
        size = int(np.clip(_TOP * problem.labels.nnz, _FEWEST, _MOST))
        annotated = frequency.positives(problem.labels).astype(bool)
        top = list_missing(probabilities, annotated, frequency, Choice(top=size, columns=choice.columns), left_out)
        decided = posterior_at(probabilities, frequency, rows, columns)
        if evidence.estimates.are_estimated or is_listed.any():
            claims = cls.estimate(claimed, top.probabilities, decided, true, is_listed)
            is_asked, may_be_none = len(true) or learned, reviewed is None or reviewed.interval[1] == 1
            if is_asked and may_be_none and not true.any():
                # People found no missing label: the case that none is missing gets half the weight.
                right, weights = np.vstack([claims.right, np.zeros((1, len(_TABULATED)))]), np.append(claims.weights, 1)
                claims = replace(claims, right=right, weights=weights / 2)
            return replace(claims, at_top=claims.expected_right(top.probabilities))
        return cls(claimed(expit(_TABULATED))[:1], np.ones(1))

    @classmethod
    def estimate(
        cls,
        claimed: Claimed,
        top: np.ndarray,
        decided: np.ndarray,
        true: np.ndarray,
        is_listed: np.ndarray | slice = slice(None),
    ) -> "Claims":
        """Estimate claims from the posteriors at the top of a list, and from the posteriors of decided cells.

        `true`: bool, shape (m,): the decisions.
        `is_listed`: bool, shape (m,): whether a decision is on a suggestion, not an answer or from a reviewed instance.
        """
        slopes = _SLOPES_BY_LISTS if len(true[is_listed]) == len(true) else _SLOPES_BY_ANSWERS
        a, b = (values.reshape(-1, 1, 1) for values in np.meshgrid(_LEVELS, slopes))
        at, of_top = expit(_TABULATED), np.append(top, decided[is_listed])
        of_top = _compressed_log_odds(claimed(of_top if len(of_top) else np.ones(1)))
        centre, least = of_top.mean(axis=1)[:, None], of_top.min(axis=1)[:, None] - _LINE_REACHES
        z = _compressed_log_odds(claimed(at))
        off = a + b * (least - centre) - least  # fades below the line, so slowly that claims stay in order
        fading = (1 - (least - z) / np.maximum(_LINE_FADES, -off / _SHARE_IN_ORDER)).clip(0, 1)
        lines = np.where(z < least, z + off * fading, a + b * (np.maximum(z, least) - centre))  # (A, 3, 481)
        prior = np.exp(-(((a[:, :, 0] - _MEAN) / _DEVIATION) ** 2) / 2)
        prior = prior / prior.sum() * _WEIGHTS  # (A, 3)
        yes, no = (np.bincount(_place(decided[true == is_true]), minlength=len(at)) for is_true in (True, False))
        log_likelihood = log_expit(lines) @ yes + log_expit(-lines) @ no
        weights = prior * np.exp(log_likelihood - log_likelihood.max())
        right = expit(lines).reshape(-1, len(at))
        of_list = true[is_listed]
        return cls(right, (weights / weights.sum()).ravel(), Decided.of(of_list) if len(of_list) else None)

    def adding_up_to(self, total: float, every: np.ndarray) -> "Claims":
        """Return claims with log odds lowered by a constant, so that the claims for `every` add up to a total."""
        z, cells = np.unique(_wide_log_odds(self.corrected(every)), return_counts=True)
        return replace(self, log_kappa=_of_total(total, 0.0, cells, z))

    def corrected(self, posterior: np.ndarray) -> np.ndarray:
        """Turn posteriors into probabilities, in the same order and precision; 0 stays 0."""
        with np.errstate(divide="ignore"):
            z = logit(posterior.astype(float))
        below = np.minimum(z + _LARGEST, 0)  # the grid
        corrected = expit(np.interp(z, _TABULATED, logit(self.weights @ self.right)) + below)
        if self.log_kappa is not None:
            corrected = np.where(posterior > 0, below_ceiling(self.log_kappa + _wide_log_odds(corrected)), 0)
        return corrected.astype(posterior.dtype)

    def expected_right(self, posterior: np.ndarray) -> Count:
        """Estimate how many suggestions with these posteriors are right; the 90 % interval includes chance."""
        r = self.corrected(posterior).astype(float)
        sums = self.right @ np.bincount(_place(posterior), minlength=len(_TABULATED))  # in each case
        order = np.argsort(sums)
        reached = np.cumsum(self.weights[order])
        ends = sums[order][np.searchsorted(reached, [0.05, 0.95]).clip(max=len(sums) - 1)]
        fewer, more = np.hypot(ends - self.weights @ sums, Z_90 * np.sqrt((r * (1 - r)).sum()))
        count = Count(r.sum(), max(r.sum() - fewer, 0.0), min(r.sum() + more, float(len(r))))
        if self.log_kappa is None:
            return count
        before = replace(self, log_kappa=None).expected_right(posterior)  # the ends ignore the total
        return replace(count, low=min(before.low, count.expected), high=before.high)


def _of_c(estimates: Estimates) -> Claimed:
    """Turn posteriors into those at c and at both ends of its interval: they are proportional to (1-c) / c."""
    c = estimates.overall.c if estimates.are_estimated else 0.5
    of_c = np.clip(c * np.array([1.0, *estimates.range_of_c]), 1e-3, 1 - 1e-3)
    ratio = ((1 - of_c) / of_c)[:, None]
    return lambda posterior: np.minimum(posterior.astype(float) * ratio / ratio[0], 1.0)


def _decided(problem: Problem, learned: Answers | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return decided cells that were not annotated, whether each is true, and whether it is a suggestion.

    Cells that are not suggestions are answers that the claims were learned from, and cells in completely reviewed
    random instances. Added labels are left out, since nothing was claimed about them. If all decisions are yes, people
    may have recorded only accepted suggestions: then only lists that were answered in order count.
    """
    verified, origins = problem.verified or VerifiedLabels.of(problem.labels.shape), problem.origins
    rows, columns = (index.astype(np.int64) for index in verified.cells.nonzero())
    is_single = verified.instances[rows] == Verdict.UNKNOWN
    rows, columns = rows[is_single], columns[is_single]
    if problem.sampled is not None:
        whole, all_columns = np.nonzero(np.ones((len(problem.sampled), problem.labels.shape[1]), bool))
        rows, columns = np.append(rows, problem.sampled[whole]), np.append(columns, all_columns)
    verdicts = verified.at(rows, columns)
    counts = np.isin(verdicts, (Verdict.TRUE, Verdict.FALSE)) & ~values_at(problem.labels, rows, columns).astype(bool)
    rows, columns, true = rows[counts], columns[counts], verdicts[counts] == Verdict.TRUE
    is_listed = verified.instances[rows] == Verdict.UNKNOWN
    if learned is not None:
        q = problem.labels.shape[1]
        is_listed &= ~np.isin(rows * q + columns, learned.rows * q + learned.columns)
    origin = np.zeros(len(rows)) if origins is None else values_at(origins, rows, columns)
    kept = ~is_listed | (origin >= HowDecided.UNKNOWN)
    if true[is_listed & kept].all():
        kept &= ~is_listed | (origin == HowDecided.IN_ORDER)
    return rows[kept], columns[kept], true[kept], is_listed[kept]


def _compressed_log_odds(claimed: np.ndarray) -> np.ndarray:
    z = log_odds(claimed, _LARGEST)
    return np.minimum(z, _SURE_LOG_ODDS) + _RISE_OF_SURE * np.maximum(z - _SURE_LOG_ODDS, 0)


def _place(posterior: np.ndarray) -> np.ndarray:
    """Return the grid point nearest to each posterior: int, shape (m,)."""
    z = log_odds(posterior.astype(float), _LARGEST)
    return np.rint(np.interp(z, _TABULATED, np.arange(len(_TABULATED)))).astype(int)


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """Missing labels of data."""

    there: csr_array  # bool, shape (n, q): annotated or verified as true, and not verified as false
    added: csr_array  # bool, shape (n, q): those of `there` that were never annotated
    # `of_labels`, `of_all`: the numbers of missing labels, per label and in total; None if c is unknown
    of_labels: Count | None
    of_all: Count | None
    found: int  # how many of the missing labels are verified as true
    listed: Cells  # the suggestions, the most probable first
    right: Count  # how many suggestions are right
    filling_in: FillingIn  # how many suggestions to fill in
    decided: Decided | None  # decisions on earlier suggestions, used to correct the probabilities
    answers: int  # the number of answers to questions behind the probabilities and counts


def find(
    evidence: Evidence,
    problem: Problem,
    ids: np.ndarray,
    choice: Choice,
    implications: Implications | None = None,
    run: Run = DEFAULT_RUN,
) -> Suggestions:
    """List missing labels.

    `problem`: features are not needed. Verified cells are not listed again.
    `ids`: int, shape (q,): the label of each column, as written in files; ascending.
    `implications`: labels implied by other labels of the instance are not listed.
    """
    labels, estimates = problem.labels, evidence.estimates
    frequency = evidence.of_posteriors(labels)
    positive = frequency.positives(labels).astype(bool)
    implied = None if implications is None else implications.implied(positive, ids, ids)
    if evidence.calibration is None:  # nothing is learned of labels without annotations and features
        learned = positive.sum(axis=0) > 0
        if problem.label_features is not None:
            learned |= np.diff(problem.label_features.indptr) > 0
        choice = replace(choice, columns=learned if choice.columns is None else learned & choice.columns)
    with run.step("weighing the other labels"):
        probabilities = given_other_labels(evidence, labels, run)
    found = found_labels(labels, frequency).nnz
    with run.step("listing labels"):
        of_labels, of_all = count_missing_labels(labels, evidence.frequency, estimates)
        claims = Claims.of(probabilities, problem, evidence, choice, implied)
        remaining = Count(*(max(count - found, 0.0) for count in vars(of_all).values()))
        # Decisions on lists outweigh c if it comes from annotations alone
        by_decisions = estimates.is_known and estimates.reviewed is None and claims.decided is not None
        if estimates.is_known and claims.at_top is not None:
            if by_decisions:
                remaining = _at_least(remaining, claims.at_top)
            elif claims.at_top.expected > remaining.expected:
                every = list_missing(probabilities, positive, frequency, Choice(), implied)
                claims = claims.adding_up_to(float(remaining.expected), every.probabilities)
        second = np.zeros(0, int) if problem.second is None else problem.second
        n_annotated = positive.nnz - positive[second].nnz
        true = float(n_annotated + remaining.expected)
        is_default = choice.is_default
        if is_default:  # half of the F1 before filling in
            choice = replace(choice, least=n_annotated / max(n_annotated + true, 1))
        listed = list_missing(probabilities, positive, frequency, choice, implied, claims.corrected)
        filling_in = worth_filling_in(listed, n_annotated, true)
        if is_default:
            listed = listed[: filling_in.size]
        right = claims.expected_right(posterior_at(probabilities, frequency, listed.rows, listed.columns))
        right, remaining = _consistent(right, remaining, claims, estimates, by_decisions)
        if by_decisions:
            of_all = Count(*(count + found for count in vars(remaining).values()))
    return Suggestions(
        there=positive,
        added=csr_array(positive > labels),
        of_labels=of_labels if estimates.is_known else None,
        of_all=of_all if estimates.is_known else None,
        found=found,
        listed=listed,
        right=right,
        filling_in=filling_in,
        decided=claims.decided,
        answers=0 if estimates.reviewed is None else estimates.reviewed.answers,
    )


def _at_least(count: Count, least: Count) -> Count:
    return Count(*map(max, vars(count).values(), vars(least).values()))


def _consistent(
    right: Count, remaining: Count, claims: Claims, estimates: Estimates, by_decisions: bool
) -> tuple[Count, Count]:
    """Return how many suggestions are right and how many labels are missing, so that the numbers agree.

    - By decisions on lists: at least the right ones are missing, as far as c allows.
    - By c otherwise: no more are right than are missing. The interval contains the new number; its upper end stays if
      c comes from annotations alone.
    - If c is unknown, so is how many are missing, and both stay.
    """
    if by_decisions:
        right = Count(*(min(count, remaining.high) for count in vars(right).values()))
        return right, _at_least(remaining, right)
    if not estimates.is_known:
        return right, remaining
    claims_more = claims.log_kappa is not None or right.low > remaining.expected
    low = min(right.low, remaining.low) if claims_more else right.low
    high = right.high if estimates.reviewed is None else min(right.high, remaining.high)
    return Count(min(right.expected, remaining.expected), low, high), remaining
