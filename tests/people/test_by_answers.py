import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logit

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
from mpu_cli.core.labels.problem import Answers
from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.people.posteriors import Choice, missing_labels, posterior_at, suggest
from mpu_cli.people.suggestions import Claims, by_answers
from tests.slow import slow

N, Q = 4_000, 3


def lost(seed, depth, line=(0.0, 1.0)):
    """Labels of which those not annotated are true with r = o^(1 - d) / 2, by the odds o of being annotated.

    The log odds of r are changed by a line.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(-2.5, 2.5, (N, Q))
    annotated = rng.random((N, Q)) < expit(z)
    r = expit(line[0] + line[1] * logit(np.minimum(np.exp((1 - depth) * z) / 2, 0.97)))
    true = annotated | (rng.random((N, Q)) < r)
    return z, true, annotated, rng


def learned(z, true, annotated, rng, m=300):
    rows, columns = np.nonzero(~annotated & (rng.random((N, Q)) < m / (N * Q)))
    y = true[rows, columns]
    answers = Answers(rows, columns, y)
    verified = VerifiedLabels.of((N, Q), true=(rows[y], columns[y]), false=(rows[~y], columns[~y]))
    c = annotated.sum() / true.sum()
    reviewed = ReviewedFrequency(
        c,
        (c - 0.05, c + 0.05),
        np.full(Q, c),
        np.tile([c - 0.1, c + 0.1], (Q, 1)),
        0,
        np.zeros(Q, int),
        (0.1, 0.9),
        len(y),
        int(y.sum()),
    )
    labels, frequency = csr_array(annotated), LabelFrequency.of(c, (N, Q), verified)
    p = np.minimum(expit(z) / c, 1 - 1e-4 * expit(-z)).astype(np.float32)
    return p, labels, frequency, answers, reviewed


def at_expected_c(by):
    """Return what makes probabilities at the expected c, as `suggest` takes it."""
    return lambda p: by(p.ravel())[0].reshape(p.shape).astype(p.dtype)


def claims_by(by, p, labels, frequency, answers):
    """What is claimed by answers alone."""
    top = suggest(p, labels, frequency, Choice(top=200)).probabilities
    decided = posterior_at(p, frequency, answers.rows, answers.columns)
    return Claims.estimate(by, top, decided, answers.true, np.zeros(len(answers), bool))


@pytest.mark.parametrize(("sparse", "depth"), [(False, 0.0), (True, 0.5), *slow((False, 0.5), (True, 0.0))])
def test_probabilities_add_up_to_what_is_missing_and_are_right(sparse, depth):
    z, true, annotated, rng = lost(0, depth)
    p, labels, frequency, answers, reviewed = learned(z, true, annotated, rng)
    predictions = csr_array(p) if sparse else p
    by = by_answers(predictions, labels, frequency, answers, reviewed)
    listed = suggest(predictions, labels, frequency, Choice(), correction=at_expected_c(by))
    right = true[listed.rows, listed.columns]
    missing = missing_labels(labels, frequency, reviewed)[1]
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
        z, true, annotated, rng = lost(seed, 0.2, (of_line.normal(0, 0.4), of_line.normal(1, 0.2)))
        p, labels, frequency, answers, reviewed = learned(z, true, annotated, rng, m=100)
        claims = claims_by(by_answers(p, labels, frequency, answers, reviewed), p, labels, frequency, answers)
        listed = suggest(p, labels, frequency, Choice(top=1_000), correction=claims.corrected)
        assert listed.probabilities.max() < 0.97
        for first in (listed[:100], listed):
            count = claims.expected_right(posterior_at(p, frequency, first.rows, first.columns))
            right, slack = true[first.rows, first.columns].sum(), 0.05 * len(first)
            covered.append(count.low - slack <= right <= count.high + slack)
            widths.append((count.high - count.low) / len(first))
    assert np.mean(covered) >= 0.85
    assert np.mean(widths) < 0.45


def test_more_missing_than_there_are_cells():
    z, true, annotated, rng = lost(4, depth=0.0)
    p, labels, frequency, answers, reviewed = learned(z, true, annotated, rng)
    few = ReviewedFrequency(**vars(reviewed) | {"c": 0.01, "interval": (0.005, 0.02)})
    by = by_answers(p, labels, frequency, answers, few)
    assert (by(np.array([0.5, 1.0], np.float32)) <= 0.97).all()
