"""What is claimed of suggestions: without decisions, and after some of them."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logit
from scipy.stats import binomtest

from mpu_cli.core.frequency.estimators import FrequencyEstimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.problem import Answers, HowDecided, Problem, VerifiedLabels
from mpu_cli.core.sample import Estimates
from mpu_cli.people.posteriors import Choice, Evidence, count_missing_labels, list_missing, posterior_at
from mpu_cli.people.suggestions import Claims, Decided, by_answers, find
from tests.slow import slow


def claims(seed, truth, n=4000):
    """Posteriors in descending order, and whether each is true, by a function of the posterior."""
    rng = np.random.default_rng(seed)
    claimed = np.sort(expit(rng.normal(-3, 3.5, n)))[::-1]
    return claimed.astype(np.float32), truth(claimed), rng.random(n) < truth(claimed)


def by_one_c(posterior):
    return np.tile(posterior.astype(float), (3, 1))


TRUTHS = {
    "as claimed": lambda r: r,
    "half of that": lambda r: r / 2,
    "too sure": lambda r: expit(0.4 * logit(r)),
    "c too large": lambda r: expit(logit(r) + 2),
    "c too small": lambda r: expit(logit(r) - 1.5),
    "the same share": lambda r: np.full(len(r), 0.8),
}


@pytest.mark.parametrize("name", ["half of that", *slow(*(name for name in TRUTHS if name != "half of that"))])
def test_decisions_on_the_first_tell_how_many_of_the_next_are_right(name):
    """Of 20 lists; before any decision the interval is wide, and not that of all."""
    off, covered = {0: [], 25: []}, {0: [], 25: []}
    for seed in range(20):
        posterior, p, true = claims(seed, TRUTHS[name])
        for answered in off:
            learned = Claims.estimate(by_one_c, posterior[answered:200], posterior[:answered], true[:answered])
            rest = slice(answered, answered + 200)
            count = learned.expected_right(posterior[rest])
            off[answered].append(count.expected / 200 - p[rest].mean())
            covered[answered].append(count.low - 10 <= true[rest].sum() <= count.high + 10)
            assert (count.high - count.low) / 200 < (0.4 if answered else 0.63)
            assert count.expected == pytest.approx(learned.corrected(posterior[rest]).sum(), rel=1e-5)
    assert np.mean(covered[0]) > 0.9
    assert np.mean(covered[25]) > 0.8
    assert abs(np.mean(off[25])) < 0.1


def test_the_prior_and_decisions_are_weighed_by_bayes_rule():
    """The same by drawing lines; posteriors are so near each other that the slope does not matter."""
    posterior, true = np.full(30, 0.9), np.arange(30) < 13
    a = np.random.default_rng(0).normal(1.2, 1.05, 400_000)
    weights = expit(a) ** 13 * expit(-a) ** 17
    for answered, expected in ((0, expit(a).mean()), (30, np.average(expit(a), weights=weights))):
        learned = Claims.estimate(by_one_c, posterior, posterior[:answered], true[:answered])
        np.testing.assert_allclose(learned.corrected(posterior), expected, atol=0.01)


def test_the_order_stays_and_0_stays_0():
    many = Claims.estimate(by_one_c, np.full(10, 0.9), np.full(200, 0.9), np.arange(200) < 20)
    corrected = many.corrected(np.linspace(0, 1, 101, dtype=np.float32))
    assert (np.diff(corrected) >= 0).all()
    assert (corrected[0], corrected[90]) == (0, pytest.approx(0.11, abs=0.03))
    deep = np.float32(1e-5)
    assert many.corrected(deep) == pytest.approx(deep, rel=0.1)  # the top says nothing of what is far below


def test_claims_without_a_doubt():
    learned = Claims.estimate(by_one_c, np.ones(3), np.array([0.0, 1.0, 1.0]), np.array([True, False, False]))
    assert np.isfinite(learned.corrected(np.array([0.0, 0.5, 1.0], np.float32))).all()


@pytest.mark.parametrize(("n", "yes"), [(26, 14), (1, 0), (40, 0), (7, 7)])
def test_the_interval_is_wilsons(n, yes):
    decided = Decided.of(np.arange(n) < yes)
    expected = binomtest(yes, n).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(decided.interval, (expected.low, expected.high), atol=1e-4)
    assert (decided.answered, decided.yes) == (n, yes)
    assert 0 <= decided.interval[0] <= decided.interval[1] <= 1


def of_a_column(estimates=None, verified=None, **of_problem):
    """Eighty cells of one label, which is annotated in no instance, and claimed at .5."""
    shape = (80, 1)
    p, labels = np.full(shape, 2 / 3, np.float32), csr_array(shape, dtype=bool)
    problem = Problem(csr_array(shape), labels, verified=verified, **of_problem)
    return Claims.of(
        p, problem, Evidence(p, LabelFrequency.of(0.5, shape, verified), estimates=estimates or Estimates()), Choice()
    )


def test_what_was_accepted_says_nothing_and_a_list_answered_in_order_much():
    """Forty cells of a column are claimed at .5, and all right; of them those count that were answered in order."""
    decided = range(40), [0] * 40
    verified = VerifiedLabels.of((80, 1), true=decided)
    assert of_a_column(verified=verified).decided is None
    for origin, answered in ((HowDecided.UNKNOWN, None), (HowDecided.ADDED, None), (HowDecided.IN_ORDER, 40)):
        origins = csr_array((np.full(40, origin, np.int8), decided), shape=(80, 1))
        learned = of_a_column(verified=verified, origins=origins)
        assert (learned.decided and learned.decided.answered) == answered
    assert learned.corrected(np.array([0.5]))[0] > 0.9
    refused = VerifiedLabels.of((80, 1), true=decided, false=([50], [0]))
    assert of_a_column(verified=refused).decided.answered == 41


def test_c_that_was_given_is_taken_at_its_word_and_an_estimate_is_not():
    estimate = FrequencyEstimate(0.5, (0.4, 0.6), np.zeros(1, int), predictable=True)
    half = np.array([0.5])
    assert of_a_column().corrected(half) == pytest.approx(half)
    unknown = of_a_column(Estimates(estimate=estimate)).expected_right(np.full(40, 0.5))
    assert unknown.high - unknown.low > 20


def test_decisions_raise_the_number_of_missing_labels_as_far_as_c_allows():
    """By c, 25 (11 to 100) are missing; the first twenty of a list are right, and the others are as probable."""
    shape, decided = (300, 1), (np.arange(100, 120), np.zeros(20, int))
    p, labels = np.full(shape, 2 / 3, np.float32), csr_array(np.arange(300)[:, None] < 100)
    origins = csr_array((np.full(20, HowDecided.IN_ORDER, np.int8), decided), shape=shape)
    problem = Problem(csr_array(shape), labels, verified=VerifiedLabels.of(shape, true=decided), origins=origins)
    estimates = Estimates(estimate=FrequencyEstimate(0.8, (0.5, 0.9), np.zeros(1, int), predictable=True))
    frequency = LabelFrequency.of(0.8, shape, problem.verified)
    found = find(Evidence(p, frequency, estimates=estimates), problem, np.ones(1, int), Choice(top=80))
    assert found.right.low < found.right.expected - 5
    assert 60 < found.right.expected == pytest.approx(found.of_all.expected - 20)
    assert found.of_all.high == pytest.approx(100)


def test_before_any_decision_how_many_are_missing_is_by_c_alone_and_how_many_are_right_by_the_list():
    """By c, 25 (0 to 100) are missing; of 30 listed, lists of other data show that at least a few are right."""
    p, labels = np.full((300, 1), 2 / 3, np.float32), csr_array(np.arange(300)[:, None] < 100)
    estimates = Estimates(estimate=FrequencyEstimate(0.8, (0.5, 1.0), np.zeros(1, int), predictable=True))
    evidence = Evidence(p, LabelFrequency.of(0.8, (300, 1)), estimates=estimates)
    found = find(evidence, Problem(csr_array((300, 1)), labels), np.ones(1, int), Choice(top=30))
    assert found.of_all == count_missing_labels(labels, evidence.frequency, estimates)[1]
    assert found.of_all.low == 0 < 1 < found.right.low < 25 < found.right.high


def test_instances_that_were_drawn_and_completely_reviewed_are_evidence():
    """Of sixty cells none is right."""
    whole = np.arange(60)
    verified = VerifiedLabels.of((80, 1), complete=whole, false=([70], [0]))
    alone, both = (of_a_column(verified=verified, sampled=rows) for rows in (None, whole))
    assert both.decided.answered == alone.decided.answered == 1
    assert both.corrected(np.array([0.5]))[0] < 0.1 < alone.corrected(np.array([0.5]))[0]


# By answers

N, Q = 4_000, 3


def answered(seed, depth, line=(0.0, 1.0), m=300):
    """Labels of which those not annotated are true with r = o^(1 - d) / 2, by the odds o of being annotated.

    The log odds of r are changed by a line. Of the cells that are not annotated, about m are asked about.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(-2.5, 2.5, (N, Q))
    annotated = rng.random((N, Q)) < expit(z)
    r = expit(line[0] + line[1] * logit(np.minimum(np.exp((1 - depth) * z) / 2, 0.97)))
    true = annotated | (rng.random((N, Q)) < r)
    rows, columns = np.nonzero(~annotated & (rng.random((N, Q)) < m / (N * Q)))
    y = true[rows, columns]
    verified = VerifiedLabels.of((N, Q), true=(rows[y], columns[y]), false=(rows[~y], columns[~y]))
    c = annotated.sum() / true.sum()
    rates, ends = np.full(Q, c), np.tile([c - 0.1, c + 0.1], (Q, 1))
    by_people = len(y), int(y.sum())
    reviewed = ReviewedFrequency(c, (c - 0.05, c + 0.05), rates, ends, 0, np.zeros(Q, int), (0.1, 0.9), *by_people)
    p = np.minimum(expit(z) / c, 1 - 1e-4 * expit(-z)).astype(np.float32)
    frequency = LabelFrequency.of(c, (N, Q), verified)
    return true, p, csr_array(annotated), frequency, Answers(rows, columns, y), reviewed


