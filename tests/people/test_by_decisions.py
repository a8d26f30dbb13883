"""What was claimed of suggestions, corrected by what was decided of some of them."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, logit
from scipy.stats import binomtest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.problem import Origin, VerifiedLabels
from mpu_cli.people.suggestions import ByDecisions, correction_by_decisions
from mpu_cli.svmlight.reader import read
from tests.slow import slow

DIGITS = Path(__file__).parents[2] / "data"


def claims(seed, truth, n=4000):
    """Claims in descending order, and whether each is true, by a function of the claim."""
    rng = np.random.default_rng(seed)
    claimed = np.sort(expit(rng.normal(-3, 3.5, n)))[::-1]
    return claimed.astype(np.float32), truth(claimed), rng.random(n) < truth(claimed)


TRUTHS = {
    "as claimed": lambda r: r,
    "half of that": lambda r: r / 2,
    "too sure": lambda r: expit(0.4 * logit(r)),
    "c too large": lambda r: expit(logit(r) + 2),
    "c too small": lambda r: expit(logit(r) - 1.5),
    "the same share": lambda r: np.full(len(r), 0.8),
}


def off_and_before(truth):
    """After the first 50 of a list: how far the mean claim of the next 200 is off, in the mean of 20 lists."""
    off, before = [], []
    for seed in range(20):
        claimed, p, true = claims(seed, truth)
        of_next = claimed[50:250]
        corrected = ByDecisions.of(claimed[:50], true[:50]).corrected(of_next)
        off.append(corrected.mean() - p[50:250].mean())
        before.append(of_next.mean() - p[50:250].mean())
    return abs(np.mean(off)), abs(np.mean(before))


@pytest.mark.parametrize("name", ["as claimed", "half of that", "c too large", "the same share"])
def test_the_next_ones_are_claimed_as_they_are(name):
    off, before = off_and_before(TRUTHS[name])
    assert off < 0.06
    assert off <= before + 0.03


@pytest.mark.parametrize("name", ["too sure", "c too small"])
def test_where_the_top_says_little_some_of_what_is_wrong_is_corrected(name):
    """The top is right nearly as claimed, and the next ones are not: claims of real lists do not fall as these do."""
    off, before = off_and_before(TRUTHS[name])
    assert off < before


@pytest.mark.parametrize(("kept_often", "kept_rarely"), [(0.9, 0.3), *slow((0.5, 0.5))])
def test_the_next_of_a_real_list_are_claimed_as_they_are_or_nearer_to_that(kept_often, kept_rarely):
    """Digits, of which half the labels keep one share and half another, and c is thought to be the larger one."""
    data = read(DIGITS / "digits-train.svm")
    Y = data.occurring_labels()[0].toarray()
    rng = np.random.default_rng(0)
    kept = np.where(np.arange(Y.shape[1]) % 2, kept_often, kept_rarely)
    S = Y & (rng.random(Y.shape) < kept)
    p = cross_val_predict(RandomForestClassifier(100, random_state=0), data.features, S, method="predict_proba", cv=3)
    annotated = np.clip(np.stack(p)[:, :, 1].T, 0.002, kept_often - 0.002)
    claimed = np.where(S, 0, annotated * (1 - kept_often) / kept_often / (1 - annotated))
    order = np.argsort(-claimed, axis=None)
    claimed, true = claimed.ravel()[order], (Y & ~S).ravel()[order]
    corrected = ByDecisions.of(claimed[:50], true[:50]).corrected(claimed[50:250])
    off, before = (abs(of_next.mean() - true[50:250].mean()) for of_next in (corrected, claimed[50:250]))
    assert off <= max(before, 0.06)


def test_lines_are_weighed_by_bayes_rule():
    """The same by drawing lines."""
    rng = np.random.default_rng(0)
    claimed = rng.uniform(0.02, 0.9, 30)
    true = rng.random(30) < claimed**2
    z = logit(claimed)
    a = rng.normal(0.5, 1.6, (200_000, 1))
    lines = a + 0.1 * (z - z.mean())
    likelihood = np.exp(np.where(true, log_expit(lines), log_expit(-lines)).sum(axis=1))
    expected = np.average(expit(lines), axis=0, weights=likelihood)
    by_decisions = ByDecisions.of(claimed, true)
    np.testing.assert_allclose(by_decisions.corrected(claimed), expected, atol=0.01)
    assert (np.diff(by_decisions.log_odds) > 0).all()


def test_the_interval_is_wilsons():
    true = np.arange(26) < 14
    by_decisions = ByDecisions.of(np.full(26, 0.995), true)
    expected = binomtest(14, 26).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(by_decisions.interval, (expected.low, expected.high), atol=1e-4)
    assert (by_decisions.answered, by_decisions.yes, round(by_decisions.claimed, 3)) == (26, 14, 0.995)


@pytest.mark.parametrize("answered", range(1, 41))
def test_the_interval_of_no_yes_begins_at_zero(answered):
    low, high = ByDecisions.of(np.full(answered, 0.995), np.zeros(answered, bool)).interval
    assert 0 <= low < 1e-9
    assert 0 < high <= 1


def test_few_answers_correct_little_and_the_order_stays():
    one = ByDecisions.of(np.array([0.9]), np.array([False]))
    many = ByDecisions.of(np.full(200, 0.9), np.arange(200) < 20)
    assert many.corrected(np.array([0.9]))[0] == pytest.approx(0.1, abs=0.03)
    assert 0.3 < one.corrected(np.array([0.9]))[0] < 0.9
    claimed = np.linspace(0, 1, 101)
    assert (many.corrected(claimed) <= claimed).all()
    assert (np.diff(many.corrected(claimed)) >= 0).all()
    assert many.corrected(claimed)[0] == 0


def test_what_was_accepted_says_nothing_and_a_list_answered_in_order_much():
    """Forty cells of a column are claimed at .5, and all right; of them those count that were answered in order."""
    shape = (80, 1)
    p, labels = np.full(shape, 2 / 3, np.float32), csr_array(shape, dtype=bool)
    frequency = LabelFrequency.of(0.5, shape)
    decided = range(40), [0] * 40
    verified = VerifiedLabels.of(shape, true=decided)
    assert correction_by_decisions(p, verified, labels, frequency) is None
    for origin, answered in ((Origin.UNKNOWN, None), (Origin.ADDED, None), (Origin.IN_ORDER, 40)):
        origins = csr_array((np.full(40, origin, np.int8), decided), shape=shape)
        by_decisions = correction_by_decisions(p, verified, labels, frequency, origins=origins)
        assert (by_decisions and by_decisions.answered) == answered
    assert by_decisions.corrected(np.array([0.5]))[0] > 0.9
    refused = VerifiedLabels.of(shape, true=decided, false=([50], [0]))
    assert correction_by_decisions(p, refused, labels, frequency).answered == 41


def test_claims_without_a_doubt():
    by_decisions = ByDecisions.of(np.array([0.0, 1.0, 1.0]), np.array([True, False, False]))
    assert np.isfinite(by_decisions.log_odds).all()
    assert np.isfinite(by_decisions.corrected(np.array([0.0, 0.5, 1.0], np.float32))).all()


def test_what_is_claimed_too_high_at_the_top_may_be_claimed_too_low_below():
    """Where c is too large: of the first 50 nearly all are right, of the next ones far more than is claimed."""
    by_decisions = ByDecisions.of(np.full(50, 0.995), np.arange(50) < 47)
    of_top, of_next = by_decisions.corrected(np.array([0.995, 0.6]))
    assert of_top == pytest.approx(0.94, abs=0.02)
    assert of_next > 0.75