def at_expected_c(by):
    """Return what makes probabilities at the expected c, as `list_missing` takes it."""
    return lambda p: by(p.ravel())[0].reshape(p.shape).astype(p.dtype)


@pytest.mark.parametrize(("sparse", "depth"), [(False, 0.0), (True, 0.5), *slow((False, 0.5), (True, 0.0))])
def test_probabilities_add_up_to_what_is_missing_and_are_right(sparse, depth):
    true, p, labels, frequency, answers, reviewed = answered(0, depth)
    predictions = csr_array(p) if sparse else p
    by = by_answers(predictions, labels, frequency, answers, reviewed)
    listed = list_missing(predictions, labels, frequency, Choice(), correction=at_expected_c(by))
    right = true[listed.rows, listed.columns]
    missing = count_missing_labels(labels, frequency, Estimates(reviewed=reviewed))[1]
    verified = at_expected_c(by)(posterior_at(p, frequency, answers.rows, answers.columns)).sum()
    assert listed.probabilities.sum() + verified == pytest.approx(missing.expected, rel=0.02)
    assert missing.low < right.sum() + answers.true.sum() < missing.high
    for low, high in ((0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        there = (listed.probabilities >= low) & (listed.probabilities < high)
        if there.sum() > 100:
            assert right[there].mean() == pytest.approx(listed.probabilities[there].mean(), abs=0.12)


@pytest.mark.slow  # 30 simulations
def test_intervals_of_how_many_are_right_cover():
    """Where probabilities are off by some line: the 90 % intervals of how many of the first 100 and 1,000 are right."""
    covered, widths = [], []
    for seed in range(30):
        of_line = np.random.default_rng([seed, 1])
        line = of_line.normal(0, 0.4), of_line.normal(1, 0.2)
        true, p, labels, frequency, answers, reviewed = answered(seed, 0.2, line, m=100)
        by = by_answers(p, labels, frequency, answers, reviewed)
        top = list_missing(p, labels, frequency, Choice(top=200)).probabilities
        decided = posterior_at(p, frequency, answers.rows, answers.columns)
        claims = Claims.estimate(by, top, decided, answers.true, np.zeros(len(answers), bool))
        listed = list_missing(p, labels, frequency, Choice(top=1_000), correction=claims.corrected)
        assert listed.probabilities.max() < 0.97
        for first in (listed[:100], listed):
            count = claims.expected_right(posterior_at(p, frequency, first.rows, first.columns))
            right, slack = true[first.rows, first.columns].sum(), 0.05 * len(first)
            covered.append(count.low - slack <= right <= count.high + slack)
            widths.append((count.high - count.low) / len(first))
    assert np.mean(covered) >= 0.85
    assert np.mean(widths) < 0.45


def test_more_missing_than_there_are_cells():
    _, p, labels, frequency, answers, reviewed = answered(4, depth=0.0)
    few = ReviewedFrequency(**vars(reviewed) | {"c": 0.01, "interval": (0.005, 0.02)})
    by = by_answers(p, labels, frequency, answers, few)
    assert (by(np.array([0.5, 1.0], np.float32)) <= 0.97).all()
